//! The Fair Marker in integers, as eBPF programs compute it.

use shortflow_packet::Packet;
use shortflow_units::{Instant, Rng};

use super::FairMarkerParams;
use super::flow_table::FlowTable;
use crate::flow_hash::FlowHash;
use crate::meter::integer_window::{Reading, Window, excess};
use crate::meter::{IntegerTswParams, Pace};
use crate::{Color, Meter, ParamsError};

/// [`FairMarker`](super::FairMarker) with integer windows. A draw is 32 random bits, one per packet.
#[derive(Debug)]
pub struct IntegerFairMarker<D> {
    committed: Pace,
    threshold: u64,
    table: FlowTable,
    green: Window,
    yellow: Window,
    draws: D,
}

impl<D: FnMut() -> u32> IntegerFairMarker<D> {
    /// A marker without flows. The hash of its table has a seed from `rng`.
    ///
    /// # Errors
    /// As for [`IntegerTswParams::two_colors`].
    pub fn new(params: &FairMarkerParams, mut rng: Rng, draws: D) -> Result<Self, ParamsError> {
        let FairMarkerParams { tsw, threshold, table } = params;
        // Two colours have no peak rate.
        let IntegerTswParams { window, committed, peak: _, held } =
            IntegerTswParams::two_colors(tsw)?;
        // The branch of a flow's first packet starts at the initial rate.
        let [green, yellow] = if *threshold == 0 { [0, held] } else { [held, 0] };
        Ok(IntegerFairMarker {
            committed,
            threshold: *threshold,
            table: FlowTable::new(*table, FlowHash::seeded(&mut rng)),
            green: Window::new(window, green),
            yellow: Window::new(window, yellow),
            draws,
        })
    }
}

impl<D: FnMut() -> u32 + Send> Meter for IntegerFairMarker<D> {
    fn reserve(&mut self, flows: usize) {
        self.table.reserve(flows);
    }

    #[inline]
    fn meter(&mut self, now: Instant, packet: &Packet) -> Color {
        let is_early = self.table.count(now, packet.key) < self.threshold;
        let window = if is_early { &mut self.green } else { &mut self.yellow };
        let Reading { all, span } = window.update(now, packet.size);
        let allowance = match is_early {
            true => self.committed.carried(span),
            false => self.green.left(self.committed, now, span),
        };
        let draw = u64::from((self.draws)());
        if draw < excess(all, allowance) { Color::Yellow } else { Color::Green }
    }

    fn counters(&self, visit: &mut dyn FnMut(&'static str, u64)) {
        let stats = self.table.stats();
        visit("flow table hits", stats.hits);
        visit("flow table misses", stats.misses);
        visit("flow table evictions", stats.evictions);
    }
}

#[cfg(test)]
mod tests {
    use shortflow_units::{Bytes, Duration, Rate};

    use super::*;
    use crate::meter::{FairMarker, FlowTableSize, InitialRate, TswParams};
    use crate::test_packet;

    /// Bytes of early and of later packets that left green, of a load that the committed rate does not carry.
    fn green_bytes(mut meter: impl Meter) -> [f64; 2] {
        let mut rng = Rng::stream(7, "packets");
        let (mut now, mut green, mut seen) = (Instant::START, [0.0; 2], [0_u64; 256]);
        for _ in 0..400_000 {
            now += Duration::from_nanos(rng.below(2_000_000));
            let flow = rng.below(256) as u16;
            let mut packet = Packet { size: 40 + rng.below(1461) as u32, ..test_packet() };
            packet.key.src_port = flow;
            let before = &mut seen[usize::from(flow)];
            // A flow begins anew after some 50 packets.
            if rng.below(50) == 0 {
                packet.key.dst_port = packet.key.dst_port.wrapping_add(1);
                *before = 0;
            }
            let is_early = *before < 5;
            *before += 1;
            if meter.meter(now, &packet) == Color::Green {
                green[usize::from(!is_early)] += f64::from(packet.size);
            }
        }
        green
    }

    #[test]
    fn it_lets_as_much_be_green_as_the_marker_with_floating_point_does() {
        let rate = Rate::from_bits_per_sec(4_000_000);
        for table in [0, 30, 300] {
            let tsw = TswParams::new(rate, Duration::from_secs(1), InitialRate::Committed).unwrap();
            let params = FairMarkerParams::new(tsw, 5, FlowTableSize::AtMost(table)).unwrap();
            let mut draws = Rng::stream(1, "draws");
            let whole = IntegerFairMarker::new(&params, Rng::stream(2, "table"), move || {
                draws.below(1 << 32) as u32
            });
            let [early, later] = green_bytes(whole.unwrap());
            let [expected_early, expected_later] =
                green_bytes(FairMarker::new(params, Rng::stream(3, "marker")));
            let is_near = |own: f64, other: f64| {
                (own - other).abs() < 0.02 * (expected_early + expected_later)
            };
            assert!(is_near(early, expected_early), "{table}: {early} {expected_early}");
            assert!(is_near(later, expected_later), "{table}: {later} {expected_later}");
            let bytes = Bytes((early + later) as u64);
            // 400 s at 4 Mbit/s are 200 MB.
            assert!((195_000_000..205_000_000).contains(&bytes.0), "{table}: {bytes}");
        }
    }
}
