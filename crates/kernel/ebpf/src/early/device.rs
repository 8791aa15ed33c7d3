//! The program at the root of a device's queues. All of its state is in the kernel; there is no file.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use libbpf_rs::query::{ProgInfoIter, ProgInfoQueryOptions};
use libbpf_rs::{MapCore, MapFlags, MapHandle, TC_CUSTOM, TcHook};

use super::program::{NAME, counter};
use super::{EarlyCounter, EarlyProgram, MAX_LEVELS, MAX_QUEUES};
use crate::Error;
use crate::error::Program;

/// Where it stands among the filters of the root: with those that are asked first. Of them, the one that came last is the first.
pub const EARLY_PRIORITY: u32 = 1;
/// Its handle there.
pub const EARLY_HANDLE: u32 = 0x5347;

fn hook(program: BorrowedFd<'_>, device: u32, root: u16) -> TcHook {
    let mut hook = TcHook::new(program);
    hook.ifindex(device.cast_signed()).attach_point(TC_CUSTOM).parent(u32::from(root) << 16, 0);
    hook.handle(EARLY_HANDLE).priority(EARLY_PRIORITY);
    hook
}

impl EarlyProgram {
    /// Lets it see the packets that come to the root of this major number at the device of this number, in the network
    /// namespace of the thread, until the root goes: the process may end. It takes the place of another one of ours.
    ///
    /// # Errors
    /// When the kernel does not attach it.
    pub fn attach(&self, device: u32, root: u16) -> Result<(), Error> {
        let program = self.program();
        let mut hook = hook(program.as_fd(), device, root);
        hook.replace(true);
        hook.attach().map(|_| ()).map_err(Program::Early.at("attaching it to the queues"))
    }
}

/// What the program at the root of a device's queues has done: the handle of each queue, and its levels. Empty without one.
///
/// # Errors
/// When the kernel does not show it.
pub fn early_counters(device: u32, root: u16) -> Result<Vec<(u32, Vec<EarlyCounter>)>, Error> {
    // A device without the program is not an error.
    libbpf_rs::set_print(None);
    // Who asks needs no program, so any file stands for one.
    let Ok(id) = hook(io::stdin().as_fd(), device, root).query() else { return Ok(Vec::new()) };
    let wanted = ProgInfoQueryOptions::default().include_map_ids(true);
    let mut programs = ProgInfoIter::with_query_opts(wanted);
    let found = programs.find(|it| it.id == id && it.name.as_os_str() == OsStr::new(NAME));
    let Some(found) = found else { return Ok(Vec::new()) };
    let maps: Result<Vec<_>, _> =
        found.map_ids.iter().map(|id| MapHandle::from_map_id(*id)).collect();
    let maps = maps.map_err(Program::Early.at("finding its maps"))?;
    let find = |name: &str| maps.iter().find(|map| map.name() == name);
    let (Some(queues), Some(counters)) = (find("queues"), find("counters")) else {
        return Ok(Vec::new());
    };
    let mut all = Vec::new();
    for number in 0..MAX_QUEUES {
        let key = (number as u32).to_ne_bytes();
        let queue = queues.lookup(&key, MapFlags::ANY);
        let queue = queue.map_err(Program::Early.at("reading its queues"))?.unwrap_or_default();
        let four = |at: usize| {
            let bytes = queue.get(at..).and_then(|rest| rest.first_chunk());
            bytes.map_or(0, |bytes| u32::from_ne_bytes(*bytes))
        };
        let levels = (four(LEVELS) as usize).min(MAX_LEVELS);
        if four(KIND) == 0 {
            continue;
        }
        let levels: Result<_, _> =
            (0..levels).map(|level| counter(counters, number, level)).collect();
        all.push((four(0), levels?));
    }
    Ok(all)
}

/// The offsets of fields of `struct queue`.
const KIND: usize = 4;
const LEVELS: usize = 48 + 40;
