//! Runs the program under ptrace, and kills it where it is about to change something in the kernel, or in a folder.

#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::io::IoSliceMut;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::libc;
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::{Signal, kill};
use nix::sys::uio::{RemoteIoVec, process_vm_readv};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use crate::support::shortflow;

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It was killed.
    Killed,
    /// By itself, before it had made so many changes.
    Ended,
}

/// Runs it until it, or a program that it has started, is about to ask the kernel for its change number `nth` of devices, queues
/// or filters in this thread's network namespace; then all of them are killed.
///
/// What goes with the process that asks for it is no change: the loading of a program that is at no device yet, or what
/// programs that it starts try out in a namespace of their own.
pub(crate) fn killed_at(arguments: &[&str], nth: usize) -> Fate {
    killed_where(arguments, nth, &SENDING, &is_change, |_| ())
}

/// The system calls that send to a socket.
const SENDING: [i64; 2] = [libc::SYS_sendto, libc::SYS_sendmsg];

/// The same for whatever counts as a change among these system calls. `began` receives the process that has begun.
pub(crate) fn killed_where(
    arguments: &[&str],
    nth: usize,
    calls: &[i64],
    counts: &dyn Fn(Pid) -> bool,
    began: impl FnOnce(Pid),
) -> Fate {
    let mut victim = shortflow(arguments);
    stop_at(&mut victim, calls);
    let victim = victim.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let first = Pid::from_raw(victim.id().cast_signed());
    let stopped = waitpid(first, None).unwrap();
    assert_eq!(stopped, WaitStatus::Stopped(first, Signal::SIGTRAP), "it stops where it begins");
    let follow = Options::PTRACE_O_TRACECLONE
        | Options::PTRACE_O_TRACEFORK
        | Options::PTRACE_O_TRACEVFORK
        | Options::PTRACE_O_TRACEEXEC
        | Options::PTRACE_O_TRACESECCOMP
        | Options::PTRACE_O_EXITKILL;
    ptrace::setoptions(first, follow).unwrap();
    ptrace::cont(first, None).unwrap();
    began(first);
    let fate = trace(first, nth, counts);
    drop(victim);
    fate
}

/// Lets this thread trace the process, and has the kernel stop it and all that it starts at these system calls alone. A
/// stop at every call would take most of the time of a test.
#[expect(unsafe_code, reason = "between fork and exec only calls of the kernel are made")]
fn stop_at(victim: &mut Command, calls: &[i64]) {
    let step = |code: u32, k: u32, jt: usize| libc::sock_filter {
        code: u16::try_from(code).unwrap(),
        jt: u8::try_from(jt).unwrap(),
        jf: 0,
        k,
    };
    // The number of the call is the first word of `struct seccomp_data`.
    let mut filter = vec![step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0)];
    filter.extend(calls.iter().enumerate().map(|(index, call)| {
        let number = u32::try_from(*call).unwrap();
        step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, number, calls.len() - index)
    }));
    filter.push(step(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW, 0));
    filter.push(step(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_TRACE, 0));
    let install = move || {
        let program = libc::sock_fprog {
            len: u16::try_from(filter.len()).unwrap_or(0),
            filter: filter.as_ptr().cast_mut(),
        };
        ptrace::traceme()?;
        // SAFETY: the program lives until the kernel has copied it.
        let installed = unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
                && libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &program) == 0
        };
        if installed { Ok(()) } else { Err(std::io::Error::last_os_error()) }
    };
    // SAFETY: it allocates nothing and takes no lock.
    unsafe { victim.pre_exec(install) };
}

/// Lets all run from one such system call to the next until none is left; those elsewhere without counting.
fn trace(first: Pid, nth: usize, counts: &dyn Fn(Pid) -> bool) -> Fate {
    // Other tests of this process have children too, which are theirs to wait for.
    let own = WaitPidFlag::__WALL | WaitPidFlag::__WNOTHREAD;
    let (mut alive, mut changes, mut fate) = (BTreeSet::from([first]), 0, Fate::Ended);
    let (here, mut elsewhere) = (namespace("thread-self"), BTreeSet::new());
    while !alive.is_empty() {
        let status = waitpid(None, Some(own)).unwrap();
        let Some(pid) = status.pid() else { continue };
        let is_new = alive.insert(pid);
        let mut signal = None;
        match status {
            WaitStatus::Exited(..) | WaitStatus::Signaled(..) => {
                alive.remove(&pid);
                elsewhere.remove(&pid);
                continue;
            }
            WaitStatus::PtraceEvent(_, _, libc::PTRACE_EVENT_SECCOMP)
                if !elsewhere.contains(&pid) && counts(pid) =>
            {
                changes += 1;
            }
            WaitStatus::PtraceEvent(_, _, libc::PTRACE_EVENT_EXEC)
                if namespace(&pid.to_string()) != here =>
            {
                elsewhere.insert(pid);
            }
            // With this signal begins whatever a traced process starts.
            WaitStatus::Stopped(_, Signal::SIGSTOP) if is_new => {}
            WaitStatus::Stopped(_, Signal::SIGTRAP) => {}
            WaitStatus::Stopped(_, message) => signal = Some(message),
            _ => {}
        }
        if changes == nth {
            fate = Fate::Killed;
            // Those that were started a moment ago come by later.
            for pid in &alive {
                let _ = kill(*pid, Signal::SIGKILL);
            }
        }
        // One that was killed is not there to be let go on.
        let _ = ptrace::cont(pid, signal);
    }
    fate
}

/// Whether a process is about to send a request to rtnetlink that changes something: of each kind there are four, of which the
/// third asks.
fn is_change(pid: Pid) -> bool {
    let Some([number, args @ ..]) = entry(pid) else { return false };
    let at = match number.cast_signed() {
        libc::SYS_sendto => args[1],
        // Of `struct msghdr`, where the pieces are; of the first of these, where it is.
        libc::SYS_sendmsg => {
            long(pid, args[1] + 16).and_then(|pieces| long(pid, pieces)).unwrap_or(0)
        }
        _ => return false,
    };
    // `struct nlmsghdr`: length, kind, flags.
    let Some(head) = long(pid, at) else { return false };
    let (length, kind, flags) = (head as u32, (head >> 32) as u16, (head >> 48) as u16);
    let is_request = (16..1 << 20).contains(&length) && flags & libc::NLM_F_REQUEST as u16 != 0;
    is_request && (libc::RTM_NEWLINK..256).contains(&kind) && kind % 4 != 2
}

/// The network namespace of a thread.
fn namespace(thread: &str) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/{thread}/ns/net")).ok()
}

/// The system calls that may change files.
pub(crate) const CHANGING_FILES: [i64; 15] = [
    libc::SYS_openat,
    libc::SYS_open,
    libc::SYS_mkdir,
    libc::SYS_rmdir,
    libc::SYS_unlink,
    libc::SYS_rename,
    libc::SYS_mkdirat,
    libc::SYS_unlinkat,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_symlink,
    libc::SYS_symlinkat,
    libc::SYS_write,
    libc::SYS_ftruncate,
    libc::SYS_fchmod,
];

/// Whether a process is about to change a file below `folder`, or which files there are.
pub(crate) fn changes_files(pid: Pid, folder: &Path) -> bool {
    let Some([number, args @ ..]) = entry(pid) else { return false };
    let named = |place: usize| text(pid, args[place]).is_some_and(|path| is_below(&path, folder));
    let open = || {
        let file = std::fs::read_link(format!("/proc/{pid}/fd/{}", args[0]));
        file.is_ok_and(|file| file.starts_with(folder))
    };
    let makes = |flags: u64| flags & (libc::O_CREAT | libc::O_TRUNC) as u64 != 0;
    match number.cast_signed() {
        libc::SYS_openat => makes(args[2]) && named(1),
        libc::SYS_open => makes(args[1]) && named(0),
        libc::SYS_mkdir | libc::SYS_rmdir | libc::SYS_unlink | libc::SYS_rename => named(0),
        libc::SYS_mkdirat | libc::SYS_unlinkat | libc::SYS_renameat | libc::SYS_renameat2 => {
            named(1) || open()
        }
        libc::SYS_symlink => named(1),
        libc::SYS_symlinkat => named(2),
        libc::SYS_write | libc::SYS_ftruncate | libc::SYS_fchmod => open(),
        _ => false,
    }
}

fn is_below(path: &str, folder: &Path) -> bool {
    Path::new(path).starts_with(folder)
}

/// The number of a system call that a process is about to make, and its arguments.
#[expect(unsafe_code, reason = "which of the kernel's union is meant is told beside it")]
fn entry(pid: Pid) -> Option<[u64; 7]> {
    let info = ptrace::syscall_info(pid).ok()?;
    if info.op != libc::PTRACE_SYSCALL_INFO_SECCOMP {
        return None;
    }
    // SAFETY: `op` says that it is such a stop.
    let stop = unsafe { info.u.seccomp };
    let [a, b, c, d, e, f] = stop.args;
    Some([stop.nr, a, b, c, d, e, f])
}

/// A text of another process, up to its zero and 512 bytes.
fn text(pid: Pid, at: u64) -> Option<String> {
    let mut bytes = Vec::new();
    while bytes.len() < 512 {
        let word = long(pid, at + bytes.len() as u64)?.to_ne_bytes();
        let end = word.iter().position(|byte| *byte == 0);
        bytes.extend(&word[..end.unwrap_or(word.len())]);
        if end.is_some() {
            return String::from_utf8(bytes).ok();
        }
    }
    None
}

/// Eight bytes of another process.
fn long(pid: Pid, at: u64) -> Option<u64> {
    let mut bytes = [0; 8];
    let there = RemoteIoVec { base: usize::try_from(at).ok()?, len: 8 };
    let read = process_vm_readv(pid, &mut [IoSliceMut::new(&mut bytes)], &[there]);
    (read == Ok(8)).then(|| u64::from_ne_bytes(bytes))
}
