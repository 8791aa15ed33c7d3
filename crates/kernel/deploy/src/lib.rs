//! A policy's queues on a device of this machine: compiled to tc, applied, observed and removed.
//!
//! ```text
//! Policy ── compile ──▶ Tree ──┐
//!                              ├── converge ──▶ steps (tc commands) ── Tc::apply ──▶ kernel
//! Tc::observe ──▶ Observed ────┘
//! ```
//!
//! [`compile()`] says what of a policy's role Linux can do, and refuses the rest by name. What is to be done on a
//! device follows from what is there and what is wanted, by [`converge()`]; so whatever was interrupted, the next
//! command goes on from it. Both are pure. What is known of a deployment is in the kernel: its handles, and memos
//! among its filters. A file in `/run` says what was deployed if somebody removes all of it.
//!
//! What a device receives is deployed on its ifb device in the same way; [`Received`] leads the packets there.
//!
//! A program of `shortflow-ebpf` at the device's egress handles packets before they are queued: [`compile_edge`]
//! selects it, and [`converge_edge`] attaches it.
//!
//! Plans of customers are a back end of their own, [`PlansDevice`]: a tree of HTB classes, a program that finds each packet's
//! customer, and a record in `/run`.
//!
//! # What this crate does not know
//!
//! It does not know how a marker decides (the program does), nor the text of a policy: it reads checked policies.

#![cfg(target_os = "linux")]

mod bytecode;
mod cgroup;
mod class_probe;
mod commands;
mod compile;
mod converge;
mod deployed;
mod deployed_file;
mod device;
mod device_lock;
mod doctor;
mod earlier;
mod early;
mod edge;
mod environment;
mod error;
mod fingerprint;
mod gateway;
mod ingress;
mod inline_router;
mod kernel;
mod levels;
mod memo;
mod namespace;
mod observe;
mod owner;
mod plans;
#[cfg(feature = "ebpf")]
mod program;
#[cfg(not(feature = "ebpf"))]
#[path = "program_unavailable.rs"]
mod program;
mod queue;
mod queueing;
mod repair;
mod route;
mod run_folder;
mod socket_option;
mod start_remedy;
mod status;
mod tc;
mod tcp;
mod times;
mod tree;
mod trial;
mod wanted;
mod warning;

pub use bytecode::{Choice, Instruction, Program, TooLong, classifier, neighbours};
pub use class_probe::{ClassProbe, Endpoints};
pub use compile::{
    Edge, Past, Refusal, RolesError, Settings, compile, compile_edge, compile_edge_past,
    compile_program, roles_of,
};
pub use converge::{Step, converge};
pub use deployed::{Deployed, Options, quoted};
pub use deployed_file::{forget_deployed, forget_received};
pub use device::{Link, is_plain, link, may_be_device, numbers, own_link, sent};
pub use device_lock::DeviceLock;
pub use doctor::{Finding, Report, examine, examine_kernel};
pub use earlier::EarlierFilters;
pub use early::Early;
pub use edge::{EdgeMemo, EdgeObserved, TcxBefore, converge_edge};
pub use environment::{Environment, Translation};
pub use error::Error;
pub use gateway::{has_queues_of_kernel, refusal};
pub use ingress::Received;
pub use inline_router::{InlineRouter, inline_router};
pub use kernel::{KINDS, Kernel, Kind};
pub use memo::{Instead, Memo, short};
pub use namespace::namespace_id;
pub use observe::{Listings, Observed, Root};
pub use owner::{
    GroupState, LabelError, Labelled, OwnedBy, OwnerError, OwnerText, Owners, any_owners,
    owner_text, owners,
};
pub use plans::{PlansClassStatus, PlansDevice, PlansDone, PlansStatus};
pub use queue::QueueLevel;
pub use queueing::{Queueing, QueueingWay};
pub use repair::Wrong;
pub use route::{Astray, astray};
pub use shortflow_ebpf::TcxProgram;
pub use shortflow_ebpf::edge::{Cost, Effort, Owner};
pub use shortflow_ebpf::profile::{TcpFilter, TcpGrowth, TcpState, TcpWalk};
pub use socket_option::chosen_cgroup;
pub use start_remedy::start_remedy;
pub use status::{BESIDE, ClassSeen, ClassStatus, DeviceStatus, EdgeStatus};
pub use tc::{Applied, Tc};
pub use tcp::{
    TcpAbandoned, TcpDeployment, TcpDone, TcpGrowthMistake, TcpGrowthRule, TcpPlan, TcpRefusal,
    TcpSelection, TcpStatus, abandoned_in_tcp, compile_tcp, matching, parse_network,
    remove_abandoned_in_tcp,
};
pub use tree::{Discipline, Inner, Leaf, Tree};
pub use wanted::{Site, Unwanted, Wanted, has_shaper};
pub use warning::{Warning, tells_receivers};
