//! The binary as a user meets it: what it prints, what it writes, how it ends.

mod advise;
mod agent;
#[cfg(all(feature = "network", target_os = "linux"))]
mod agent_demo;
#[cfg(target_os = "linux")]
mod agent_faults;
mod agent_folder;
#[cfg(all(target_os = "linux", feature = "ebpf"))]
mod agent_inline;
#[cfg(all(target_os = "linux", feature = "ebpf"))]
mod agent_tcp;
mod arguments;
mod check;
mod deploy;
#[cfg(all(target_os = "linux", feature = "ebpf"))]
mod deploy_plans;
mod deploy_received;
mod deploy_removed;
mod deploy_state;
mod deploy_tcp;
mod design;
#[cfg(all(feature = "network", target_os = "linux"))]
mod directory;
mod disk;
mod engines;
mod explain;
#[cfg(all(feature = "network", target_os = "linux"))]
mod https;
#[cfg(all(target_os = "linux", feature = "ebpf"))]
mod inline;
mod inputs;
mod interrupt;
#[cfg(target_os = "linux")]
mod keys;
mod killed;
#[cfg(all(target_os = "linux", feature = "ebpf"))]
mod labels;
#[cfg(target_os = "linux")]
mod mechanisms;
#[cfg(all(target_os = "linux", feature = "ebpf"))]
mod objects;
mod parts;
mod plans;
mod predict;
mod programs;
mod rehearse;
mod replay;
mod reproduce;
mod runs;
mod schemas;
#[cfg(target_os = "linux")]
mod schemes;
#[cfg(all(feature = "network", target_os = "linux"))]
#[path = "../../../fleet/agent/tests/it/slapd.rs"]
mod slapd;
mod support;
mod tables;
mod tracer;
mod traces;
mod tune;
mod unit;
mod verify;
mod warnings;
