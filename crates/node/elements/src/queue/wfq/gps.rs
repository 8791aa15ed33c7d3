//! The fluid server that weighted fair queueing emulates.

use crate::queue::ranking::Ranking;

/// Generalized Processor Sharing: every backlogged flow is served at once, each in proportion to
/// its weight φ_i (Parekh & Gallager 1993, §II).
///
/// Virtual time V is the service of each backlogged flow per unit of weight. It grows by work / Σ φ_i, with
/// the sum over the backlogged flows (eq. 10). A flow is backlogged until V reaches the virtual finish time
/// of its last packet; then the sum loses its weight. This may happen many times in one stretch of work
/// ("iterated deletion", Keshav 1991). Work is in nanobits, so that the work of a line in whole nanoseconds
/// is a whole number. V is in units of 2⁻³² nanobits per unit of weight. The remainder of the division
/// carries over, so no work is lost.
#[derive(Debug)]
pub(super) struct Gps {
    virtual_time: u128,
    /// Backlogged flows by virtual finish time: that of the last packet, or of an earlier one until V reaches
    /// it. An arrival at a backlogged flow is therefore O(1).
    backlogged: Ranking<u128>,
    /// By flow number; valid while the flow is backlogged.
    flows: Vec<Fluid>,
    /// The weights of all backlogged flows.
    weights: u64,
    /// Work done that has not moved V yet: a remainder below one unit, and work on packets that were taken
    /// back.
    remainder: u128,
}

#[derive(Debug, Clone, Copy, Default)]
struct Fluid {
    /// F_i of the last packet.
    finish: u128,
    weight: u64,
}

/// The fractional bits of V.
const FRACTION_BITS: u32 = 32;
const NANOBITS_PER_BYTE: u128 = 8_000_000_000;

/// The virtual time per byte of a flow with this weight: L / φ_i in eq. 11.
pub(super) fn virtual_time_per_byte(weight: u64) -> u128 {
    (NANOBITS_PER_BYTE << FRACTION_BITS) / u128::from(weight)
}

impl Gps {
    pub(super) fn new() -> Self {
        let (virtual_time, remainder) = (0, 0);
        let (backlogged, flows) = (Ranking::new(), Vec::new());
        Gps { virtual_time, backlogged, flows, weights: 0, remainder }
    }

    /// Reserves memory for flows with numbers below `flows`.
    pub(super) fn reserve(&mut self, flows: usize) {
        self.backlogged.reserve(flows);
        self.flows.reserve(flows.saturating_sub(self.flows.len()));
    }

    #[inline]
    pub(super) fn is_backlogged(&self, flow: u32) -> bool {
        self.backlogged.contains(flow)
    }

    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        self.backlogged.first().is_none()
    }

    /// Starts a new busy period with V at zero. Earlier virtual finish times become invalid.
    pub(super) fn restart(&mut self) {
        debug_assert!(self.is_idle(), "a busy period ends when the fluid is gone");
        (self.virtual_time, self.remainder) = (0, 0);
    }

    /// Adds a packet of `flow`, with this `length` in the flow's virtual time, and returns its virtual finish
    /// time: F = max(F of the previous packet, V) + L / φ_i (eq. 11).
    #[inline]
    pub(super) fn arrive(&mut self, flow: u32, weight: u64, length: u128) -> u128 {
        if self.flows.len() <= flow as usize {
            self.flows.resize(flow as usize + 1, Fluid::default());
        }
        let fluid = &mut self.flows[flow as usize];
        if !self.backlogged.contains(flow) {
            *fluid = Fluid { finish: self.virtual_time, weight };
            self.weights += weight;
            self.backlogged.set(flow, self.virtual_time + length);
        }
        fluid.finish += length;
        fluid.finish
    }

    /// Removes the last packet of `flow`, with this `length` in the flow's virtual time and the finish time
    /// `finish`, as if it had not arrived. The fluid server's work on it so far goes to the other flows next,
    /// so that the server never falls behind the line.
    pub(super) fn take_back(&mut self, flow: u32, weight: u64, length: u128, finish: u128) {
        let start = finish - length;
        let done = self.virtual_time.min(finish).saturating_sub(start);
        self.remainder += done * u128::from(weight);
        if !self.backlogged.contains(flow) {
            return;
        }
        if start > self.virtual_time {
            self.flows[flow as usize].finish = start;
            self.backlogged.set(flow, start);
        } else {
            self.backlogged.remove(flow);
            self.weights -= weight;
        }
    }

    /// Serves `work` nanobits, and reports each flow whose backlog ends.
    #[inline]
    pub(super) fn serve(&mut self, work: u128, mut ended: impl FnMut(u32)) {
        let mut work = (work << FRACTION_BITS) + self.remainder;
        while let Some((finish, flow)) = self.backlogged.first() {
            let weights = u128::from(self.weights);
            let until_finish = finish - self.virtual_time;
            let possible = work / weights;
            if possible < until_finish {
                self.virtual_time += possible;
                self.remainder = work - possible * weights;
                return;
            }
            let fluid = self.flows[flow as usize];
            if fluid.finish > finish {
                self.backlogged.set(flow, fluid.finish);
                continue;
            }
            self.virtual_time = finish;
            work -= until_finish * weights;
            self.backlogged.remove(flow);
            self.weights -= fluid.weight;
            ended(flow);
        }
        self.remainder = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `bytes` as work.
    fn work(bytes: u128) -> u128 {
        bytes * NANOBITS_PER_BYTE
    }

    fn arrive(gps: &mut Gps, flow: u32, weight: u64, bytes: u128) {
        gps.arrive(flow, weight, bytes * virtual_time_per_byte(weight));
    }

    fn ended(gps: &mut Gps, work: u128) -> Vec<u32> {
        let mut flows = Vec::new();
        gps.serve(work, |flow| flows.push(flow));
        flows
    }

    #[test]
    fn backlogs_end_one_after_another_within_one_stretch_of_work() {
        let mut gps = Gps::new();
        // 3000 bytes at half the line, 2000 and 400 at a quarter each.
        arrive(&mut gps, 0, 2, 3000);
        arrive(&mut gps, 1, 1, 2000);
        arrive(&mut gps, 2, 1, 400);
        // After 1600 bytes flow 2 is gone and 2200 and 1600 are left, of which flow 0 now has two
        // thirds: its 2200 end after 3300 more.
        assert!(ended(&mut gps, work(1599)).is_empty());
        assert_eq!(ended(&mut gps, work(1)), [2]);
        assert!(ended(&mut gps, work(3299)).is_empty());
        // What flow 1 has left, 500 bytes, it has the line for.
        assert_eq!(ended(&mut gps, work(501)), [0, 1]);
        assert!(gps.is_idle());
    }

    #[test]
    fn what_was_done_of_a_packet_that_is_taken_back_is_done_for_the_others() {
        let mut gps = Gps::new();
        arrive(&mut gps, 0, 1, 1000);
        let length = 1000 * virtual_time_per_byte(1);
        let before = gps.arrive(1, 1, length);
        let last = gps.arrive(1, 1, length);
        // Nothing of the last packet is done: it leaves no trace.
        gps.take_back(1, 1, length, last);
        assert!(ended(&mut gps, work(1000)).is_empty());
        // Half of the packet before is done, and of flow 0 too: 500 bytes are left, of which 500 are
        // done at once.
        gps.take_back(1, 1, length, before);
        assert_eq!(ended(&mut gps, 1), [0]);
        assert!(gps.is_idle());
    }

    #[test]
    fn work_in_slices_comes_to_the_same_as_work_at_once() {
        let mut gps = Gps::new();
        for flow in 0..7 {
            arrive(&mut gps, flow, 3 + u64::from(flow), 1000);
        }
        // 7000 bytes in slices of 7 nanobits less than a byte: no slice divides by the weights.
        let slice = NANOBITS_PER_BYTE - 7;
        let slices = work(7000) / slice;
        (0..slices).for_each(|_| gps.serve(slice, |_| {}));
        assert_eq!(gps.backlogged.first().map(|(_, flow)| flow), Some(0));
        gps.serve(work(7000) - slices * slice, |_| {});
        assert!(gps.is_idle());
    }
}
