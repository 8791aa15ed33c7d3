//! The marker by the sender's state, as it is written.

use schemars::JsonSchema;
use serde::Deserialize;

/// Marks by the state of the sending TCP (Noureddine & Tobagi 2002): packets whose loss would cost
/// their connection much time are green. At a connection's own host only.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TcpStateFile {
    /// The window, in segments, up to which packets are green; 4 by default.
    pub(crate) high: Option<u32>,
    /// The window, in segments, up to which packets are yellow; twice `high` by default.
    pub(crate) medium: Option<u32>,
    /// Whether packets keep the better priority beyond a threshold with probability
    /// threshold/window; false by default.
    #[serde(default)]
    pub(crate) randomized: bool,
    /// Which segments of fast recovery are green: "all" (the default, as published for NewReno) or
    /// "retransmissions" (Reno).
    #[serde(default)]
    pub(crate) fast_recovery: FastRecoveryFile,
}

/// Which segments of fast recovery are green.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum FastRecoveryFile {
    /// All.
    #[default]
    All,
    /// Those that are sent again.
    Retransmissions,
}
