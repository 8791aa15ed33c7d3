//! Means from closed forms, in milliseconds, or why there are none.
//!
//! ```text
//! Scenario ─▶ forms: is there one for all of it? ─▶ lines ─▶ settle: waits, losses ─▶ transfers,
//!                   │                                        and long flows          datagrams
//!                   └─▶ "no closed form for …"                                        └─▶ Summary
//! ```
//!
//! Waits, losses, round trips and rates depend on one another, and are found together as a fixed point.
//! Whatever is told comes with what it rests on, as a warning of the results.
//!
//! ```
//! use shortflow_predict::Prediction;
//! use shortflow_run::{Engine, Measured, run_tasks, Task};
//! use shortflow_scenario::{Overrides, from_texts};
//!
//! let text = r#"
//!     duration = "10 s"
//!     hosts = { a = {}, b = {} }
//!     links.line = { between = ["a", "b"], rate = "1 Mbit/s", delay = "1 ms" }
//!     [workloads.packets.poisson]
//!     from = "a"
//!     to = "b"
//!     rate = "100 /s"
//!     size.constant = "1000 B"
//! "#;
//! let loaded = from_texts(&[("line.toml", text)], &Overrides::default())?;
//! let task = Task { scenario: &loaded.points()[0].scenario, replica: 0 };
//! let outcome = run_tasks(&Prediction, &[task], 1, &false.into(), &()).remove(0).unwrap();
//! let Measured::Means(summary) = outcome.measured else { panic!("there are means only") };
//! // 8 ms to send, at a load of 0.8 a wait of 16 ms, 1 ms on the way.
//! let delay = summary.workloads[0].datagrams.as_ref().unwrap().delay.unwrap().mean;
//! assert!((delay - 0.025).abs() < 1e-9);
//! # Ok::<(), shortflow_text::Diagnostics>(())
//! ```
//!
//! # What this crate does not know
//!
//! Packets, events and random numbers: it computes. No formula stands here but how those of `models` are
//! put together; it prints nothing and reads no files.

mod datagrams;
mod forms;
mod lines;
mod long_flows;
mod settle;
mod sizes;
mod summary;
mod transfers;

use shortflow_run::{Engine, Error, Measured, Observers, Outcome, Refusal, Task};
use shortflow_scenario::Scenario;

/// The engine.
#[derive(Debug, Clone, Copy)]
pub struct Prediction;

impl Engine for Prediction {
    fn name(&self) -> &'static str {
        "predict"
    }

    fn identity(&self) -> &str {
        concat!("predict ", env!("CARGO_PKG_VERSION"))
    }

    fn check(&self, scenario: &Scenario) -> Result<(), Refusal> {
        forms::check(scenario)?;
        // What lies outside a model's range shows only when it is worked out, which takes no time.
        settle::settle(scenario).map(|_| ())
    }

    fn run(&self, task: &Task<'_>, observers: Observers<'_>) -> Result<Outcome, Error> {
        if observers.tap.is_some() {
            let what = "there are no packets to look at in a prediction\nsimulate it";
            return Err(Refusal(what.to_owned()).into());
        }
        forms::check(task.scenario)?;
        let network = settle::settle(task.scenario)?;
        let (summary, warnings) = summary::of(task.scenario, &network)?;
        Ok(Outcome { warnings, ..Measured::Means(Box::new(summary)).into() })
    }
}
