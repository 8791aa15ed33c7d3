//! The program for plans at devices: attaches it, finds it from another process, and detaches it. All of its state is in the
//! kernel; there is no file.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use libbpf_rs::query::{ProgInfoIter, ProgInfoQueryOptions};
use libbpf_rs::{MapCore, MapHandle, TC_EGRESS, TcHook};

use super::program::{NAME, Table, counts};
use super::{PlansCounts, PlansPrefix, PlansProgram};
use crate::Error;
use crate::error::Program;

/// Where it stands among the filters of a device: priority and handle.
const PLACE: u32 = 0x5345;

fn hook(program: BorrowedFd<'_>, device: u32) -> TcHook {
    let mut hook = TcHook::new(program);
    hook.ifindex(device.cast_signed()).attach_point(TC_EGRESS).handle(PLACE).priority(PLACE);
    hook
}

impl PlansProgram {
    /// Lets it see what the device of this number sends, in the network namespace of the thread, until it is detached or the
    /// device goes: the process may end. It takes the place of another one of ours.
    ///
    /// # Errors
    /// When somebody else's program is in the place, or the kernel does not attach it.
    pub fn attach(&self, device: u32) -> Result<(), Error> {
        let program = self.program();
        let mut hook = hook(program.as_fd(), device);
        // It is there already where anybody has a program at the device.
        hook.create().map_err(Program::Plans.at("adding clsact to the device"))?;
        if let Ok(id) = hook.query()
            && PlansAtDevice::from_id(id)?.is_none()
        {
            return Err(Error::Occupied { priority: PLACE });
        }
        let attached = hook.replace(true).attach();
        attached.map(|_| ()).map_err(Program::Plans.at("attaching it to the device"))
    }
}

/// The program as it is at a device.
#[derive(Debug)]
pub struct PlansAtDevice {
    table: Table,
    counts: MapHandle,
}

impl PlansAtDevice {
    /// The one that is at the device of this number, in the network namespace of the thread.
    ///
    /// # Errors
    /// When the kernel does not show it.
    pub fn find(device: u32) -> Result<Option<PlansAtDevice>, Error> {
        // A missing program is no reason for libbpf to print.
        libbpf_rs::set_print(None);
        // Who asks needs no program, so any file stands for one.
        match hook(io::stdin().as_fd(), device).query() {
            Ok(id) => PlansAtDevice::from_id(id),
            Err(error) => match Program::Plans.at("finding it")(error) {
                error @ Error::TooManyFiles(_) => Err(error),
                _ => Ok(None),
            },
        }
    }

    fn from_id(id: u32) -> Result<Option<PlansAtDevice>, Error> {
        let wanted = ProgInfoQueryOptions::default().include_map_ids(true);
        let mut programs = ProgInfoIter::with_query_opts(wanted);
        let found = programs
            .find(|program| program.id == id && program.name.as_os_str() == OsStr::new(NAME));
        let Some(found) = found else { return Ok(None) };
        let map = |name: &str| {
            let handles = found.map_ids.iter().map(|id| MapHandle::from_map_id(*id));
            handles.flatten().find(|map| map.name() == name)
        };
        let maps = (map("prefixes"), map("addresses"), map("counts"));
        let (Some(prefixes), Some(addresses), Some(counts)) = maps else { return Ok(None) };
        Ok(Some(PlansAtDevice { table: Table { prefixes, addresses }, counts }))
    }

    /// Gives the packets of prefixes to classes of the HTB with this major number.
    ///
    /// # Errors
    /// When the kernel does not take them.
    pub fn insert(&self, prefixes: &[(PlansPrefix, u16)], root: u16) -> Result<(), Error> {
        self.table.insert(prefixes, root)
    }

    /// Gives the packets of prefixes to nobody.
    ///
    /// # Errors
    /// When the kernel does not take them.
    pub fn remove(&self, prefixes: &[PlansPrefix]) -> Result<(), Error> {
        self.table.remove(prefixes)
    }

    /// What it has seen.
    ///
    /// # Errors
    /// When the kernel does not give its maps.
    pub fn counts(&self) -> Result<PlansCounts, Error> {
        counts(&self.counts)
    }

    /// Takes the program away from the device.
    ///
    /// # Errors
    /// When the kernel does not let it go.
    pub fn detach(self, device: u32) -> Result<(), Error> {
        let stdin = io::stdin();
        hook(stdin.as_fd(), device)
            .detach()
            .map_err(Program::Plans.at("detaching it from the device"))
    }
}
