//! What starts connections and sends datagrams: the workloads at work.

use std::sync::Arc;

use shortflow_elements::{Dscp, FlowKey};
use shortflow_tcp::Config;
use shortflow_units::{Duration, Instant, Transmission};
use shortflow_workloads as workloads;

use crate::application::{Application, Exchange};
use crate::ports::Ephemeral;
use crate::routes::NodeIndex;

/// A connection to be opened.
pub(crate) struct NewFlow {
    pub(crate) key: FlowKey,
    /// Client and server.
    pub(crate) nodes: [NodeIndex; 2],
    pub(crate) config: Arc<Config>,
    pub(crate) application: Application,
}

/// What a source does when its time has come.
pub(crate) enum Emission {
    /// Opens a connection.
    Open(NewFlow),
    /// Sends a datagram of `size` bytes, headers included.
    Datagram { stream: u32, size: u32 },
}
