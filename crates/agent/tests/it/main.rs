//! The agent's public face.

#![cfg(target_os = "linux")]

mod agents;
#[cfg(feature = "ldap")]
mod apart;
mod bad;
#[cfg(feature = "ldap")]
mod directory;
mod ldap;
mod metrics;
mod planning;
mod running;
#[cfg(feature = "ldap")]
mod schema;
#[cfg(feature = "ldap")]
mod slapd;
mod store;
mod support;
