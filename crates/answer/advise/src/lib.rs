//! Writes a scenario from a short description of a network; the scenario can be read, run and edited.
//!
//! ```text
//! flags or answers ──▶ Network ──▶ scenario text, a goal, limits ──▶ (tune, elsewhere) ──▶ figures of each use
//! flows.csv, a capture ▶ Flows ┘
//! ```
//!
//! ```
//! use shortflow_advise::{LineKind, Network, Use};
//! use shortflow_units::Rate;
//!
//! let home = Network {
//!     name: "Home".to_owned(),
//!     up: Rate::from_bits_per_sec(10_000_000),
//!     down: Rate::from_bits_per_sec(50_000_000),
//!     line: LineKind::parse("pppoe")?,
//!     users: 4,
//!     uses: vec![Use::Web, Use::Voice, Use::Backup],
//!     flows: None,
//!     sizes: 1.0,
//! };
//! assert_eq!(home.goal(), "p95:pages");
//! assert_eq!(home.limits()[0], "calls_up.delay.p99 <= 58 ms");
//! assert!(home.scenario().contains("[workloads.calls_up.cbr]"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What this crate does not know
//!
//! - **How a scenario is run or searched.** It writes the text; `scenario` checks it, `tune` searches with the engines that it is
//!   given. From what they find it chooses.
//! - **Who asks.** It reads no terminal, and opens no file but one with flows: texts and the bytes of captures come in, texts go out.

mod advice;
mod capture;
mod choice;
mod connections;
mod decapsulate;
mod description;
mod error;
mod flows;
mod flows_file;
mod line;
mod network;
mod prepared;
mod skipped;
mod text;
mod uses;
mod variants;

pub use advice::{Advice, Search, advise};
pub use capture::read_capture;
pub use description::{Description, InvalidNetwork};
pub use error::{FlowsError, UnknownName};
pub use flows::{Direction, Flows, read_csv};
pub use flows_file::{FlowsFileError, read_flows};
pub use line::{LINES, LineKind};
pub use network::{Incoming, LOW_SHARE, Network, Slower};
pub use prepared::{AdviceFiles, Prepared, SCENARIO, WINNER};
pub use skipped::{Inside, Reading, Why};
pub use uses::{Figure, Row, Use};
pub use variants::{Compared, TODAY};
