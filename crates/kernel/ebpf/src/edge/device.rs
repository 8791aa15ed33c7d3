//! The program at devices: attaches it, finds it from another process, and detaches it. All of its state is in the
//! kernel; there is no file.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use libbpf_rs::query::{ProgInfoIter, ProgInfoQueryOptions};
use libbpf_rs::{MapCore, MapFlags, MapHandle, TC_EGRESS, TC_INGRESS, TcHook};

use super::layout::Remembered;
use super::{
    EdgeBucket, EdgeCounter, EdgeFlow, EdgeTable, EdgeTimes, aggregate, bucket, flows, layout,
    times,
};
use crate::Error;
use crate::edge::Direction;
use crate::edge::program::{ECHO, EdgeProgram, NAME, counters, layouts, now, tables};
use crate::error::Program;

/// Where the program stands among the filters of a device: priority and handle.
const PRIORITY: u32 = 0x5346;
const HANDLE: u32 = 0x5346;

fn hook(program: BorrowedFd<'_>, device: u32, direction: Direction) -> TcHook {
    let mut hook = TcHook::new(program);
    let point = match direction {
        Direction::Ingress => TC_INGRESS,
        Direction::Egress => TC_EGRESS,
    };
    hook.ifindex(device.cast_signed()).attach_point(point).handle(HANDLE).priority(PRIORITY);
    hook
}

impl EdgeProgram {
    /// Lets it see packets of the device of this number, in the network namespace of the thread, until it is taken
    /// away or the device goes: the process may end. It takes the place of another one of ours, with no packet between
    /// the two.
    ///
    /// # Errors
    /// When somebody else's program is in the place, or the kernel has none.
    pub fn attach(&self, device: u32, direction: Direction) -> Result<(), Error> {
        self.bring(NAME, device, direction)
    }

    fn bring(&self, name: &str, device: u32, direction: Direction) -> Result<(), Error> {
        let program = self.named(name);
        let mut hook = hook(program.as_fd(), device, direction);
        // It is there already where anybody has a program at the device.
        hook.create().map_err(Program::Edge.at("adding clsact to the device"))?;
        if let Ok(id) = hook.query()
            && !is_ours(id, name)
        {
            return Err(Error::Occupied { priority: PRIORITY });
        }
        let replacing = hook.replace(true).attach();
        replacing.map(|_| ()).map_err(Program::Edge.at("attaching it to the device"))
    }

    /// Takes it, or another one of ours, away from the device; whether there was one.
    ///
    /// # Errors
    /// When the kernel does not let it go.
    pub fn detach(&self, device: u32, direction: Direction) -> Result<bool, Error> {
        let program = self.program();
        let mut hook = hook(program.as_fd(), device, direction);
        match hook.query() {
            Ok(id) if is_ours(id, NAME) => {}
            _ => return Ok(false),
        }
        hook.detach().map_err(Program::Edge.at("detaching it from the device"))?;
        Ok(true)
    }

    /// Lets it see what the device receives, where acknowledgements echo that, or takes away what does.
    ///
    /// # Errors
    /// When somebody else's program is in the place, or the kernel has none.
    pub fn attach_echo(&self, device: u32) -> Result<(), Error> {
        if !self.echoes {
            let mut hook = hook(self.program().as_fd(), device, Direction::Ingress);
            return match hook.query() {
                Ok(id) if is_ours(id, ECHO) => {
                    hook.detach().map_err(Program::Edge.at("detaching it from the device"))
                }
                _ => Ok(()),
            };
        }
        self.bring(ECHO, device, Direction::Ingress)
    }

    /// Goes on from where another one is: tokens, windows and tables of the pairs of classes, the other's and its own,
    /// that do the same. Others begin anew. Whether each pair does.
    ///
    /// # Errors
    /// When the kernel does not give or take the maps.
    pub fn adopt(
        &self,
        other: &EdgeAtDevice,
        pairs: &[(usize, usize)],
    ) -> Result<Vec<bool>, Error> {
        pairs.iter().map(|(from, to)| self.adopt_class(other, *from, *to)).collect()
    }

    fn adopt_class(&self, other: &EdgeAtDevice, from: usize, to: usize) -> Result<bool, Error> {
        let classes = self.map("classes")?;
        let (theirs, mut own) = (read(&other.map("classes")?, from)?, read(&classes, to)?);
        if !layout::does_the_same(&theirs, &own) {
            return Ok(false);
        }
        if let Some((old, new)) = layout::aggregates_of(&theirs, &own) {
            let map = other.map("aggregates")?;
            match aggregate::read_at_rest(&|| read(&map, old))? {
                Some(found) => write(&self.map("aggregates")?, new, &found)?,
                None => return Ok(false),
            }
        }
        if let Some((old, new)) = layout::tables_of(&theirs, &own) {
            write(&self.map("tables")?, new, &read(&other.map("tables")?, old)?)?;
            layout::hash_as(&theirs, &mut own);
            write(&classes, to, &own)?;
        }
        write(&self.map("states")?, to, &read(&other.map("states")?, from)?)?;
        Ok(true)
    }
}

fn read(map: &MapHandle, number: usize) -> Result<Vec<u8>, Error> {
    let found = map.lookup(&(number as u32).to_ne_bytes(), MapFlags::ANY);
    Ok(found.map_err(Program::Edge.at("reading its state"))?.unwrap_or_default())
}

fn write(map: &MapHandle, number: usize, value: &[u8]) -> Result<(), Error> {
    let written = map.update(&(number as u32).to_ne_bytes(), value, MapFlags::ANY);
    written.map_err(Program::Edge.at("writing its state"))
}

fn is_ours(id: u32, name: &str) -> bool {
    let mut programs = ProgInfoIter::default();
    programs.any(|program| program.id == id && program.name.as_os_str() == OsStr::new(name))
}

/// The program as it is at a device.
#[derive(Debug)]
pub struct EdgeAtDevice {
    maps: Vec<MapHandle>,
}

impl EdgeAtDevice {
    /// The one of ours that is at the device of this number now, in the network namespace of the thread, whoever brought it
    /// there; none also where it is of another version, whose tables are others.
    ///
    /// # Errors
    /// When the kernel does not show it.
    pub fn find(device: u32, direction: Direction) -> Result<Option<EdgeAtDevice>, Error> {
        // A missing program is no reason for libbpf to print.
        libbpf_rs::set_print(None);
        // Who asks needs no program, so any file stands for one.
        match hook(io::stdin().as_fd(), device, direction).query() {
            Ok(id) => EdgeAtDevice::from_id(id),
            Err(error) => match Program::Edge.at("finding it")(error) {
                error @ Error::TooManyFiles(_) => Err(error),
                _ => Ok(None),
            },
        }
    }

    fn from_id(id: u32) -> Result<Option<EdgeAtDevice>, Error> {
        let wanted = ProgInfoQueryOptions::default().include_map_ids(true);
        let mut programs = ProgInfoIter::with_query_opts(wanted);
        let found = programs
            .find(|program| program.id == id && program.name.as_os_str() == OsStr::new(NAME));
        let Some(found) = found else {
            // The list of programs ends early where no descriptor is left.
            let spare = io::stdin().as_fd().try_clone_to_owned();
            spare.map_err(|error| Program::Edge.at("finding it")(error.into()))?;
            return Ok(None);
        };
        let maps: Result<Vec<_>, _> =
            found.map_ids.iter().map(|id| MapHandle::from_map_id(*id)).collect();
        let there = EdgeAtDevice { maps: maps.map_err(Program::Edge.at("finding its maps"))? };
        Ok(there.is_of_this_version()?.then_some(there))
    }

    /// Whether it keeps what it knows as the program of this build does.
    fn is_of_this_version(&self) -> Result<bool, Error> {
        let built = layouts()?;
        let is_same = |(name, size): &(OsString, u32)| {
            self.maps.iter().any(|map| map.name() == name && map.value_size() == *size)
        };
        Ok(built.iter().all(is_same))
    }

    fn map(&self, name: &str) -> Result<MapHandle, Error> {
        let found = self.maps.iter().find(|map| map.name() == name);
        let found = found.expect("the program has this map");
        MapHandle::try_from(found).map_err(Program::Edge.at("finding its maps"))
    }

    /// What each class has seen of green, yellow and red packets. Of classes that it does not have, nothing.
    ///
    /// # Errors
    /// When the kernel does not give its maps.
    pub fn counters(&self, classes: usize) -> Result<Vec<[EdgeCounter; 3]>, Error> {
        counters(&self.map("counters")?, classes)
    }

    /// What the table of each class has seen; nothing of a class without one.
    ///
    /// # Errors
    /// When the kernel does not give its maps.
    pub fn tables(&self, classes: usize) -> Result<Vec<EdgeTable>, Error> {
        tables(&self.map("table_counters")?, classes)
    }

    /// How long the connections of each class took, in groups by what they have sent; none of a class that does not know flows.
    ///
    /// # Errors
    /// When the kernel does not give its maps.
    pub fn times(&self, classes: usize) -> Result<Vec<Option<[EdgeTimes; 4]>>, Error> {
        times::read([&self.map("classes")?, &self.map("times")?], classes)
    }

    /// The buckets of each class, as they are now; none of a class with another meter, or with some for each flow or host.
    ///
    /// # Errors
    /// When the kernel does not give its maps.
    pub fn buckets(&self, classes: usize) -> Result<Vec<Vec<EdgeBucket>>, Error> {
        let (described, states) = (self.map("classes")?, self.map("states")?);
        let now = now()?;
        let class =
            |class| Ok(bucket::buckets(&read(&described, class)?, &read(&states, class)?, now));
        (0..classes).map(class).collect()
    }

    /// The `max` flows, hosts or connections of each class that have sent the most since it knows them; none of a class that
    /// knows none.
    ///
    /// # Errors
    /// When the kernel does not give its maps.
    pub fn flows(&self, classes: usize, max: usize) -> Result<Vec<Vec<EdgeFlow>>, Error> {
        let [described, tables, aggregates] =
            [self.map("classes")?, self.map("tables")?, self.map("aggregates")?];
        let class = |class| {
            let of = Remembered::parse(&read(&described, class)?);
            match of.by {
                None if of.is_aggregate => {
                    Ok(flows::connections(&read(&aggregates, of.table)?, &of, now()?, max))
                }
                None => Ok(Vec::new()),
                Some(_) => Ok(flows::top(&read(&tables, of.table)?, &of, now()?, max)),
            }
        };
        (0..classes).map(class).collect()
    }
}
