//! The queueing discipline: registers it with the kernel, finds it from another process, and gives it other plans. All of its
//! state is in the kernel; there is no file.

use std::ffi::OsStr;

use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::Struct;
use libbpf_rs::query::{ProgInfoIter, ProgInfoQueryOptions};
use libbpf_rs::{Link, MapCore, MapFlags, MapHandle, Object};

use super::layout::{self, FLOW_QUEUES, FLOWS, MACHINE, PLACES, PLAN, RANKED};
use super::{QdiscCounts, QdiscPlan, Sizes, fnv};
use crate::error::{Program, is_out_of_files};
use crate::{Error, built};

/// The program, as clang has built it.
static BUILT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/qdisc.bpf.o"));

/// The name of the discipline in what was built.
const BUILT_AS: &str = "shortflow";
/// The offset of its kind in `struct Qdisc_ops` of programs/kernel.h, behind five functions, and its size in bytes, the last of
/// which is zero.
const KIND: usize = 5 * 8;
const KIND_BYTES: usize = 16;
/// The kernel's type of such disciplines.
const KERNELS_TYPE: &str = "bpf_struct_ops_Qdisc_ops";
/// Of its programs, the one that knows all of its maps.
const KNOWS_MAPS: &str = "shortflow_init";
/// Bytes of `struct note`.
const NOTE: usize = 4096;

/// The discipline in the kernel under a kind of its own, as long as this is there. A device that has it by then keeps it.
#[derive(Debug)]
pub struct QdiscProgram {
    /// The kind is known until this is closed.
    _link: Link,
    _object: Object,
    kind: String,
}

/// The discipline of a device.
#[derive(Debug)]
pub struct QdiscAtDevice {
    maps: Vec<MapHandle>,
    is_of_this_version: bool,
}

impl QdiscProgram {
    /// How the kinds of all disciplines begin.
    pub const PREFIX: &str = BUILT_AS;

    /// Whether the kernel has programs as queueing disciplines, by its own types; `None` if this process has too many
    /// open files to read them.
    pub fn is_possible() -> Option<bool> {
        match Btf::from_vmlinux() {
            Ok(types) => Some(types.type_by_name::<Struct<'_>>(KERNELS_TYPE).is_some()),
            Err(error) if is_out_of_files(&format!("{error:#}")) => None,
            Err(_) => Some(false),
        }
    }

    /// Registers the discipline with a plan and two texts that stay with it, for a device to take it by
    /// [its kind](Self::kind).
    ///
    /// # Errors
    /// When the machine lacks something.
    pub fn register(plan: &QdiscPlan, texts: [&str; 2]) -> Result<QdiscProgram, Error> {
        let mut attempt = u64::from(std::process::id());
        loop {
            // A kind is taken only as long as its loader works, so that another number soon is free.
            let number = fnv(&format!("{attempt} {:?}", std::time::Instant::now())) & 0xff_ffff;
            let kind = format!("{}{number:06x}", QdiscProgram::PREFIX);
            match QdiscProgram::register_as(kind, plan, texts) {
                Err(Error::Refused { why, .. })
                    if why.contains("os error 17") && attempt < 1 << 40 =>
                {
                    attempt += 1 << 33;
                }
                other => return other,
            }
        }
    }

    fn register_as(
        kind: String,
        plan: &QdiscPlan,
        texts: [&str; 2],
    ) -> Result<QdiscProgram, Error> {
        let mut opened = built::open(BUILT, Program::Qdisc)?;
        let Sizes { places, flows, ranked, flow_queues } = plan.sizes;
        for (name, entries) in [
            ("slots", places),
            ("flows", flows),
            ("numbers", flows),
            ("ranked", ranked),
            ("flow_queues", flow_queues),
        ] {
            let sized = built::open_map(&mut opened, name).set_max_entries(entries);
            sized.map_err(Program::Qdisc.at("setting it up"))?;
        }
        let mut discipline = built::open_map(&mut opened, BUILT_AS);
        let value = discipline.initial_value_mut();
        let name = &mut value.expect("the discipline is in what was built")[KIND..][..KIND_BYTES];
        name.fill(0);
        name[..kind.len()].copy_from_slice(kind.as_bytes());
        let mut object = opened.load().map_err(Program::Qdisc.at("loading it"))?;
        let maps: Result<Vec<_>, _> = object.maps().map(|map| MapHandle::try_from(&map)).collect();
        let maps = maps.map_err(Program::Qdisc.at("finding its maps"))?;
        let there = QdiscAtDevice { maps, is_of_this_version: true };
        let mut machine = vec![0; MACHINE];
        for (at, entries) in room(plan.sizes) {
            machine[at..][..4].copy_from_slice(&entries.to_ne_bytes());
        }
        there.write("machines", 0, &machine)?;
        there.write_note(0, &signature(&kind))?;
        there.follow_from(plan, texts, 0)?;
        let link = {
            let mut discipline = object.maps_mut().find(|map| map.name() == BUILT_AS);
            let discipline = discipline.as_mut().expect("the discipline is in what was built");
            discipline.attach_struct_ops().map_err(Program::Qdisc.at("registering it"))?
        };
        Ok(QdiscProgram { _link: link, _object: object, kind })
    }

    /// The kind by which tc knows it.
    pub fn kind(&self) -> &str {
        &self.kind
    }
}

impl QdiscAtDevice {
    /// The discipline of this kind; `None` if no device has it, or it is of another version that keeps its maps otherwise.
    ///
    /// # Errors
    /// When the process may not look.
    pub fn find(kind: &str) -> Result<Option<QdiscAtDevice>, Error> {
        let options = ProgInfoQueryOptions::default().include_map_ids(true);
        let ours = ProgInfoIter::with_query_opts(options)
            .filter(|program| program.name.as_os_str() == OsStr::new(KNOWS_MAPS));
        for program in ours {
            let maps: Result<Vec<_>, _> =
                program.map_ids.iter().map(|id| MapHandle::from_map_id(*id)).collect();
            // It may be gone since it was listed.
            let Ok(maps) = maps else { continue };
            let mut there = QdiscAtDevice { maps, is_of_this_version: false };
            let Ok(name) = there.note(0) else { continue };
            if name.split(' ').next() == Some(kind) {
                there.is_of_this_version = name == signature(kind) && there.has_sizes();
                return Ok(Some(there));
            }
        }
        Ok(None)
    }

    /// Whether it can follow this plan: it is of this version, and has room for as many packets and flows.
    pub fn can_follow(&self, plan: &QdiscPlan) -> bool {
        let has_room = |(at, entries): (usize, u32)| {
            self.long("machines", at).is_ok_and(|there| there as u32 >= entries)
        };
        self.is_of_this_version && room(plan.sizes).into_iter().all(has_room)
    }

    /// Lets it follow another plan. Packets that wait stay where they are if both have one shape; otherwise they leave first.
    ///
    /// # Errors
    /// When the kernel does not take it.
    pub fn follow(&self, plan: &QdiscPlan, texts: [&str; 2]) -> Result<(), Error> {
        let generation = self.long("live", 0)?;
        self.follow_from(plan, texts, generation)
    }

    fn follow_from(
        &self,
        plan: &QdiscPlan,
        texts: [&str; 2],
        generation: u64,
    ) -> Result<(), Error> {
        let next = generation + 1;
        let which = (next & 1) as u32;
        self.write("plans", which, &plan.bytes)?;
        self.write("rules", which, &plan.rules.bytes)?;
        self.write("live", 0, &next.to_ne_bytes())?;
        self.write_note(1, texts[0])?;
        self.write_note(2, texts[1])
    }

    /// The two texts that stay with it.
    ///
    /// # Errors
    /// When the kernel does not give its maps.
    pub fn texts(&self) -> Result<[String; 2], Error> {
        Ok([self.note(1)?, self.note(2)?])
    }

    /// The counters of so many queues; `None` if it is of another version.
    ///
    /// # Errors
    /// When the kernel does not give its maps.
    pub fn counts(&self, queues: usize) -> Result<Option<QdiscCounts>, Error> {
        if !self.is_of_this_version {
            return Ok(None);
        }
        let which = (self.long("live", 0)? & 1) as u32;
        let (machine, plan) = (self.read("machines", 0)?, self.read("plans", which)?);
        Ok(Some(layout::counts(&machine, &plan, queues)))
    }

    /// Whether its maps have the sizes of this version.
    fn has_sizes(&self) -> bool {
        let sizes = [("machines", MACHINE), ("plans", PLAN)];
        sizes.iter().all(|(name, size)| {
            self.maps.iter().any(|map| map.name() == *name && map.value_size() as usize == *size)
        })
    }

    fn map(&self, name: &str) -> Result<&MapHandle, Error> {
        self.maps.iter().find(|map| map.name() == name).ok_or(Error::Refused {
            program: Program::Qdisc,
            what: "finding its maps",
            why: format!("it has no map {name}"),
        })
    }

    fn read(&self, name: &str, key: u32) -> Result<Vec<u8>, Error> {
        let found = self.map(name)?.lookup(&key.to_ne_bytes(), MapFlags::ANY);
        Ok(found.map_err(Program::Qdisc.at("reading its maps"))?.unwrap_or_default())
    }

    fn long(&self, name: &str, at: usize) -> Result<u64, Error> {
        let found = self.read(name, 0)?;
        let bytes = found.get(at..).and_then(|rest| rest.first_chunk());
        Ok(bytes.map_or(0, |bytes| u64::from_ne_bytes(*bytes)))
    }

    fn write(&self, name: &str, key: u32, value: &[u8]) -> Result<(), Error> {
        let map = self.map(name)?;
        map.update(&key.to_ne_bytes(), value, MapFlags::ANY)
            .map_err(Program::Qdisc.at("writing its plan"))
    }

    fn note(&self, number: u32) -> Result<String, Error> {
        let bytes = self.read("notes", number)?;
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        Ok(String::from_utf8_lossy(&bytes[..end]).into_owned())
    }

    fn write_note(&self, number: u32, text: &str) -> Result<(), Error> {
        let mut bytes = text.as_bytes().to_vec();
        bytes.resize(NOTE, 0);
        bytes[NOTE - 1] = 0;
        self.write("notes", number, &bytes)
    }
}

/// What there is room for, and where that stands in `struct machine`.
fn room(Sizes { places, flows, ranked, flow_queues }: Sizes) -> [(usize, u32); 4] {
    [(PLACES, places), (FLOWS, flows), (RANKED, ranked), (FLOW_QUEUES, flow_queues)]
}

/// By which a discipline is known, and the version of its program.
fn signature(kind: &str) -> String {
    let built: String = BUILT.iter().map(|byte| char::from(*byte)).collect();
    format!("{kind} {:016x}", fnv(&built))
}
