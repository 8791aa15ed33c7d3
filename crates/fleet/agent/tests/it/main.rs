//! The agent's public face.

#![cfg(target_os = "linux")]

mod agents;
mod bad;
mod console;
mod dashboard;
#[cfg(feature = "network")]
mod directory;
#[cfg(feature = "network")]
mod endless_directory;
mod hostile;
#[cfg(feature = "network")]
mod https;
#[cfg(feature = "network")]
mod keys;
mod laws;
mod ldap;
#[cfg(feature = "network")]
mod many;
mod metrics;
mod planning;
mod returns;
mod running;
#[cfg(feature = "network")]
mod schema;
#[cfg(feature = "network")]
mod slapd;
mod store;
#[cfg(feature = "network")]
mod subprocess;
mod support;
mod trials;
