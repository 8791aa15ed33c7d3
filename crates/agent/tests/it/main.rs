//! The agent's public face.

#![cfg(target_os = "linux")]

mod agents;
mod bad;
mod ldap;
mod planning;
mod running;
mod schema;
mod slapd;
mod store;
mod support;
