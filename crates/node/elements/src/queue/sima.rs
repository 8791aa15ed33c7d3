//! The core node of Simple Integrated Media Access (SIMA; Laatu, Harju & Loula 2003, §2): a buffer for
//! real-time (RT) and one for non-real-time (NRT) traffic, and an allowed drop precedence (DP_a) that depends
//! on their occupancy.
//!
//! In the paper DP_a is computed from the occupancy of both buffers, and packets of a lower precedence are
//! dropped before they are buffered. It gives each buffer a size and a weight, and refers to other papers for
//! the rest. Choices made here:
//!
//! - RT is served first (as in Kilkki 1997), each buffer first in, first out.
//! - The weight is that of an exponentially weighted average of the bytes held. Each arrival at the node,
//!   dropped or not, takes a sample of both buffers before it is buffered. Time without arrivals takes no
//!   samples. With weight 1 the average is the current occupancy. This fits the reading that the paper's
//!   weights belong to the meters of the access nodes.
//! - DP_a follows from the averages by a [`PrecedenceMap`], in whole bytes, so a buffer with an average below
//!   one byte counts as empty.

use shortflow_packet::{Dscp, Packet};
use shortflow_units::{Bytes, Instant, Length};

use super::ring::Ring;
use crate::classifier::{DscpTable, SimaClass};
use crate::{Backlog, DropReason, Drops, ParamsError, QueueDiscipline, Queued};

/// How the allowed precedence, 0 to 7, depends on the average occupancies of the two buffers, each from 0 to
/// 1. All maps rise with either. It is not known which one a SIMA network used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PrecedenceMap {
    /// ⌈7 · the larger⌉: precedence 0 passes only while both buffers are empty.
    #[default]
    CeilingOfGreater,
    /// ⌊8 · the larger⌋, at most 7: precedence 0 passes below one eighth.
    FloorOfGreater,
    /// ⌈7 · the mean of both⌉.
    CeilingOfMean,
    /// ⌊8 · the mean of both⌋, at most 7.
    FloorOfMean,
}

/// One of the two buffers.
#[derive(Debug, Clone)]
pub struct SimaBuffer {
    limit: Bytes,
    weight: f64,
    code_points: [Dscp; SimaClass::PRECEDENCES],
}

impl SimaBuffer {
    /// A buffer of `limit`, 1 B to 1 TB; the weight of a sample in its average, above 0 and at most 1;
    /// and the code points of its precedences 0 to 7 ([`SimaClass::code_points`]).
    pub fn new(
        limit: Bytes,
        weight: f64,
        code_points: [Dscp; SimaClass::PRECEDENCES],
    ) -> Result<Self, ParamsError> {
        if limit == Bytes::ZERO || limit > MAX_BYTES {
            let message = format!("limit must be 1 B to {MAX_BYTES}; found {limit}");
            return Err(ParamsError::new("limit", message));
        }
        if !(weight > 0.0 && weight <= 1.0) {
            let message = format!("weight must be above 0 and at most 1; found {weight}");
            return Err(ParamsError::new("weight", message));
        }
        Ok(SimaBuffer { limit, weight, code_points })
    }

    /// The limit.
    pub fn limit(&self) -> Bytes {
        self.limit
    }

    /// The weight of a sample in its average.
    pub fn weight(&self) -> f64 {
        self.weight
    }

    /// The code points of its precedences 0 to 7.
    pub fn code_points(&self) -> &[Dscp] {
        &self.code_points
    }
}

/// With more, the products of [`PrecedenceMap`] would overflow.
const MAX_BYTES: Bytes = Bytes(1_000_000_000_000);

/// Parameters of a [`Sima`] queue.
#[derive(Debug, Clone)]
pub struct SimaQueueParams {
    /// RT, then NRT.
    buffers: [SimaBuffer; 2],
    map: PrecedenceMap,
    place: DscpTable<Place>,
}

/// The class and the precedence of a code point.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Place {
    buffer: usize,
    precedence: u8,
}

impl SimaQueueParams {
    /// The buffers, and the map of the allowed precedence. Each code point may occur only once. Packets with
    /// other code points are non-real-time traffic of precedence 0.
    pub fn new(
        real_time: SimaBuffer,
        non_real_time: SimaBuffer,
        map: PrecedenceMap,
    ) -> Result<Self, ParamsError> {
        let buffers = [real_time, non_real_time];
        let mut named = DscpTable::filled(false);
        let mut place = DscpTable::filled(Place { buffer: NON_REAL_TIME, precedence: 0 });
        for (buffer, SimaBuffer { code_points, .. }) in buffers.iter().enumerate() {
            for (precedence, &dscp) in (0..).zip(code_points) {
                if named.get(dscp) {
                    let message = format!("the code point {dscp} occurs twice in code_points");
                    return Err(ParamsError::new("code_points", message));
                }
                named = named.with(dscp, true);
                place = place.with(dscp, Place { buffer, precedence });
            }
        }
        Ok(SimaQueueParams { buffers, map, place })
    }

    /// The buffer of real-time traffic.
    pub fn real_time(&self) -> &SimaBuffer {
        &self.buffers[0]
    }

    /// The buffer of non-real-time traffic.
    pub fn non_real_time(&self) -> &SimaBuffer {
        &self.buffers[NON_REAL_TIME]
    }

    /// How the allowed precedence depends on the averages.
    pub fn map(&self) -> PrecedenceMap {
        self.map
    }
}

const NON_REAL_TIME: usize = 1;

/// Two buffers behind one test of precedence. A packet whose precedence is below the allowed one is dropped
/// ([`DropReason::Forced`]), and so is one that does not fit into its buffer ([`DropReason::Overlimit`]). RT
/// is served first. O(1) per packet.
#[derive(Debug)]
pub struct Sima {
    params: SimaQueueParams,
    rings: [Ring; 2],
    /// Bytes.
    averages: [f64; 2],
}

impl Sima {
    /// An empty queue.
    pub fn new(params: SimaQueueParams) -> Self {
        let rings = [0, 1].map(|at| Ring::new(Length::Bytes(params.buffers[at].limit)));
        Sima { params, rings, averages: [0.0; 2] }
    }

    /// DP_a.
    pub fn allowed_precedence(&self) -> u8 {
        let [rt, nrt] = self.averages.map(|average| average as u128);
        let [rt_limit, nrt_limit] =
            [0, 1].map(|at: usize| u128::from(self.params.buffers[at].limit.0));
        // Occupancies as fractions with the common denominator `whole`.
        let (rt, nrt, whole) = (rt * nrt_limit, nrt * rt_limit, rt_limit * nrt_limit);
        let allowed = match self.params.map {
            PrecedenceMap::CeilingOfGreater => (7 * rt.max(nrt)).div_ceil(whole),
            PrecedenceMap::FloorOfGreater => 8 * rt.max(nrt) / whole,
            PrecedenceMap::CeilingOfMean => (7 * (rt + nrt)).div_ceil(2 * whole),
            PrecedenceMap::FloorOfMean => 8 * (rt + nrt) / (2 * whole),
        };
        allowed.min(7) as u8
    }
}

impl QueueDiscipline for Sima {
    fn reserve(&mut self, packets: usize, _flows: usize) {
        self.rings.iter_mut().for_each(|ring| ring.reserve(packets));
    }

    #[inline]
    fn enqueue(&mut self, now: Instant, packet: Packet, drops: &mut Drops) {
        for (at, average) in self.averages.iter_mut().enumerate() {
            let held = self.rings[at].backlog().bytes.0 as f64;
            *average += self.params.buffers[at].weight * (held - *average);
        }
        let Place { buffer, precedence } = self.params.place.get(packet.dscp);
        if precedence < self.allowed_precedence() {
            drops.push(packet, DropReason::Forced);
        } else if self.rings[buffer].has_room_for(&packet) {
            self.rings[buffer].push(now, packet);
        } else {
            drops.push(packet, DropReason::Overlimit);
        }
    }

    #[inline]
    fn dequeue(&mut self, _now: Instant, _drops: &mut Drops) -> Option<Queued> {
        let [real_time, other] = &mut self.rings;
        real_time.pop().or_else(|| other.pop())
    }

    #[inline]
    fn ready_at(&self) -> Option<Instant> {
        self.rings.iter().find_map(Ring::ready_at)
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        let [real_time, other] = self.rings.each_ref().map(Ring::backlog);
        Backlog { packets: real_time.packets + other.packets, bytes: real_time.bytes + other.bytes }
    }

    /// Of both buffers together, in bytes.
    fn average(&self) -> Option<f64> {
        Some(self.averages.iter().sum())
    }
}
