//! Admission control as it is written.

use schemars::JsonSchema;
use serde::Deserialize;
use shortflow_units::{Bytes, Duration, Probability, Rate};

use super::PerFile;

/// Measurement-based admission control (the measured sum of Jamin et al. 1997): a stream is admitted
/// at its first packet if the measured load of the admitted ones and its peak rate fit into the
/// share of the link. Packets of admitted streams are green, those beyond the declared peak yellow,
/// those of refused streams red; `police` may drop them.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AdmissionFile {
    /// The rate of the link that the streams share.
    pub(crate) link: Rate,
    /// The share of the link that admitted streams may have.
    pub(crate) share: Probability,
    /// The peak rate that each stream declares.
    pub(crate) peak: Rate,
    /// The bucket by which each stream is held to its peak; by default none is.
    pub(crate) depth: Option<Bytes>,
    /// The time over which load is averaged, in which a stream should send several packets; 500 ms
    /// by default.
    pub(crate) sample: Option<Duration>,
    /// How many samples are a window, whose highest is the measured load; 10 by default.
    pub(crate) samples: Option<u32>,
    /// What is a stream: a "flow" by default.
    pub(crate) per: Option<PerFile>,
    /// The code point of packets that are admitted.
    pub(crate) admitted: String,
    /// The code point of all other packets; BE by default.
    pub(crate) refused: Option<String>,
}
