//! The agent's public face.

#![cfg(target_os = "linux")]

mod agents;
#[cfg(feature = "network")]
mod apart;
mod bad;
#[cfg(feature = "network")]
mod directory;
#[cfg(feature = "network")]
mod https;
#[cfg(feature = "network")]
mod keys;
mod ldap;
mod metrics;
mod planning;
mod running;
#[cfg(feature = "network")]
mod schema;
#[cfg(feature = "network")]
mod slapd;
mod store;
mod support;
