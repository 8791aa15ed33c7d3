//! The policy agent: from one repository to many machines, checked before anything is touched.
//!
//! ```text
//! a source ── Bundle ──▶ Fleet::check ──▶ Store ──▶ Agent ── Target ──▶ DataPlane
//! (a folder,  texts       who gets what   versions,           the kernel, by `deploy`
//!  a server)              or a mistake    audit log
//! ```
//!
//! Mehra, Tewari & Kandlur 1999, §6: a daemon on each server asks a global repository for what concerns it,
//! translates that into local policies, and has the data plane take them on. A [`Bundle`] is the repository's texts at one
//! moment; [`Fleet`] is what they come to, or the mistakes in them; a [`Target`] is what one device is to do. Where
//! a bundle has a mistake nothing of it is taken: the last good version stays.
//!
//! # What this crate does not know
//!
//! What a policy's text means: `policy` does. How the kernel is brought to do it: `deploy` does. It prints nothing;
//! what happens is told to whoever runs it.

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
mod sanitize;
mod source;
mod store;
mod trial;
mod verdict;

pub use agent::{Agent, RollBackError};
pub use bundle::{Bundle, FLEET, Unreadable};
pub use change::{Change, Difference, changes};
pub use console::{Overview, Page};
pub use control::{Ask, AskError, Control, ask, watch};
pub use daemon::{Listeners, run};
pub use event::{Event, What};
pub use fleet::{Fleet, Machine, Target};
pub use machine::{is_machine, this_machine};
pub use metrics::{Metrics, exposition};
pub use plane::{DataPlane, KernelPlane, StubPlane, Trouble};
pub use privileges::give_up_privileges;
pub use sanitize::sanitize_lines;
#[cfg(feature = "network")]
pub use source::{
    Bind, CertificatesError, Directory, DirectoryOptions, Https, HttpsError, HttpsOptions,
    OptionsError, Transport,
};
pub use source::{Fetched, Folder, NotFetched, Returns, Source, Subprocess, confine, serve};
pub use store::{Store, StoreError, Version};
pub use verdict::Verdict;
