//! The programs of the option: attaches them to a cgroup, finds them again from another process, and takes them away. All of
//! their state is in the kernel.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd};

use libbpf_rs::query::{ProgInfoIter, ProgInfoQueryOptions};
use libbpf_rs::{MapCore, MapHandle, Program as Loaded};
use libbpf_sys::{BPF_CGROUP_GETSOCKOPT, BPF_CGROUP_SETSOCKOPT};

use crate::Error;
use crate::built;
use crate::cgroup::{self, programs_at};
use crate::edge::EDGE;
use crate::error::Program;

/// The programs, as clang has built them.
static BUILT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/option.bpf.o"));

/// The map of what applications have said, in these programs and in the one for packets.
pub(crate) const OBJECTS: &str = "objects";

/// The programs, and the events of a cgroup at which they are.
const PROGRAMS: [(&str, u32); 2] =
    [("shortflow_set", BPF_CGROUP_SETSOCKOPT), ("shortflow_get", BPF_CGROUP_GETSOCKOPT)];

/// The option at a cgroup. It stays there when this is dropped, and the process ends.
#[derive(Debug)]
pub struct SocketOption {
    /// The numbers of the programs, in the order of [`PROGRAMS`].
    ids: [u32; 2],
    objects: MapHandle,
}

impl SocketOption {
    /// The option at this cgroup, from any process; `None` also if it is of another version.
    ///
    /// # Errors
    /// When the kernel does not show it.
    pub fn find(cgroup: BorrowedFd<'_>) -> Result<Option<SocketOption>, Error> {
        libbpf_rs::set_print(None);
        let [(set, at_set), (get, at_get)] = PROGRAMS;
        let (set, get) = (ours(cgroup, at_set, set)?, ours(cgroup, at_get, get)?);
        let Some((set, get)) = set.zip(get) else { return Ok(None) };
        let expected = layout()?;
        for id in maps_of(set) {
            let map = MapHandle::from_map_id(id);
            let map = map.map_err(Program::Option.at("finding its maps"))?;
            if map.name() == OBJECTS && map.value_size() == expected {
                return Ok(Some(SocketOption { ids: [set, get], objects: map }));
            }
        }
        Ok(None)
    }

    /// Gives the sockets of the processes in this cgroup, and in those below it, the option, instead of one of another version.
    ///
    /// # Errors
    /// When the machine lacks something.
    pub fn attach(cgroup: BorrowedFd<'_>) -> Result<SocketOption, Error> {
        let object = built::open(BUILT, Program::Option)?.load();
        let object = object.map_err(Program::Option.at("loading it"))?;
        let objects = built::handle(&object, OBJECTS, Program::Option)?;
        let mut option = SocketOption { ids: [0; 2], objects };
        for ((name, event), own) in PROGRAMS.into_iter().zip(&mut option.ids) {
            if let Some(other) = ours(cgroup, event, name)? {
                detach(other, cgroup, event)?;
            }
            let program = object.progs().find(|program| program.name() == name);
            let program = program.expect("the program is in what was built");
            cgroup::attach(program.as_fd(), cgroup, event)
                .map_err(|error| Program::Option.at("attaching it to the cgroup")(error.into()))?;
            let id = Loaded::id_from_fd(program.as_fd());
            *own = id.map_err(Program::Option.at("naming its parts"))?;
        }
        Ok(option)
    }

    /// Takes the option away. What applications have said before has no effect then.
    ///
    /// # Errors
    /// When the kernel does not let it go.
    pub fn detach(self, cgroup: BorrowedFd<'_>) -> Result<(), Error> {
        for (id, (_, event)) in self.ids.into_iter().zip(PROGRAMS) {
            detach(id, cgroup, event)?;
        }
        Ok(())
    }

    /// Whether a program at a device reads what applications say by it.
    pub fn is_used(&self) -> bool {
        let Ok(own) = self.objects.info() else { return true };
        let wanted = ProgInfoQueryOptions::default().include_map_ids(true);
        let mut programs = ProgInfoIter::with_query_opts(wanted);
        programs
            .any(|program| is_named(&program.name, EDGE) && program.map_ids.contains(&own.info.id))
    }

    pub(crate) fn objects(&self) -> BorrowedFd<'_> {
        self.objects.as_fd()
    }
}

fn is_named(found: &OsStr, name: &str) -> bool {
    found == OsStr::new(name)
}

/// The bytes that are kept of a connection.
fn layout() -> Result<u32, Error> {
    let mut opened = built::open(BUILT, Program::Option)?;
    Ok(built::open_map(&mut opened, OBJECTS).value_size())
}

/// The number of the program of this name at an event of a cgroup.
fn ours(cgroup: BorrowedFd<'_>, event: u32, name: &str) -> Result<Option<u32>, Error> {
    let there = programs_at(cgroup, event)
        .map_err(|error| Program::Option.at("finding it at the cgroup")(error.into()))?;
    let mut programs = ProgInfoIter::default();
    let found =
        programs.find(|program| there.contains(&program.id) && is_named(&program.name, name));
    Ok(found.map(|program| program.id))
}

fn maps_of(id: u32) -> Vec<u32> {
    let wanted = ProgInfoQueryOptions::default().include_map_ids(true);
    let mut programs = ProgInfoIter::with_query_opts(wanted);
    programs.find(|program| program.id == id).map(|program| program.map_ids).unwrap_or_default()
}

fn detach(id: u32, cgroup: BorrowedFd<'_>, event: u32) -> Result<(), Error> {
    let done = cgroup::detach(id, cgroup, event);
    done.map_err(|error| Program::Option.at("detaching it from the cgroup")(error.into()))
}
