//! Loss in bursts (Gilbert, Bell System Technical Journal 39, 1960; Elliott, the same 42, 1963).

use shortflow_packet::Packet;
use shortflow_units::{Probability, Rng};

use super::LossModel;
use crate::ParamsError;
use crate::classifier::DscpTable;

/// A link with a good and a bad state, a Markov chain with one step per packet. It is bad for a share p/(p +
/// r) of packets. Without loss in the good state and with certain loss in the bad state, that is the loss
/// rate, and a burst has 1/r packets on average.
#[derive(Debug, Clone, PartialEq)]
pub struct GilbertElliottParams {
    to_bad: Probability,
    to_good: Probability,
    loss_good: DscpTable<Probability>,
    loss_bad: DscpTable<Probability>,
}

impl GilbertElliottParams {
    /// `to_bad` is the probability that a good link is bad for the next packet, p in Elliott 1963. `to_good`
    /// is the probability that a bad link becomes good, r. `loss_good` and `loss_bad` are the loss
    /// probabilities in the two states by code point, 1 − k and 1 − h.
    ///
    /// # Errors
    /// If a state is never left.
    pub fn new(
        to_bad: Probability,
        to_good: Probability,
        loss_good: DscpTable<Probability>,
        loss_bad: DscpTable<Probability>,
    ) -> Result<Self, ParamsError> {
        for (name, probability) in [("to_bad", to_bad), ("to_good", to_good)] {
            if probability == Probability::ZERO {
                let message = format!(
                    "{name} must be above 0; found 0, with which the link never leaves a state"
                );
                return Err(ParamsError::new(name, message));
            }
        }
        Ok(GilbertElliottParams { to_bad, to_good, loss_good, loss_bad })
    }

    /// The probability that a good link is bad for the next packet.
    pub fn to_bad(&self) -> Probability {
        self.to_bad
    }

    /// The probability that a bad link is good again for the next packet.
    pub fn to_good(&self) -> Probability {
        self.to_good
    }

    /// The loss probability in the good state, by code point.
    pub fn loss_good(&self) -> &DscpTable<Probability> {
        &self.loss_good
    }

    /// The loss probability in the bad state, by code point.
    pub fn loss_bad(&self) -> &DscpTable<Probability> {
        &self.loss_bad
    }

    /// The share of packets for which the link is bad: p/(p + r).
    pub fn bad_share(&self) -> f64 {
        self.to_bad.value() / (self.to_bad.value() + self.to_good.value())
    }
}

/// The state of a link.
#[derive(Debug)]
pub struct GilbertElliott {
    params: GilbertElliottParams,
    is_bad: bool,
}

impl GilbertElliott {
    /// Starts in a state drawn from `rng` with the stationary probabilities, so that the first packet is like
    /// any other.
    pub fn new(params: GilbertElliottParams, rng: &mut Rng) -> Self {
        let is_bad = rng.bernoulli(params.bad_share());
        GilbertElliott { params, is_bad }
    }
}

impl LossModel for GilbertElliott {
    /// Two draws per packet, in both states.
    #[inline]
    fn loses(&mut self, packet: &Packet, rng: &mut Rng) -> bool {
        let params = &self.params;
        let (loss, leave) = match self.is_bad {
            true => (&params.loss_bad, params.to_good),
            false => (&params.loss_good, params.to_bad),
        };
        let is_lost = rng.chance(loss.get(packet.dscp));
        self.is_bad ^= rng.chance(leave);
        is_lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_packet;
    use shortflow_packet::Dscp;

    fn probability(value: f64) -> Probability {
        Probability::new(value).unwrap()
    }

    fn always(value: f64) -> DscpTable<Probability> {
        DscpTable::filled(probability(value))
    }

    /// Which of a million packets a link loses.
    fn losses(to_bad: f64, to_good: f64, good: f64, bad: DscpTable<Probability>) -> Vec<bool> {
        let (p, r) = (probability(to_bad), probability(to_good));
        let params = GilbertElliottParams::new(p, r, always(good), bad).unwrap();
        let mut rng = Rng::stream(1, "link");
        let mut link = GilbertElliott::new(params, &mut rng);
        let packet = test_packet();
        (0..1_000_000).map(|_| link.loses(&packet, &mut rng)).collect()
    }

    fn share(losses: &[bool]) -> f64 {
        losses.iter().filter(|lost| **lost).count() as f64 / losses.len() as f64
    }

    #[test]
    fn the_share_lost_is_p_over_p_plus_r_and_a_burst_has_1_over_r_packets() {
        // The standard deviation of a share π of n steps is √(π(1−π)/n · (1+λ)/(1−λ)), λ = 1−p−r: here
        // 0.0005. Some 9,600 bursts have lengths of standard deviation √(1−r)/r = 3.5: their mean 0.035.
        let (p, r) = (0.01, 0.25);
        let losses = losses(p, r, 0.0, always(1.0));
        let expected = p / (p + r);
        assert!((share(&losses) - expected).abs() < 0.0025, "{} for {expected}", share(&losses));
        let bursts = losses.windows(2).filter(|pair| !pair[0] && pair[1]).count();
        let mean = losses.iter().filter(|lost| **lost).count() as f64 / bursts as f64;
        assert!((mean - 1.0 / r).abs() < 0.18, "bursts of {mean} packets");
        let between = losses.iter().filter(|lost| !**lost).count() as f64 / bursts as f64;
        // 100 packets on average between bursts, standard deviation of the mean 1.
        assert!((between - 1.0 / p).abs() < 5.1, "{between} packets between bursts");
    }

    #[test]
    fn each_state_loses_its_own_share() {
        let (p, r, good, bad) = (0.02, 0.08, 0.01, 0.5);
        let losses = losses(p, r, good, always(bad));
        let expected = (r * good + p * bad) / (p + r);
        assert!((share(&losses) - expected).abs() < 0.005, "{} for {expected}", share(&losses));
    }

    #[test]
    fn where_p_and_r_add_up_to_one_packets_are_lost_independently() {
        let losses = losses(0.1, 0.9, 0.0, always(1.0));
        let after_loss = losses.windows(2).filter(|pair| pair[0]).map(|pair| pair[1]);
        let (lost, all) =
            after_loss.fold((0, 0), |(lost, all), next| (lost + i32::from(next), all + 1));
        // 100,000 losses; five standard deviations are 0.005.
        assert!((f64::from(lost) / f64::from(all) - 0.1).abs() < 0.005, "{lost} of {all}");
    }

    #[test]
    fn a_code_point_may_be_spared_in_a_burst() {
        let bad = always(1.0).with(Dscp::BEST_EFFORT, Probability::ZERO);
        assert_eq!(share(&losses(0.01, 0.25, 0.0, bad)), 0.0, "the packet has best effort");
    }

    #[test]
    fn a_state_that_is_never_left_is_refused() {
        let of = |p, r| {
            GilbertElliottParams::new(probability(p), probability(r), always(0.0), always(1.0))
        };
        assert_eq!(of(0.0, 0.5).unwrap_err().parameter(), "to_bad");
        assert_eq!(of(0.5, 0.0).unwrap_err().parameter(), "to_good");
    }
}
