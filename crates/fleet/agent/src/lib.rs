//! The policy agent: distributes policies from one repository to many machines, and checks all of them before it
//! changes a device.
//!
//! ```text
//! a source ── Bundle ──▶ Fleet::check ──▶ Store ──▶ Agent ── Target ──▶ DataPlane
//! (a folder,  texts       who gets what   versions,           the kernel, by `deploy`
//!  a server)              or a mistake    audit log
//! ```
//!
//! Mehra, Tewari & Kandlur 1999, §6: a daemon on each server reads its part of a global repository, translates it
//! into local policies, and installs them in the data plane. A [`Bundle`] holds the repository's texts at one point
//! in time. [`Fleet`] is the checked result. A [`Target`] is the policy of one device. If a bundle has an error, the
//! agent applies none of it: the last good version stays active.
//!
//! # What this crate does not know
//!
//! It does not know what a policy's text means (`policy`), nor how the kernel carries it out (`deploy`). It prints
//! nothing; its caller receives the events.

#![cfg(target_os = "linux")]

mod agent;
mod atomic_file;
mod bundle;
mod change;
mod console;
mod control;
mod daemon;
mod event;
mod fleet;
pub mod ldap;
mod machine;
mod metrics;
mod plane;
mod privileges;
mod rollout;
mod sanitize;
mod source;
mod store;
mod trial;
mod verdict;

pub use agent::{Agent, ResumeError, RollBackError};
pub use bundle::{Bundle, FLEET, Unreadable};
pub use change::{Change, Difference, changes};
pub use console::{Overview, Page};
pub use control::{Ask, AskError, Control, DEFAULT_SOCKET, RequestError, ask, command, watch};
pub use daemon::{Listeners, run};
pub use event::{Event, What};
pub use fleet::{Fleet, Machine, Target, TcpPlace};
pub use machine::{is_machine, this_machine};
pub use metrics::{Metrics, exposition};
pub use plane::{DataPlane, Installed, KernelPlane, StubPlane, Trouble};
pub use privileges::give_up_privileges;
pub use sanitize::sanitize_lines;
#[cfg(feature = "network")]
pub use source::{
    Bind, CertificatesError, Directory, DirectoryOptions, Https, HttpsError, HttpsOptions,
    OptionsError, Transport,
};
pub use source::{
    Fetched, Folder, NotFetched, PublishError, Returns, Source, Subprocess, confine, serve,
};
pub use store::{Repair, Store, StoreError, Version};
pub use verdict::Verdict;
