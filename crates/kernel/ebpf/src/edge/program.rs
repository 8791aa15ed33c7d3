//! The conditioning program: loads it, tests it on packets, and reads its counters.

use std::ffi::{OsStr, OsString};
use std::io;

use libbpf_rs::{MapCore, MapFlags, MapHandle, Object, OpenObject, ProgramInput, ProgramMut};
use nix::sys::time::TimeValLike;
use nix::time::{ClockId, clock_gettime};
use shortflow_elements::meter::POWERS;

use super::{EdgeCounter, EdgePlan, EdgeTable, EdgeTimes, MAX_ECHOED, Trial, layout, times};
use crate::error::Program;
use crate::option::{OBJECTS, SocketOption};
use crate::{Error, Link, built};

/// The program, as clang has built it.
static BUILT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/edge.bpf.o"));

/// Its name there, and in the kernel, and that of what sees the packets that a device receives.
pub(crate) const NAME: &str = "shortflow_edge";
pub(super) const ECHO: &str = "shortflow_echo";

/// What the program returns for a packet that goes no further (TC_ACT_SHOT).
const DROPPED: u32 = 2;

/// The size of `struct __sk_buff`, and the offsets of its fields (include/uapi/linux/bpf.h).
const CONTEXT: usize = 192;
const MARK: usize = 8;
const PRIORITY: usize = 32;
const CONTROL_BLOCK: usize = 48;
const TIME: usize = 152;
const SEGMENTS: usize = 164;
const SEGMENT: usize = 176;

/// The program that conditions packets, loaded into the kernel.
#[derive(Debug)]
pub struct EdgeProgram {
    object: Object,
    classes: usize,
    pub(super) echoes: bool,
}

impl EdgeProgram {
    /// Loads the program.
    ///
    /// # Errors
    /// When the machine lacks something.
    pub fn load(plan: &EdgePlan, link: Link) -> Result<EdgeProgram, Error> {
        EdgeProgram::loaded(plan, link, layout::meters(&plan.classes), false, None)
    }

    /// Loads the program, which reads what applications say by this option, of a plan that has objects.
    ///
    /// # Errors
    /// When the machine lacks something.
    pub fn load_with_option(
        plan: &EdgePlan,
        link: Link,
        option: &SocketOption,
    ) -> Result<EdgeProgram, Error> {
        EdgeProgram::loaded(plan, link, layout::meters(&plan.classes), false, Some(option))
    }

    /// Whether the kernel takes the program with all meters there are.
    ///
    /// # Errors
    /// When it does not, or when the machine lacks something else.
    pub fn probe() -> Result<(), Error> {
        let nothing = EdgePlan::new(&[], &[]).expect("no space left");
        EdgeProgram::loaded(&nothing, Link::Ethernet, u32::MAX, false, None).map(|_| ())
    }

    /// Loads the program for trials: each [`Trial`] gives the time and the random bits.
    ///
    /// # Errors
    /// When the machine lacks something.
    pub fn load_to_try(plan: &EdgePlan) -> Result<EdgeProgram, Error> {
        EdgeProgram::loaded(plan, Link::Ethernet, layout::meters(&plan.classes), true, None)
    }

    fn loaded(
        plan: &EdgePlan,
        link: Link,
        meters: u32,
        is_tried: bool,
        option: Option<&SocketOption>,
    ) -> Result<EdgeProgram, Error> {
        let mut opened = built::open(BUILT, Program::Edge)?;
        let link: u32 = match link {
            Link::None => 0,
            Link::Ethernet => 1,
        };
        let objects = u32::from(plan.has_objects);
        let flags = [link, is_tried.into(), plan.echoes.into(), plan.rules.asks, meters, objects]
            .into_iter()
            .flat_map(u32::to_ne_bytes);
        let bounds = EdgeTimes::BOUNDS.map(|bound| bound.nanos()).into_iter();
        let bounds = bounds.chain(EdgeTimes::SIZES.map(|size| size.0));
        let settings = flags.chain(POWERS.into_iter().chain(bounds).flat_map(u64::to_ne_bytes));
        set(&mut opened, &settings.collect::<Vec<u8>>())?;
        let received = if plan.echoes { MAX_ECHOED } else { 0 };
        for (name, wanted) in
            [("tables", plan.tables), ("aggregates", plan.aggregates), ("received", received)]
        {
            let sized = built::open_map(&mut opened, name).set_max_entries(wanted.max(1) as u32);
            sized.map_err(Program::Edge.at("making its tables"))?;
        }
        if let Some(option) = option {
            let reused = built::open_map(&mut opened, OBJECTS).reuse_fd(option.objects());
            reused.map_err(Program::Edge.at("making its tables"))?;
        }
        let echo = opened.progs_mut().find(|program| program.name() == ECHO);
        echo.expect("it is in what was built").set_autoload(plan.echoes);
        let object = opened.load().map_err(Program::Edge.at("loading it"))?;
        let (classes, echoes) = (plan.classes.len(), plan.echoes);
        let program = EdgeProgram { object, classes, echoes };
        program.write(plan, if is_tried { 0 } else { now()? })?;
        Ok(program)
    }

    fn write(&self, plan: &EdgePlan, now: u64) -> Result<(), Error> {
        let put = |map: &MapHandle, key: usize, value: &[u8]| {
            let key = (key as u32).to_ne_bytes();
            map.update(&key, value, MapFlags::ANY)
                .map_err(Program::Edge.at("writing its rules and classes"))
        };
        let [classes, states, levels] =
            [self.map("classes")?, self.map("states")?, self.map("levels")?];
        for (number, class) in plan.classes.iter().enumerate() {
            let state = class.state.packed(now);
            debug_assert_eq!((class.bytes.len(), state.len()), (layout::CLASS, layout::STATE));
            put(&classes, number, &class.bytes)?;
            put(&states, number, &state)?;
            class.levels.iter().try_for_each(|own| put(&levels, number, own))?;
            if let Some(aggregate) = &class.aggregate {
                put(&self.map("aggregates")?, aggregate.number, &aggregate.packed(now))?;
            }
        }
        put(&self.map("rules")?, 0, &plan.rules.bytes)
    }

    pub(super) fn program(&self) -> ProgramMut<'_> {
        self.named(NAME)
    }

    pub(super) fn named(&self, name: &str) -> ProgramMut<'_> {
        built::program(&self.object, name)
    }

    pub(super) fn map(&self, name: &str) -> Result<MapHandle, Error> {
        built::handle(&self.object, name, Program::Edge)
    }

    /// Runs it on a packet, writes the result to `out`, and returns whether the packet passes.
    ///
    /// # Errors
    /// When the kernel does not run programs by hand, or not on such a packet.
    pub fn try_packet(&self, trial: Trial<'_>, out: &mut Vec<u8>) -> Result<bool, Error> {
        let program = self.program();
        let mut context = [0; CONTEXT];
        context[CONTROL_BLOCK..][..4].copy_from_slice(&trial.draw.to_ne_bytes());
        context[MARK..][..4].copy_from_slice(&trial.mark.to_ne_bytes());
        context[PRIORITY..][..4].copy_from_slice(&trial.priority.to_ne_bytes());
        context[CONTROL_BLOCK + 8..][..4].copy_from_slice(&trial.rtt.to_ne_bytes());
        for (at, reported) in [(12, trial.sent), (16, trial.remaining)] {
            let reported = reported.map_or(0, |bytes| bytes.saturating_add(1));
            context[CONTROL_BLOCK + at..][..4].copy_from_slice(&reported.to_ne_bytes());
        }
        context[TIME..][..8].copy_from_slice(&trial.now.to_ne_bytes());
        if trial.segments > 1 {
            context[SEGMENTS..][..4].copy_from_slice(&trial.segments.to_ne_bytes());
            context[SEGMENT..][..4].copy_from_slice(&trial.segment.to_ne_bytes());
        }
        out.clear();
        out.resize(trial.packet.len(), 0);
        let input = ProgramInput {
            context_in: Some(&mut context),
            data_in: Some(trial.packet),
            data_out: Some(out),
            ..ProgramInput::default()
        };
        let found = program.test_run(input).map_err(Program::Edge.at("running it on a packet"))?;
        Ok(found.return_value != DROPPED)
    }

    /// Shows a packet, from the header of Ethernet on, to what sees those that a device receives, of a plan that echoes.
    ///
    /// # Errors
    /// When the kernel does not run programs by hand, or not on such a packet.
    pub fn try_received(&self, packet: &[u8]) -> Result<(), Error> {
        let input = ProgramInput { data_in: Some(packet), ..ProgramInput::default() };
        let ran = self.named(ECHO).test_run(input);
        ran.map(|_| ()).map_err(Program::Edge.at("running it on a packet"))
    }

    /// What each class has seen of green, yellow and red packets.
    ///
    /// # Errors
    /// When the kernel does not give its maps.
    pub fn counters(&self) -> Result<Vec<[EdgeCounter; 3]>, Error> {
        counters(&self.map("counters")?, self.classes)
    }

    /// What the table of each class has seen; nothing of a class without one.
    ///
    /// # Errors
    /// When the kernel does not give its maps.
    pub fn tables(&self) -> Result<Vec<EdgeTable>, Error> {
        tables(&self.map("table_counters")?, self.classes)
    }

    /// How long the connections of each class took, in groups by what they have sent; none of a class that does not know flows.
    ///
    /// # Errors
    /// When the kernel does not give its maps.
    pub fn times(&self) -> Result<Vec<Option<[EdgeTimes; 4]>>, Error> {
        times::read([&self.map("classes")?, &self.map("times")?], self.classes)
    }
}

pub(super) fn counters(map: &MapHandle, classes: usize) -> Result<Vec<[EdgeCounter; 3]>, Error> {
    let one = |number: usize| {
        let [packets, bytes, dropped_packets, dropped_bytes] = sums(&each_processor(map, number)?);
        Ok(EdgeCounter { packets, bytes, dropped_packets, dropped_bytes })
    };
    let class = |class: usize| Ok([one(3 * class)?, one(3 * class + 1)?, one(3 * class + 2)?]);
    (0..classes).map(class).collect()
}

pub(super) fn tables(map: &MapHandle, classes: usize) -> Result<Vec<EdgeTable>, Error> {
    let class = |class| {
        let each = each_processor(map, class)?;
        let [hits, misses, evictions, _] = sums(&each);
        // Each processor has noted how many it was when it came last.
        let used = each.iter().map(|own| own[3]).max().unwrap_or(0);
        Ok(EdgeTable { hits, misses, evictions, used })
    };
    (0..classes).map(class).collect()
}

/// The four numbers of an entry, of each processor.
fn each_processor(map: &MapHandle, number: usize) -> Result<Vec<[u64; 4]>, Error> {
    let key = (number as u32).to_ne_bytes();
    let found = map.lookup_percpu(&key, MapFlags::ANY);
    let found = found.map_err(Program::Edge.at("reading its counters"))?.unwrap_or_default();
    let long = |own: &[u8], at: usize| {
        let bytes = own.get(8 * at..).and_then(|rest| rest.first_chunk());
        bytes.map_or(0, |bytes| u64::from_ne_bytes(*bytes))
    };
    Ok(found.iter().map(|own| [0, 1, 2, 3].map(|at| long(own, at))).collect())
}

fn sums(each: &[[u64; 4]]) -> [u64; 4] {
    [0, 1, 2, 3].map(|at| each.iter().map(|own| own[at]).sum())
}

/// The maps of the program, and how long a value of each is.
pub(super) fn layouts() -> Result<Vec<(OsString, u32)>, Error> {
    let opened = built::open(BUILT, Program::Edge)?;
    let maps = opened.maps().filter(|map| !is_constants(map.name()));
    Ok(maps.map(|map| (map.name().to_owned(), map.value_size())).collect())
}

fn is_constants(name: &OsStr) -> bool {
    name.to_string_lossy().ends_with(built::CONSTANTS)
}

/// Sets the constants of the program.
fn set(opened: &mut OpenObject, settings: &[u8]) -> Result<(), Error> {
    let constants = opened.maps_mut().find(|map| is_constants(map.name()));
    let mut constants = constants.expect("the program has constants");
    constants.set_initial_value(settings).map_err(Program::Edge.at("setting it up"))
}

/// The clock that programs see, in nanoseconds since the machine's start.
pub(super) fn now() -> Result<u64, Error> {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC);
    let now = now.map_err(|error| {
        Program::Edge.at("reading the clock")(libbpf_rs::Error::from(io::Error::from(error)))
    })?;
    Ok(now.num_nanoseconds().unsigned_abs())
}
