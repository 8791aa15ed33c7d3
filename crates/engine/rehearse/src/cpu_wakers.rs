//! Keeps processors awake while packets have deadlines.
//!
//! A virtual machine returns an idle processor to its host, and getting it back takes time: on a busy host, packets
//! are then late by milliseconds. A thread that keeps the processor busy avoids that wait.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

use crate::realtime::yield_to_all;

/// What the threads are called.
const NAME: &str = "awake";

/// The processors that this process may use do not sleep as long as this lives: on each a thread waits that runs only when
/// nothing else wants to.
#[derive(Debug)]
pub(crate) struct CpuWakers {
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl CpuWakers {
    /// Keeps processors awake where the machine is a virtual one: others wake up in microseconds. Not where this process has
    /// a quota of processor time, which would go with it.
    pub(crate) fn if_virtual() -> Option<Self> {
        let message = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let is_free = !has_quota(Path::new("/sys/fs/cgroup"), &groups);
        (is_virtual(&message) && is_free).then(CpuWakers::begin)
    }

    fn begin() -> Self {
        let allowed = sched_getaffinity(Pid::from_raw(0)).unwrap_or_default();
        let processors = (0..CpuSet::count()).filter(|&at| allowed.is_set(at) == Ok(true));
        let over = Arc::new(AtomicBool::new(false));
        // One that cannot be begun is missed by nobody.
        let threads = processors.filter_map(|processor| {
            let over = Arc::clone(&over);
            let stay = move || stay_awake(processor, &over);
            Builder::new().name(NAME.to_owned()).stack_size(1 << 16).spawn(stay).ok()
        });
        let threads = threads.collect();
        CpuWakers { over, threads }
    }
}

impl Drop for CpuWakers {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Keeps a processor awake, at idle priority, until that is `over`.
fn stay_awake(processor: usize, over: &AtomicBool) {
    let mut only = CpuSet::new();
    let is_placed = only.set(processor).and_then(|()| sched_setaffinity(Pid::from_raw(0), &only));
    if is_placed.and_then(|()| yield_to_all()).is_err() {
        return;
    }
    while !over.load(Ordering::Relaxed) {
        std::hint::spin_loop();
    }
}

/// Whether this is a virtual machine, from the kernel's CPU flags (x86).
fn is_virtual(cpuinfo: &str) -> bool {
    let mut flags = cpuinfo.lines().filter(|line| line.starts_with("flags"));
    flags.any(|line| line.split_whitespace().any(|flag| flag == "hypervisor"))
}

/// Whether one of the control groups in which a process is, by its /proc/self/cgroup (cgroups(7)), or one around it has a
/// quota of processor time: `cpu.max` of version 2, or `cpu.cfs_quota_us` of version 1.
fn has_quota(mounted: &Path, groups: &str) -> bool {
    let limits = |folder: &Path| {
        let read = |name| std::fs::read_to_string(folder.join(name)).unwrap_or_default();
        let (second, first) = (read("cpu.max"), read("cpu.cfs_quota_us"));
        !(second.is_empty() || second.starts_with("max"))
            || first.trim().parse().is_ok_and(|quota: i64| quota > 0)
    };
    groups.lines().any(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { return false };
        let root = match controllers.split(',').any(|name| name == "cpu") {
            true => mounted.join(controllers),
            false => mounted.to_owned(),
        };
        let folder = root.join(path.trim_start_matches('/'));
        folder.ancestors().take_while(|folder| folder.starts_with(mounted)).any(limits)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_of_a_control_group_counts_for_all_in_it() {
        let home = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| {
            let file = home.path().join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        };
        write("free/inner/cpu.max", "max 100000\n");
        write("box/cpu.max", "50000 100000\n");
        write("box/inner/cpu.max", "max 100000\n");
        write("cpu,cpuacct/old/cpu.cfs_quota_us", "-1\n");
        write("cpu,cpuacct/small/cpu.cfs_quota_us", "100000\n");
        let has_quota = |groups| has_quota(home.path(), groups);
        assert!(has_quota("0::/box\n") && has_quota("0::/box/inner\n"));
        assert!(has_quota("4:memory:/x\n3:cpu,cpuacct:/small\n0::/\n"));
        assert!(!has_quota("0::/free/inner\n") && !has_quota("3:cpu,cpuacct:/old\n0::/\n"));
        assert!(!has_quota("0::/gone\n") && !has_quota(""));
    }

    /// The scheduling policies of this process's threads of our name (proc_pid_stat(5), field 41).
    fn policies() -> Vec<i32> {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap();
        let stats = tasks
            .filter_map(|task| std::fs::read_to_string(task.unwrap().path().join("stat")).ok());
        let fields = stats.filter_map(|stat| {
            let (name, fields) = stat.split_once('(')?.1.rsplit_once(')')?;
            (name == NAME).then(|| fields.split_whitespace().nth(38).unwrap().parse().unwrap())
        });
        fields.collect()
    }

    /// Waits until these threads are there: one comes into its policy by itself, and is listed for a moment after it has been joined.
    fn await_policies(wanted: &[i32]) {
        let begun = std::time::Instant::now();
        while policies() != wanted {
            assert!(begun.elapsed() < std::time::Duration::from_secs(20), "{:?}", policies());
            std::thread::yield_now();
        }
    }

    #[test]
    fn each_processor_is_kept_awake_by_a_thread_to_which_all_others_go_first() {
        let awake = CpuWakers::begin();
        let allowed = std::thread::available_parallelism().unwrap().get();
        await_policies(&vec![nix::libc::SCHED_IDLE; allowed]);
        drop(awake);
        await_policies(&[]);
    }

    #[test]
    fn a_machine_is_virtual_when_its_processors_say_so() {
        assert!(is_virtual("processor\t: 0\nflags\t\t: fpu hypervisor lahf_lm\n"));
        assert!(!is_virtual("processor\t: 0\nmodel name\t: hypervisor\nflags\t\t: fpu lahf_lm\n"));
        assert!(!is_virtual(""));
    }
}
