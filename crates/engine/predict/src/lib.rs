//! Means from closed forms, in milliseconds, and reasons for missing ones.
//!
//! ```text
//! Scenario ─▶ lines, marks ─▶ traffic, load ─▶ network: waits, losses, rates ─▶ summary: visits,
//!                                              └─ long flows, closed loops      datagrams, ports
//!                                                                               └─▶ notes
//! ```
//!
//! Waits, losses, round trips and rates depend on one another, and are solved together as a fixed point. A workload
//! without a closed form is omitted, with its name and the reason: a warning of the results. Each result names its
//! models: notes of the results.
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
//! It has no packets, events or random numbers: it computes. The formulas are in `models`; this crate combines them.
//! It prints nothing and reads no files.

mod answers;
mod band;
mod bundles;
mod crossing;
mod datagrams;
mod demands;
mod doubt;
mod drops;
mod handshake;
mod invariants;
mod joint_loss;
mod lines;
mod load;
mod long_flows;
mod lower_bound;
mod markers;
mod marking;
mod marks;
mod meet;
mod messages;
mod met;
mod network;
mod notes;
mod pages;
mod precedences;
mod prediction_cache;
mod profile;
mod profiles;
mod queues;
mod range;
mod saturation;
mod scenario_keys;
mod service_orders;
mod sizes;
mod slow_start;
mod summary;
mod traffic;
mod unknown;
mod unknown_at_rest;
mod visits;
mod waits;
mod way;
mod within;
mod without_effect;

use shortflow_measure::{Summary, Warning, WorkloadSummary};
use shortflow_run::{Engine, Error, Measured, Observers, Outcome, Refusal, Task};
use shortflow_scenario::{Link, Scenario};

pub use prediction_cache::PredictionCache;
pub use scenario_keys::SCENARIO_KEYS_WITHOUT_EFFECT;
pub use without_effect::WITHOUT_EFFECT;

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

    /// What has no closed form has bounds, with the reason. Rates that change have neither.
    fn check(&self, scenario: &Scenario) -> Result<(), Refusal> {
        let changes = |link: &&Link| {
            [&link.forward, &link.back].into_iter().any(|line| line.rate_over_time.is_some())
        };
        match scenario.links.iter().find(changes) {
            Some(link) => Err(Refusal(format!(
                "closed forms need lines of a constant rate, and that of `links.{}` changes (`rate_over_time`)\n\
                 use `shortflow simulate`",
                link.name
            ))),
            None => Ok(()),
        }
    }

    fn run(&self, task: &Task<'_>, observers: Observers<'_>) -> Result<Outcome, Error> {
        refuse_tap(&observers)?;
        let Predicted { summary, warnings, .. } = predict(task.scenario);
        Ok(Outcome { warnings, ..Measured::Means(Box::new(summary)).into() })
    }
}

/// What is expected in a scenario.
struct Predicted {
    summary: Summary,
    /// What is missing or may be far off, and what it rests on.
    warnings: Vec<Warning>,
    /// Why there is no mean of any workload, if that is so.
    no_mean: Option<Refusal>,
}

impl Predicted {
    /// Why there is neither a mean nor a bound of any workload, if that is so.
    fn nothing(&self) -> Option<&Refusal> {
        let has_figure = |workload: &WorkloadSummary| {
            workload.all.mean.is_some()
                || workload.classes.iter().any(|class| class.mean.is_some())
                || workload.goodput.is_some()
                || workload.datagrams.as_ref().is_some_and(|one| one.delay.is_some())
        };
        self.no_mean.as_ref().filter(|_| !self.summary.workloads.iter().any(has_figure))
    }
}

fn predict(scenario: &Scenario) -> Predicted {
    let readings = service_orders::all(scenario);
    let (network, mut summary, lacking) = service_orders::combined(scenario, readings);
    summary::add_idle_delays(scenario, &mut summary);
    let warnings = notes::rests_on(scenario, &network, &summary, &lacking);
    let whole: Vec<_> = lacking.iter().filter(|lacks| lacks.class.is_none()).collect();
    let no_mean = (whole.len() == scenario.workloads.len()).then(|| {
        let name = |at: usize| &scenario.workloads[at].name;
        let each: String = whole
            .iter()
            .map(|lacks| format!("no closed form for `{}`: {}\n", name(lacks.workload), lacks.why))
            .collect();
        Refusal(each + "use `shortflow simulate`")
    });
    Predicted { summary, warnings, no_mean }
}

fn refuse_tap(observers: &Observers<'_>) -> Result<(), Refusal> {
    let what = "a prediction has no packets to record\nuse `shortflow simulate`";
    if observers.tap.is_some() { Err(Refusal(what.to_owned())) } else { Ok(()) }
}

impl Prediction {
    /// Refuses a scenario in which no workload has a mean, with the reason for each. [`Engine::run`] gives their bounds.
    ///
    /// # Errors
    /// No workload has a closed form.
    pub fn answers(&self, scenario: &Scenario) -> Result<(), Refusal> {
        self.check(scenario)?;
        predict(scenario).no_mean.map_or(Ok(()), Err)
    }
}
