//! Finds the policy, with its settings, that serves a scenario best: goals, limits, candidates, a search, and a
//! confirmation.
//!
//! ```text
//! "p99:web" ───────────────────▶ Goal ──────┐
//! "voice.delay.p99 <= 30 ms" ──▶ Limit ─────┼─▶ search: halving ─▶ the best two ─▶ confirm, on fresh seeds
//! policies × values ───────────▶ Candidate ─┘                                  └─▶ the winner's text
//! ```
//!
//! All candidates run with the same seeds, so that common effects cancel out. Candidates far from the best are
//! dropped after few replicas (successive halving: Jamieson & Talwalkar 2016); those that significantly break a limit
//! are dropped at once. The minimum of many figures is biased, because luck helped it to become the minimum. So the
//! winner is measured again, next to others, with fresh seeds.
//!
//! ```
//! use shortflow_scenario::{Overrides, from_texts};
//! use shortflow_tune::{Limit, Offered};
//!
//! let text = r#"
//!     duration = "10 s"
//!     hosts = { a = {}, b = {} }
//!     links.line = { between = ["a", "b"], rate = "1 Mbit/s", delay = "5 ms" }
//!     workloads.voice.cbr = { from = "a", to = "b", rate = "80 kbit/s", packet = "200 B" }
//! "#;
//! let loaded = from_texts(&[("line.toml", text)], &Overrides::default()).unwrap();
//! let workloads = Offered::by(&loaded.points()[0].scenario);
//! let limit = Limit::parse("voice.delay.p99 <= 30 ms", &workloads)?;
//! assert_eq!((limit.workload.as_str(), limit.bound), ("voice", 0.03));
//! let error = Limit::parse("vioce.delay.p99 <= 30 ms", &workloads).unwrap_err();
//! assert_eq!(error.help, "did you mean `voice`? workloads: `voice`");
//! let error = Limit::parse("voice.goodput >= 1 Mbit/s", &workloads).unwrap_err();
//! assert_eq!(error.what, "`voice` has no measure `goodput` to limit");
//! # Ok::<(), shortflow_tune::OptionError>(())
//! ```
//!
//! # What this crate does not know
//!
//! It does not know how an engine works: it is given one that makes replicas, and one that has closed forms. It
//! prints nothing; it writes only the replicas from which an interrupted search continues.

mod assumptions;
mod by_engine;
mod candidates;
mod choices;
mod confirm;
mod equal_load;
mod goals;
mod line_fit;
mod nearest;
mod offered;
mod option_error;
mod pareto_front;
mod report;
mod search;
mod store;
mod synonyms;
mod tune;
mod vary;
mod winner;

pub use assumptions::assumed_congestion_control;
pub use candidates::{Candidate, CandidateFile, Candidates, candidates};
pub use choices::{ChoiceError, Choices, REFERENCES, give};
pub use confirm::{Confirmation, Difference, Standing, confirm};
pub use goals::{Goal, Limit};
pub use line_fit::{LineFit, parameter};
pub use nearest::{Within, tune_within};
pub use offered::Offered;
pub use option_error::OptionError;
pub use pareto_front::pareto_figure;
pub use report::in_unit;
pub use search::{Figures, Found, MIN_REPLICAS, Measuring, replicas_needed, search};
pub use store::Store;
pub use tune::{Dropped, Plan, Searched, Tuned, measure, tune};
pub use vary::{Varied, combinations};
pub use winner::{WinnerError, policy_text, scenario_text};
