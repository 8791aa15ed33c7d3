//! RED of the kernel: thresholds in bytes, and an average whose weight is a power of two.

use shortflow_elements::queue::{AboveMax, DropCurve, EcnMode, Spacing};
use shortflow_policy::keys::RedPlan;
use shortflow_units::Length;

use super::line::FRAME;
use super::{Compiled, Compiler, Refusal};
use crate::kernel::Kind;
use crate::tree::Discipline;

impl Compiler<'_> {
    pub(super) fn red(&mut self, plan: &RedPlan, path: &str) -> Compiled<Discipline> {
        if !self.lacks(Kind::Red) && is_of_kernel(plan) {
            return self.red_of_kernel(plan, path);
        }
        match self.early_red(plan, path)? {
            Some(queue) => Ok(queue),
            None => self.red_of_kernel(plan, path),
        }
    }

    /// The kernel's `red`, or why it is none.
    fn red_of_kernel(&mut self, plan: &RedPlan, path: &str) -> Compiled<Discipline> {
        self.there(Kind::Red, "red", path)?;
        self.refuse_parts_of_red(Kind::Red, plan, path)?;
        let log = self.weight_log(plan.weight(), path);
        let settings = self.curve(Kind::Red, plan, &plan.curves()[0], log, path)?;
        Ok(Discipline::plain(Kind::Red, settings))
    }

    /// What neither `red` nor `gred` of the kernel does, whose average counts bytes.
    pub(super) fn refuse_parts_of_red(
        &mut self,
        kind: Kind,
        plan: &RedPlan,
        path: &str,
    ) -> Compiled<()> {
        let name = kind.name();
        let is_gentle = plan.curves().iter().any(|curve| curve.above_max() == AboveMax::Gentle);
        let unknown = [
            (is_gentle, "gentle = true"),
            (plan.spacing() != Spacing::Uniform, "a spacing other than \"uniform\""),
            (plan.byte_mode(), "byte_mode = true"),
            (plan.spare_below() > 0, "spare_below above 0"),
        ];
        let refused: Vec<Refusal> = unknown
            .into_iter()
            .filter(|(is_asked, _)| *is_asked)
            .map(|(_, key)| {
                let what = format!("the kernel's {name} does not support {key}");
                Refusal::of_policy(path, &what, None)
            })
            .collect();
        if !refused.is_empty() {
            return Err(refused);
        }
        let lengths =
            plan.curves().iter().flat_map(|curve| [curve.min_threshold(), curve.max_threshold()]);
        if lengths.chain([plan.limit()]).any(|length| matches!(length, Length::Packets(_))) {
            let what = format!(
                "the kernel's {name} counts bytes, but its limit and thresholds are in packets"
            );
            let nearest = format!("{name}, with {FRAME} for each packet");
            self.nearest(Refusal::of_policy(path, &what, None), &nearest, ())?;
        }
        Ok(())
    }

    /// A drop curve as tc takes it, where the average has the weight 1/2^`log`.
    pub(super) fn curve(
        &mut self,
        kind: Kind,
        plan: &RedPlan,
        curve: &DropCurve,
        log: u32,
        path: &str,
    ) -> Compiled<String> {
        let lengths = [plan.limit(), curve.min_threshold(), curve.max_threshold()];
        let [limit, min, max] = lengths.map(|length| match length {
            Length::Packets(packets) => packets.saturating_mul(FRAME.0),
            Length::Bytes(bytes) => bytes.0,
        });
        let probability = curve.max_probability();
        if !(probability > 0.0 && probability < 1.0) {
            let what = format!(
                "the kernel's {} needs a max_probability above 0 and below 1; found {probability}",
                kind.name()
            );
            return Err(vec![Refusal::of_policy(path, &what, None)]);
        }
        let packet = plan.mean_packet().0;
        let Some(burst) = burst_for(log, min, packet) else {
            let what = format!(
                "tc has no burst that gives the average the weight 1/{} with a min_threshold of \
                    {min} bytes",
                1u64 << log
            );
            return Err(vec![Refusal::of_policy(path, &what, Some("raise min_threshold"))]);
        };
        let ecn = match plan.ecn() {
            EcnMode::Drop => "",
            EcnMode::Mark => " ecn harddrop",
            EcnMode::MarkAboveMax => " ecn",
        };
        let rate = self.settings.rate.map_or(10_000_000, |rate| rate.bits_per_sec());
        Ok(format!(
            "limit {limit} min {min} max {max} avpkt {packet} burst {burst} bandwidth {rate}bit probability {probability}{ecn}"
        ))
    }

    /// The power of two that is nearest to one over the weight.
    pub(super) fn weight_log(&mut self, weight: f64, path: &str) -> u32 {
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

/// Whether the kernel's `red` has every key, and all its levels what the kernel's `gred` has.
pub(super) fn is_of_kernel(plan: &RedPlan) -> bool {
    let is_plain = |curve: &DropCurve| {
        let probability = curve.max_probability();
        curve.above_max() == AboveMax::Forced && probability > 0.0 && probability < 1.0
    };
    matches!(plan.limit(), Length::Bytes(_))
        && plan.curves().iter().all(|curve| matches!(curve.max_threshold(), Length::Bytes(_)))
        && plan.spacing() == Spacing::Uniform
        && !plan.byte_mode()
        && plan.spare_below() == 0
        && plan.curves().iter().all(is_plain)
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
