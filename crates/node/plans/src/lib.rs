//! Customers, their plans, and the tree of sites behind which they are.
//!
//! ```text
//! plans.toml ── load ──▶ Plans ──▶ shortflow-deploy: a tree of HTB classes on each device
//! customers.csv ──┘
//!                 └────────────▶ shortflow-policy: a policy with the queue `plans`, for all other engines
//! tables of other tools ── import ──▶ text of plans.toml and customers.csv
//! ```
//!
//! A plan is a rate in each direction, and optionally a part of it that is guaranteed. A customer has addresses, a
//! plan and a site. A site has a rate, which all customers behind it share, and may be behind another site.
//!
//! # What this crate does not know
//!
//! Devices and kernels: `shortflow-deploy` makes classes of a plan. It writes no file.

mod check;
mod csv;
mod customers;
mod file;
mod findings;
mod forecast;
mod hosts;
pub mod import;
mod load;
mod model;
mod prefix;
mod scenario;
mod shares;
mod summary;

pub use file::KEYS;
pub use forecast::{Expected, Parts};
pub use load::{from_text, load_from, schema};
pub use model::{Customer, CustomerQueue, Direction, Plans, Rates, Site};
pub use prefix::{Prefix, PrefixError};
pub use scenario::{BusyScenario, WITHOUT_PLANS};
