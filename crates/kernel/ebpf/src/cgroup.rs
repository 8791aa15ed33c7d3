//! Programs at the events of a cgroup, next to those of other owners.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use libbpf_rs::Program as Loaded;
use libbpf_rs::query::{ProgInfoIter, ProgInfoQueryOptions};
use libbpf_sys::{BPF_F_ALLOW_MULTI, BPF_F_REPLACE, bpf_prog_attach_opts};
use nix::errno::Errno;

/// The most programs at one event of a cgroup (`BPF_CGROUP_MAX_PROGS` of the kernel).
const MAX_PROGRAMS: usize = 64;

/// Attaches a program for the processes of this cgroup and of those below it.
pub(crate) fn attach(
    program: BorrowedFd<'_>,
    cgroup: BorrowedFd<'_>,
    event: u32,
) -> io::Result<()> {
    attach_with(
        program,
        cgroup,
        event,
        bpf_prog_attach_opts { flags: BPF_F_ALLOW_MULTI, ..options() },
    )
}

/// Attaches a program instead of the one with this number, in one step: each event meets exactly one of them.
pub(crate) fn replace(
    id: u32,
    program: BorrowedFd<'_>,
    cgroup: BorrowedFd<'_>,
    event: u32,
) -> io::Result<()> {
    let Ok(before) = Loaded::fd_from_id(id) else { return attach(program, cgroup, event) };
    let mut replacing =
        bpf_prog_attach_opts { flags: BPF_F_ALLOW_MULTI | BPF_F_REPLACE, ..options() };
    replacing.__bindgen_anon_1.replace_prog_fd = before.as_raw_fd();
    match attach_with(program, cgroup, event, replacing) {
        // Another process took it away.
        Err(error) if is_missing(&error) => attach(program, cgroup, event),
        done => done,
    }
}

/// Detaches the program with this number, if it is there.
#[allow(unsafe_code)]
pub(crate) fn detach(id: u32, cgroup: BorrowedFd<'_>, event: u32) -> io::Result<()> {
    let Ok(program) = Loaded::fd_from_id(id) else { return Ok(()) };
    // SAFETY: both descriptors are open, and the call keeps neither.
    let done =
        unsafe { libbpf_sys::bpf_prog_detach2(program.as_raw_fd(), cgroup.as_raw_fd(), event) };
    match io::Error::last_os_error() {
        _ if done == 0 => Ok(()),
        // Another process took it away.
        error if is_missing(&error) => Ok(()),
        error => Err(error),
    }
}

/// The numbers of the programs at an event of a cgroup.
#[allow(unsafe_code)]
pub(crate) fn programs_at(cgroup: BorrowedFd<'_>, event: u32) -> io::Result<Vec<u32>> {
    let mut ids = vec![0_u32; MAX_PROGRAMS];
    let (mut flags, mut count) = (0_u32, ids.len() as u32);
    // SAFETY: the array has the room that `count` says, and all outlive the call, which keeps nothing of them.
    let ended = unsafe {
        let (cgroup, ids) = (cgroup.as_raw_fd(), ids.as_mut_ptr());
        libbpf_sys::bpf_prog_query(cgroup, event, 0, &raw mut flags, ids, &raw mut count)
    };
    if ended != 0 {
        return Err(io::Error::last_os_error());
    }
    ids.truncate(count as usize);
    Ok(ids)
}

/// The programs of this name at an event of a cgroup that use the map with this number.
pub(crate) fn programs_with_map(
    cgroup: BorrowedFd<'_>,
    event: u32,
    name: &str,
    map: u32,
) -> io::Result<Vec<u32>> {
    let there = programs_at(cgroup, event)?;
    let all = ProgInfoIter::with_query_opts(ProgInfoQueryOptions::default().include_map_ids(true));
    let ours = all.filter(|program| {
        let is_named = program.name.as_os_str() == OsStr::new(name);
        is_named && there.contains(&program.id) && program.map_ids.contains(&map)
    });
    Ok(ours.map(|program| program.id).collect())
}

fn options() -> bpf_prog_attach_opts {
    bpf_prog_attach_opts { sz: size_of::<bpf_prog_attach_opts>() as _, ..Default::default() }
}

#[allow(unsafe_code)]
fn attach_with(
    program: BorrowedFd<'_>,
    cgroup: BorrowedFd<'_>,
    event: u32,
    options: bpf_prog_attach_opts,
) -> io::Result<()> {
    let (program, cgroup) = (program.as_raw_fd(), cgroup.as_raw_fd());
    // SAFETY: all descriptors are open, `options` has its size, and the call keeps nothing of them.
    let done =
        unsafe { libbpf_sys::bpf_prog_attach_opts(program, cgroup, event, &raw const options) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn is_missing(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::ENOENT as i32)
}
