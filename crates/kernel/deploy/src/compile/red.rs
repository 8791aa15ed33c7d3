//! RED of the kernel: thresholds in bytes, and an average whose weight is a power of two.

use shortflow_elements::queue::{AboveMax, EcnMode, RedSettings, Spacing};
use shortflow_policy::keys::RedPlan;
use shortflow_units::Length;

use super::line::FRAME;
use super::{Compiled, Compiler, Refusal};
use crate::kernel::Kind;
use crate::tree::Discipline;

impl Compiler<'_> {
    pub(super) fn red(&mut self, plan: &RedPlan, path: &str) -> Compiled<Discipline> {
        if self.lacks(Kind::Red) {
            return Err(vec![Refusal::of_kernel(path, Kind::Red, "red")]);
        }
        let RedSettings {
            limit,
            weight,
            idle_packet,
            rate: _,
            mean_packet,
            spacing,
            ecn,
            spare_below,
        } = plan.settings();
        let curve = &plan.curves()[0];
        let unknown = [
            (curve.above_max() == AboveMax::Gentle, "gentle = true"),
            (*spacing != Spacing::Uniform, "a spacing other than \"uniform\""),
            (mean_packet.is_some(), "byte_mode = true"),
            (*spare_below > 0, "spare_below above 0"),
        ];
        let refused: Vec<Refusal> = unknown
            .into_iter()
            .filter(|(is_asked, _)| *is_asked)
            .map(|(_, key)| {
                let what = format!("the kernel's red does not support {key}");
                Refusal::of_policy(path, &what, None)
            })
            .collect();
        if !refused.is_empty() {
            return Err(refused);
        }
        let lengths = [*limit, curve.min_threshold(), curve.max_threshold()];
        if lengths.iter().any(|length| matches!(length, Length::Packets(_))) {
            let what = "the kernel's red counts bytes, but its limit and thresholds are in packets";
            let nearest = format!("red, with {FRAME} for each packet");
            self.nearest(Refusal::of_policy(path, what, None), &nearest, ())?;
        }
        let [limit, min, max] = lengths.map(|length| match length {
            Length::Packets(packets) => packets.saturating_mul(FRAME.0),
            Length::Bytes(bytes) => bytes.0,
        });
        let packet = idle_packet.0;
        let log = self.weight_log(*weight, path);
        let Some(burst) = burst_for(log, min, packet) else {
            let what = format!(
                "tc has no burst that gives the average the weight 1/{} with a min_threshold of \
                    {min} bytes",
                1u64 << log
            );
            return Err(vec![Refusal::of_policy(path, &what, Some("raise min_threshold"))]);
        };
        let ecn = match ecn {
            EcnMode::Drop => "",
            EcnMode::Mark => " ecn harddrop",
            EcnMode::MarkAboveMax => " ecn",
        };
        let rate = self.settings.rate.map_or(10_000_000, |rate| rate.bits_per_sec());
        let settings = format!(
            "limit {limit} min {min} max {max} avpkt {packet} burst {burst} bandwidth {rate}bit probability {}{ecn}",
            curve.max_probability()
        );
        Ok(Discipline::plain(Kind::Red, settings))
    }

    /// The power of two that is nearest to one over the weight.
    fn weight_log(&mut self, weight: f64, path: &str) -> u32 {
        let off = |log: &u32| {
            let ratio = weight * (1u64 << log) as f64;
            ratio.max(1.0 / ratio)
        };
        let nearest = (0..32u32).min_by(|a, b| off(a).total_cmp(&off(b)));
        let log = nearest.expect("there are 32 of them");
        if off(&log) != 1.0 {
            self.note(
                path,
                &format!("the average has the weight 1/{} instead of {weight}", 1u64 << log),
            );
        }
        log
    }
}

/// The least burst from which `tc` reckons this weight for the average.
fn burst_for(log: u32, min: u64, packet: u64) -> Option<u64> {
    let least = min.div_ceil(packet).max(1);
    (least..least + 200_000).find(|burst| reckoned(*burst, min, packet) == Some(log))
}

/// What tc(8) takes for the weight's power of two: the first whose average stays below the threshold through a burst
/// after a pause, which is where burst + 1 - min / packet = (1 - (1 - w)^burst) / w (Floyd & Jacobson 1993, §6).
fn reckoned(burst: u64, min: u64, packet: u64) -> Option<u32> {
    let beyond = burst as f64 + 1.0 - min as f64 / packet as f64;
    if beyond < 1.0 {
        return None;
    }
    (1..32).find(|log| {
        let weight = 1.0 / (1u64 << log) as f64;
        beyond <= (1.0 - power(1.0 - weight, burst)) / weight
    })
}

/// A power with a whole exponent, by squaring.
fn power(base: f64, exponent: u64) -> f64 {
    match exponent {
        0 => 1.0,
        odd if odd % 2 == 1 => base * power(base, odd - 1),
        even => {
            let half = power(base, even / 2);
            half * half
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_burst_gives_the_weight_back() {
        for (log, min, packet) in [(9, 30_280, 500), (9, 30_000, 1000), (5, 5_000, 1000)] {
            let burst = burst_for(log, min, packet).unwrap();
            assert_eq!(reckoned(burst, min, packet), Some(log), "{burst}");
            assert!(reckoned(burst - 1, min, packet) != Some(log), "it is the least");
        }
    }
}
