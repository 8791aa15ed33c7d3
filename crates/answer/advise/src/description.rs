//! The few words that describe a network, checked.

use shortflow_units::Rate;

use crate::error::UnknownName;
use crate::flows::Flows;
use crate::line::LineKind;
use crate::network::Network;
use crate::uses::Use;

/// The slowest and the fastest line, in bit/s.
const RATES: (u64, u64) = (64_000, 10_000_000_000);

/// The few words that describe a network.
#[derive(Debug, Clone, PartialEq)]
pub struct Description {
    /// The rate of the line towards the provider.
    pub up: Rate,
    /// The rate from there.
    pub down: Rate,
    /// How many people use it.
    pub users: u32,
    /// What they do, in any order.
    pub uses: Vec<Use>,
    /// The kind of line.
    pub line: LineKind,
    /// Flows of the users' own.
    pub flows: Option<Flows>,
    /// Sizes of pages and films as a multiple of the assumed ones.
    pub sizes: f64,
}

/// The line is too slow or too fast.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the line must have 64 kbit/s to 10 Gbit/s in each direction")]
pub struct InvalidNetwork;

impl Description {
    /// The uses of people whose uses are not given, as [`Use::parse_all`] takes them: beside their own flows, calls.
    pub const fn usual_uses(has_flows: bool) -> &'static str {
        if has_flows { "voice" } else { "web,voice,backup" }
    }

    /// The network.
    ///
    /// # Errors
    /// When the line is too slow or too fast.
    pub fn network(self) -> Result<Network, InvalidNetwork> {
        let Description { up, down, users, mut uses, line, flows, sizes } = self;
        let (min, max) = RATES;
        if [up, down].iter().any(|rate| !(min..=max).contains(&rate.bits_per_sec())) {
            return Err(InvalidNetwork);
        }
        uses.sort_unstable();
        uses.dedup();
        let name = format!("{users} users, {up} up, {down} down");
        Ok(Network { name, up, down, line: line.at(up, down), users, uses, flows, sizes })
    }
}

impl Use {
    /// The uses of these names, separated by commas.
    ///
    /// # Errors
    /// When no use has one of the names.
    pub fn parse_all(text: &str) -> Result<Vec<Use>, UnknownName> {
        text.split(',').map(|one| Use::parse(one.trim())).collect()
    }
}
