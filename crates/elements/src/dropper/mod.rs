//! Droppers: packets refused by colour, packets lost on a link. A dropper holds nothing: a packet
//! passes, or ends in [`Drops`].
//!
//! A loss model is a file with its parameters, a state and [`LossModel`], and a line in each of the two
//! lists here.

mod bernoulli;
mod gilbert_elliott;
mod policer;

use shortflow_units::Rng;

use crate::{DropReason, Drops, Packet};

pub use bernoulli::Bernoulli;
pub use gilbert_elliott::{GilbertElliott, GilbertElliottParams};
pub use policer::{ColorPolicer, PolicerAction};

/// Which packets a link loses.
pub trait LossModel: std::fmt::Debug + Send {
    /// Whether `packet`, the next on the link, is lost; draws from `rng`.
    fn loses(&mut self, packet: &Packet, rng: &mut Rng) -> bool;
}

/// The loss model of a link with its parameters.
#[derive(Debug, Clone, PartialEq)]
pub enum LossParams {
    /// Each packet is lost on its own.
    Bernoulli(Box<Bernoulli>),
    /// Packets are lost in bursts.
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

/// Loss on a link, with a random stream of its own.
#[derive(Debug)]
pub struct LinkLoss {
    model: Box<dyn LossModel>,
    rng: Rng,
}

impl LinkLoss {
    /// Loses packets as `params` say; draws from `rng`.
    pub fn new(params: LossParams, mut rng: Rng) -> Self {
        LinkLoss { model: params.model(&mut rng), rng }
    }

    /// Gives `packet` back when it gets through; else drops it as [`DropReason::LinkLoss`].
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
