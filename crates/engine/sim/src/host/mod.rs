//! Hosts: connections, applications, sessions, and the sources of workloads.

pub(crate) mod application;
pub(crate) mod flow;
pub(crate) mod output;
pub(crate) mod ports;
pub(crate) mod reordering;
pub(crate) mod sender_events;
pub(crate) mod session;
pub(crate) mod source;
