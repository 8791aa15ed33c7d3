//! Droppers: policers, which drop packets by colour, and loss on links. A dropper holds no packets: a packet
//! passes, or goes into [`Drops`].
//!
//! A loss model is a file with its parameters, its state and [`LossModel`], and an entry in each of the two
//! lists here.

mod bernoulli;
mod gilbert_elliott;
mod policer;

use shortflow_packet::Packet;
use shortflow_units::Rng;

use crate::{DropReason, Drops};

pub use bernoulli::Bernoulli;
pub use gilbert_elliott::{GilbertElliott, GilbertElliottParams};
pub use policer::{ColorPolicer, PolicerAction};

/// A model of packet loss on a link.
pub trait LossModel: std::fmt::Debug + Send {
    /// Whether `packet`, the next on the link, is lost. Draws from `rng`.
    fn loses(&mut self, packet: &Packet, rng: &mut Rng) -> bool;
}

/// The loss model of a link with its parameters.
#[derive(Debug, Clone, PartialEq)]
pub enum LossParams {
    /// Independent loss of packets.
    Bernoulli(Box<Bernoulli>),
    /// Loss in bursts.
    GilbertElliott(Box<GilbertElliottParams>),
}

impl LossParams {
    fn model(self, rng: &mut Rng) -> Box<dyn LossModel> {
        match self {
            LossParams::Bernoulli(model) => model,
            LossParams::GilbertElliott(params) => Box::new(GilbertElliott::new(*params, rng)),
        }
    }
}

/// Loss on a link, with its own random stream.
#[derive(Debug)]
pub struct LinkLoss {
    model: Box<dyn LossModel>,
    rng: Rng,
}

impl LinkLoss {
    /// Loses packets by `params`. Draws from `rng`.
    pub fn new(params: LossParams, mut rng: Rng) -> Self {
        LinkLoss { model: params.model(&mut rng), rng }
    }

    /// Returns `packet` if it passes. Otherwise drops it as [`DropReason::LinkLoss`].
    #[inline]
    pub fn pass(&mut self, packet: Packet, drops: &mut Drops) -> Option<Packet> {
        if self.model.loses(&packet, &mut self.rng) {
            drops.push(packet, DropReason::LinkLoss);
            None
        } else {
            Some(packet)
        }
    }
}
