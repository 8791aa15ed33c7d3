//! Reads and checks policies, and builds elements from them. Only this crate knows the names of schemes.
//!
//! A policy says what nodes do to packets, as a set of named roles. It does not depend on a topology: a
//! scenario binds roles to ports, and each bound port gets its own elements.
//!
//! ```
//! use shortflow_policy::PortSite;
//!
//! let text = r#"
//!     [[roles.edge.classes]]
//!     name = "web"
//!     match = { protocol = "tcp", src_port = 80 }
//!     marker.fair-marker = { cir = "6.4 Mbit/s", threshold = 7, table_size = 30 }
//! "#;
//! let policy = shortflow_policy::from_text("edge.toml", text, &[])?;
//! let rate = "10 Mbit/s".parse().expect("a rate");
//! let place = PortSite { name: "r1<-server", seed: 1, rate };
//! let edge = policy.role("edge").expect("the role is there");
//! assert!(edge.conditioner(place).is_some());
//! # Ok::<(), shortflow_text::Diagnostics>(())
//! ```
//!
//! # What this crate does not know
//!
//! Topologies, scenarios and traffic: a scenario binds roles to ports. How a queue or a marker decides: the
//! crate only gives elements their checked parameters. Engines, time and results.

mod build;
mod check;
mod class_rule;
pub mod explain;
mod file;
pub mod keys;
mod load;
mod model;
mod of_plans;
mod scheme;
pub mod schemes;
mod shadows;
mod without_effect;

pub use build::PortSite;
pub use class_rule::{ClassId, ClassRule};
pub use load::{format_keys, from_text, load, load_from, schema};
pub use model::{Asked, Policy, QueueLimit, Role, TrafficClass};
pub use of_plans::{PolicyText, text_of_plans};
pub use schemes::markers::MarkerPlan;
pub use schemes::queues::QueuePlan;
pub use without_effect::WithoutEffect;
