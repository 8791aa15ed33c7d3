//! The program for plans: loads it, writes its table, and tries it on packets.

use libbpf_rs::{MapCore, MapFlags, MapHandle, Object, ProgramInput, ProgramMut};

use super::{PlansAddress, PlansCount, PlansCounts, PlansPrefix, PlansSettings};
use crate::error::Program;
use crate::{Error, Link, built};

/// The program, as clang has built it.
static BUILT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/plans.bpf.o"));

/// Its name.
pub(super) const NAME: &str = "shortflow_plans";

/// The size of `struct __sk_buff`, and the offset of a packet's priority (include/uapi/linux/bpf.h).
const CONTEXT: usize = 192;
const PRIORITY: usize = 32;

/// The program, loaded into the kernel.
#[derive(Debug)]
pub struct PlansProgram {
    object: Object,
    root: u16,
}

impl PlansProgram {
    /// Loads the program, which knows no customer yet.
    ///
    /// # Errors
    /// When the machine lacks something.
    pub fn load(settings: &PlansSettings) -> Result<PlansProgram, Error> {
        let mut opened = built::open(BUILT, Program::Plans)?;
        let PlansSettings { link, address, root, unknown } = *settings;
        let words = [
            u32::from(link == Link::Ethernet),
            u32::from(address == PlansAddress::Destination),
            u32::from(root) << 16,
            u32::from(root) << 16 | u32::from(unknown),
        ];
        let bytes: Vec<u8> = words.into_iter().flat_map(u32::to_ne_bytes).collect();
        let mut constants = built::constants(&mut opened);
        constants.set_initial_value(&bytes).map_err(Program::Plans.at("setting it up"))?;
        let object = opened.load().map_err(Program::Plans.at("loading it"))?;
        Ok(PlansProgram { object, root })
    }

    pub(super) fn program(&self) -> ProgramMut<'_> {
        built::program(&self.object, NAME)
    }

    fn map(&self, name: &str) -> Result<MapHandle, Error> {
        built::handle(&self.object, name, Program::Plans)
    }

    /// Gives the packets of a prefix to a class.
    ///
    /// # Errors
    /// When the kernel does not take it.
    pub fn insert(&self, prefixes: &[(PlansPrefix, u16)]) -> Result<(), Error> {
        self.table()?.insert(prefixes, self.root)
    }

    fn table(&self) -> Result<Table, Error> {
        Ok(Table { prefixes: self.map("prefixes")?, addresses: self.map("addresses")? })
    }

    /// Shows it a packet, and returns the priority that the packet has then.
    ///
    /// # Errors
    /// When the kernel does not run programs by hand, or not on such a packet.
    pub fn try_packet(&self, packet: &[u8]) -> Result<u32, Error> {
        let mut context = [0; CONTEXT];
        let mut seen = [0; CONTEXT];
        let input = ProgramInput {
            context_in: Some(&mut context),
            context_out: Some(&mut seen),
            data_in: Some(packet),
            ..ProgramInput::default()
        };
        self.program().test_run(input).map_err(Program::Plans.at("running it on a packet"))?;
        let priority = seen[PRIORITY..].first_chunk().expect("it is within the context");
        Ok(u32::from_ne_bytes(*priority))
    }

    /// What it has seen.
    ///
    /// # Errors
    /// When the kernel does not give its maps.
    pub fn counts(&self) -> Result<PlansCounts, Error> {
        counts(&self.map("counts")?)
    }
}

/// Which prefix has which class.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) prefixes: MapHandle,
    /// Those of full length.
    pub(super) addresses: MapHandle,
}

impl Table {
    pub(super) fn insert(&self, prefixes: &[(PlansPrefix, u16)], root: u16) -> Result<(), Error> {
        for (prefix, class) in prefixes {
            let class = u32::from(root) << 16 | u32::from(*class);
            let (map, key) = self.place(*prefix);
            let done = map.update(&key, &class.to_ne_bytes(), MapFlags::ANY);
            done.map_err(Program::Plans.at("writing its table"))?;
        }
        Ok(())
    }

    pub(super) fn remove(&self, prefixes: &[PlansPrefix]) -> Result<(), Error> {
        for prefix in prefixes {
            let (map, key) = self.place(*prefix);
            match map.delete(&key) {
                // One that is gone already was removed by a command that was interrupted.
                Err(error) if error.kind() != libbpf_rs::ErrorKind::NotFound => {
                    return Err(Program::Plans.at("writing its table")(error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The map that has a prefix, and its key there: an address, or `struct prefix`.
    fn place(&self, (address, length): PlansPrefix) -> (&MapHandle, Vec<u8>) {
        match length {
            128 => (&self.addresses, address.to_vec()),
            _ => (&self.prefixes, [&u32::from(length).to_ne_bytes()[..], &address].concat()),
        }
    }
}

pub(super) fn counts(map: &MapHandle) -> Result<PlansCounts, Error> {
    let read = |kind: u32| {
        let found = map.lookup_percpu(&kind.to_ne_bytes(), MapFlags::ANY);
        let found = found.map_err(Program::Plans.at("reading its counters"))?.unwrap_or_default();
        let long = |bytes: &[u8], at: usize| {
            let part = bytes.get(at..).and_then(|rest| rest.first_chunk());
            part.map_or(0, |part| u64::from_ne_bytes(*part))
        };
        Ok(PlansCount {
            packets: found.iter().map(|of| long(of, 0)).sum(),
            bytes: found.iter().map(|of| long(of, 8)).sum(),
        })
    };
    Ok(PlansCounts { customers: read(0)?, unknown: read(1)?, past_classes: read(2)? })
}
