//! The program for early drops: loads it and tries it on packets.

use libbpf_rs::{MapCore, MapFlags, MapHandle, Object, ProgramInput, ProgramMut};
use shortflow_elements::meter::POWERS;

use super::{Arrival, EarlyCounter, EarlyPlan, MAX_LEVELS, MAX_WAITING, layout};
use crate::error::Program;
use crate::{Error, built};

/// The program, as clang has built it.
static BUILT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/early.bpf.o"));

/// Its name.
pub(super) const NAME: &str = "shortflow_early";

/// What the program returns for a packet that goes no further (TC_ACT_SHOT).
const DROPPED: u32 = 2;

/// The size of `struct __sk_buff`, and the offsets of its fields (include/uapi/linux/bpf.h).
const CONTEXT: usize = 192;
const MARK: usize = 8;
const CONTROL_BLOCK: usize = 48;
const TIME: usize = 152;
const WIRE_LENGTH: usize = 160;

/// The program, loaded into the kernel.
#[derive(Debug)]
pub struct EarlyProgram {
    object: Object,
}

impl EarlyProgram {
    /// Whether this build includes it.
    pub const IS_BUILT: bool = true;

    /// Loads the program.
    ///
    /// # Errors
    /// When the machine lacks something.
    pub fn load(plan: &EarlyPlan) -> Result<EarlyProgram, Error> {
        EarlyProgram::loaded(plan, false)
    }

    /// Loads the program for trials, which say how much waits, what time it is and what is drawn.
    ///
    /// # Errors
    /// When the machine lacks something.
    pub fn load_to_try(plan: &EarlyPlan) -> Result<EarlyProgram, Error> {
        EarlyProgram::loaded(plan, true)
    }

    fn loaded(plan: &EarlyPlan, is_tried: bool) -> Result<EarlyProgram, Error> {
        let mut opened = built::open(BUILT, Program::Early)?;
        let flags = [u32::from(plan.has_header), is_tried.into()].into_iter();
        let settings = flags.flat_map(u32::to_ne_bytes);
        let settings: Vec<u8> =
            settings.chain(POWERS.into_iter().flat_map(u64::to_ne_bytes)).collect();
        let mut constants = built::constants(&mut opened);
        constants.set_initial_value(&settings).map_err(Program::Early.at("setting it up"))?;
        // Up to the last queue that counts levels; each has its place by its number.
        let last = plan.queues.iter().rposition(|queue| queue.counts_levels);
        let entries = last.map_or(1, |last| (last as u32 + 1) * (MAX_WAITING as u32 + 1));
        let sized = built::open_map(&mut opened, "marks").set_max_entries(entries);
        sized.map_err(Program::Early.at("making its tables"))?;
        let object = opened.load().map_err(Program::Early.at("loading it"))?;
        let program = EarlyProgram { object };
        let queues = program.map("queues")?;
        for (number, queue) in plan.queues.iter().enumerate().filter(|(_, it)| !it.bytes.is_empty())
        {
            debug_assert_eq!(queue.bytes.len(), layout::QUEUE);
            let written =
                queues.update(&(number as u32).to_ne_bytes(), &queue.bytes, MapFlags::ANY);
            written.map_err(Program::Early.at("writing its queues"))?;
        }
        Ok(program)
    }

    pub(super) fn program(&self) -> ProgramMut<'_> {
        built::program(&self.object, NAME)
    }

    fn map(&self, name: &str) -> Result<MapHandle, Error> {
        built::handle(&self.object, name, Program::Early)
    }

    /// Shows it a packet, writes the result to `out`, and returns whether the packet passes.
    ///
    /// # Errors
    /// When the kernel does not run programs by hand, or not on such a packet.
    pub fn try_packet(&self, arrival: Arrival<'_>, out: &mut Vec<u8>) -> Result<bool, Error> {
        let mut context = [0; CONTEXT];
        let index = (arrival.queue as u32 + 1) << 7 | (arrival.level as u32 + 1);
        let [[packets, bytes], [other_packets, other_bytes]] = arrival.waiting;
        let told = [index, packets, bytes, other_bytes, other_packets];
        for (at, word) in told.into_iter().enumerate() {
            context[CONTROL_BLOCK + 4 * at..][..4].copy_from_slice(&word.to_ne_bytes());
        }
        context[MARK..][..4].copy_from_slice(&arrival.draw.to_ne_bytes());
        context[TIME..][..8].copy_from_slice(&arrival.now.to_ne_bytes());
        context[WIRE_LENGTH..][..4].copy_from_slice(&arrival.size.to_ne_bytes());
        out.clear();
        out.resize(arrival.packet.len(), 0);
        let input = ProgramInput {
            context_in: Some(&mut context),
            data_in: Some(arrival.packet),
            data_out: Some(out),
            ..ProgramInput::default()
        };
        let found = self.program().test_run(input);
        let found = found.map_err(Program::Early.at("running it on a packet"))?;
        Ok(found.return_value != DROPPED)
    }

    /// What has become of the packets of a queue's level.
    ///
    /// # Errors
    /// When the kernel does not give its maps.
    pub fn counter(&self, queue: usize, level: usize) -> Result<EarlyCounter, Error> {
        counter(&self.map("counters")?, queue, level)
    }
}

pub(super) fn counter(map: &MapHandle, queue: usize, level: usize) -> Result<EarlyCounter, Error> {
    let key = ((queue * MAX_LEVELS + level) as u32).to_ne_bytes();
    let found = map.lookup(&key, MapFlags::ANY);
    let found = found.map_err(Program::Early.at("reading its counters"))?.unwrap_or_default();
    let long = |at: usize| {
        let bytes = found.get(8 * at..).and_then(|rest| rest.first_chunk());
        bytes.map_or(0, |bytes| u64::from_ne_bytes(*bytes))
    };
    let [passed, marked, early, forced, overlimit] = [0, 1, 2, 3, 4].map(long);
    Ok(EarlyCounter { passed, marked, early, forced, overlimit })
}
