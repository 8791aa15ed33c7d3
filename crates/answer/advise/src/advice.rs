//! Advice: the simplest policy that is as good as the best one of a search.

use std::sync::atomic::AtomicBool;

use serde_json::json;
use shortflow_measure::{Estimate, Warning};
use shortflow_run::{Engine, Error, Progress};
use shortflow_tune::{
    Candidate, Figures, Goal, Limit, LineFit, Offered, Plan, Store, Tuned, Within,
    assumed_congestion_control, measure, policy_text, scenario_text, tune_within,
};

use crate::choice::{Choice, beyond, is_useless, shown};
use crate::network::{Network, Slower};
use crate::skipped::Reading;
use crate::variants::{Compared, INCOMING_RATE, TODAY, is_at_usual_rate};

/// What was asked, and what came of it.
pub struct Advice<'a> {
    /// The network.
    pub network: &'a Network,
    /// The goals of the search.
    pub goals: Vec<Goal>,
    /// The limits that it kept.
    pub limits: Vec<Limit>,
    /// The result of the search.
    pub tuned: Tuned,
    /// What was found of the limits before they were widened, where no policy keeps them.
    pub narrow: Option<String>,
    /// Whether the current queue keeps the limits before they were widened.
    pub today_keeps: bool,
    /// Why calls and similar traffic are unusable under any policy and today, if so.
    pub useless: Option<String>,
    /// The advice: the simplest policy than which the winner is not significantly better.
    pub advised: Candidate,
    /// Whether that is to leave the network as it is.
    pub is_today: bool,
    /// The warnings about the advised policy.
    pub warnings: Vec<Warning>,
    /// What is shown of each use, and of what.
    pub about: Vec<(String, Goal)>,
    /// The figures of the winner and the references, by name.
    pub figures: Vec<(String, Vec<Option<Estimate>>)>,
}

impl Advice<'_> {
    /// The policy of the scenario as a file: what is advised, or a plain queue where nothing is.
    /// `plain` is the text of the plain queue.
    ///
    /// # Panics
    /// If the policy lacks a parameter that the search has set in it.
    pub fn policy(&self, plain: &str) -> String {
        if !self.has_policy() {
            let why = match self.is_advice() {
                true => "The advice is to leave the network as it is.",
                false => "No advice.",
            };
            return format!(
                "# {why} scenario.toml needs a policy: this one is a plain queue.\n\n{plain}"
            );
        }
        let inputs = &self.advised.scenario().inputs;
        let text = inputs.policy.as_ref().map_or("", |(_, text)| text);
        let heading = "Chosen by `shortflow advise` for the network in scenario.toml.";
        policy_text(text, &self.advised.set, &[heading.to_owned()])
            .expect("parameters of a shipped policy can be set")
    }

    /// The scenario with what the advice sets in it: the incoming rate, and the buffer of the slower direction.
    ///
    /// # Panics
    /// If `text` is not the scenario of the network.
    pub fn scenario(&self, text: &str) -> String {
        if !self.has_policy() {
            return text.to_owned();
        }
        scenario_text(text, &self.advised.set).expect("keys of the scenario can be set in it")
    }

    /// Whether a policy is advised: the advice is neither missing, nor to leave the network as it is.
    pub fn has_policy(&self) -> bool {
        !self.is_today && self.is_advice()
    }

    /// A value that the advice sets in the scenario.
    fn set_in_scenario(&self, key: &str) -> Option<&str> {
        self.advised.set.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }

    /// The smaller buffer in the slower direction, where the advice sets one.
    pub fn slower_buffer(&self) -> Option<(Slower, &str)> {
        let both = [Slower::In, Slower::Out];
        both.into_iter().find_map(|one| Some((one, self.set_in_scenario(one.limit_key())?)))
    }

    /// All of it, for machines.
    pub fn json(&self) -> serde_json::Value {
        let figures: Vec<_> = self
            .figures
            .iter()
            .map(|(label, found)| {
                let each = self.about.iter().zip(found);
                json!({ "policy": label, "figures": each.map(|((about, goal), found)| json!({
                    "what": about, "of": goal.text, "found": found,
                })).collect::<Vec<_>>() })
            })
            .collect();
        json!({
            "network": { "up": self.network.up.to_string(), "down": self.network.down.to_string(),
                "users": self.network.users, "sizes": self.network.sizes, "link": self.network.line.name,
                "link_layer": self.network.line.link_layer,
                "uses": self.network.uses.iter().map(|one| one.row().name).collect::<Vec<_>>() },
            "simulated": self.network.simulated(),
            "capture": self.reading().map(capture_json),
            "settings": self.fit().map(|fit| json!({
                "round_trip_s": fit.round_trip.as_secs_f64(),
                "policy": self.advised.set,
            })),
            "assumes": assumed_congestion_control(self.advised.scenario()),
            "policy": (!self.is_today && self.is_advice()).then_some(&self.advised.label),
            "warnings": self.warnings,
            "keeps_limits": self.narrow.is_none() || (self.is_today && self.today_keeps),
            "today_keeps_limits": self.today_keeps,
            "broken_limits": self.narrow, "unusable": self.useless,
            "goals": self.goals, "limits": self.limits,
            "uses": figures,
            "found": self.tuned,
        })
    }

    /// Whether the gateway is to receive at the lower of the rates that were tried.
    pub fn has_low_rate(&self) -> bool {
        self.set_in_scenario(INCOMING_RATE).is_some()
    }

    /// What became of the packets of the capture, where flows are out of one.
    pub fn reading(&self) -> Option<&Reading> {
        self.network.flows.as_ref()?.reading.as_ref()
    }

    /// What the settings of what is advised follow, where some do.
    pub fn fit(&self) -> Option<LineFit> {
        let has_some = !self.is_today && !self.advised.settings().is_empty();
        LineFit::from_scenario(self.advised.scenario()).filter(|_| has_some)
    }

    /// Whether enough was measured to say anything, and there is a use in it.
    pub fn is_advice(&self) -> bool {
        let is_of_first =
            self.network.goals()[0].ends_with(&format!(":{}", self.goals[0].workload));
        let is_near = self.narrow.is_none() || !self.limits.is_empty();
        self.useless.is_none() && self.tuned.is_measured() && (is_near || is_of_first)
    }
}

/// What advice needs besides the network.
#[derive(Clone, Copy)]
pub struct Search<'s> {
    /// What is compared.
    pub compared: &'s Compared,
    /// The names of the policies that are shown beside the advice.
    pub references: &'s [&'s str],
    /// The engine that measures, and the one that rules out candidates before.
    pub engine: &'s dyn Engine,
    /// Closed forms.
    pub model: &'s dyn Engine,
    /// The number of threads; 0 for one per core.
    pub threads: usize,
    /// Replicas that are finished.
    pub store: &'s Store,
    /// Whether to stop.
    pub stop: &'s AtomicBool,
    /// Who sees how far it is.
    pub progress: &'s dyn Progress,
}

/// Searches, and measures each use under the winner and the references.
///
/// # Errors
/// As [`tune`](shortflow_tune::tune).
pub fn advise<'a>(network: &'a Network, search: &Search<'_>) -> Result<Advice<'a>, Error> {
    let Search { compared, references, engine, model, threads, store, stop, progress } = *search;
    let Compared { candidates: all, today } = compared;
    let offered = Offered::by(all[0].scenario());
    let goal = |text: &str| Goal::parse(text, &offered).expect("a goal of what was just written");
    let is_reference = |one: &&Candidate| references.iter().any(|name| is_shipped(one, name));
    let as_usual = |one: &&Candidate| is_at_usual_rate(one);
    let of_gateway = all.iter().filter(is_reference).filter(as_usual).cloned();
    let references: Vec<Candidate> = [today.clone()].into_iter().chain(of_gateway).collect();
    let fresh = all[0].scenario().replicas;
    let plan = Plan {
        candidates: all,
        references: &references,
        goals: &[],
        limits: &[],
        fresh,
        threads,
        store,
    };
    let asked = parsed(network.limits(), &offered);
    let (goals, Within { limits, tuned, broken: narrow, searched: widest }) =
        by_the_first_that_is_measured(network, &offered, &|goals| {
            let plan = Plan { goals, limits: &asked, ..plan };
            tune_within(engine, model, &plan, stop, progress)
        })?;
    let winner = &all[tuned.winner.expect("a search without limits has a winner")];
    let shown = shown(&references, winner, all, &tuned);
    let about: Vec<(String, Goal)> =
        network.figures().into_iter().map(|(text, about)| (about, goal(&text))).collect();
    let watched: Vec<Goal> = about.iter().map(|(_, goal)| goal.clone()).collect();
    let plan =
        Plan { candidates: &shown, references: &[], goals: &watched, limits: &asked, ..plan };
    // After all that the search and its confirmation may have used.
    let first = 1000;
    let measured = measure(engine, &plan, first..first + fresh, stop, progress)?;
    let mut figures = named(&shown, &measured, &watched);
    let today_keeps = keeps_all(&measured[0], &asked);
    let of_winner = shown.iter().position(|one| one.label == winner.label).expect("it is shown");
    let choice =
        Choice { shown: &shown, figures: &figures, about: &about, goal: &goals[0], asked: &asked };
    let min = parsed(network.minimal_usage(), &offered);
    let useless = limits.is_empty() && is_useless(&choice, &min, &widest);
    let useless =
        useless.then(|| network.what_does_not_fit().unwrap_or_else(|| beyond(&min, &widest)));
    let advised = match useless {
        Some(_) => 0,
        None => choice.simplest(of_winner, &tuned),
    };
    // What is advised stands beside what is there.
    let of_advised = figures.remove(advised);
    figures.insert(advised.min(1), of_advised);
    let advised = shown[advised].clone();
    let is_today = advised.label == TODAY;
    let warnings = advised.warnings_beyond(today);
    Ok(Advice {
        network,
        goals,
        limits,
        tuned,
        narrow,
        today_keeps,
        useless,
        advised,
        is_today,
        warnings,
        about,
        figures,
    })
}

/// The estimates of `goals` under each candidate, with its name.
fn named(
    shown: &[Candidate],
    measured: &[Vec<Figures>],
    goals: &[Goal],
) -> Vec<(String, Vec<Option<Estimate>>)> {
    let estimates = |(one, figures): (&Candidate, &Vec<Figures>)| {
        let found = goals.iter().enumerate().map(|(at, goal)| estimate(figures, at, goal));
        (one.label.clone(), found.collect())
    };
    shown.iter().zip(measured).map(estimates).collect()
}

/// Whether these replicas keep all limits on average; one of which some replica has no figure is not kept.
fn keeps_all(figures: &[Figures], limits: &[Limit]) -> bool {
    limits.iter().enumerate().all(|(at, limit)| {
        let found: Option<Vec<f64>> = figures.iter().map(|one| one.limits[at]).collect();
        let mean = found.and_then(|found| shortflow_measure::mean(&found));
        mean.is_some_and(|mean| limit.is_kept_by(mean))
    })
}

/// Limits of what was just written.
fn parsed(texts: Vec<String>, offered: &[Offered]) -> Vec<Limit> {
    let limit =
        |text: &String| Limit::parse(text, offered).expect("a limit of what was just written");
    texts.iter().map(limit).collect()
}

/// Searches by goals.
type SearchBy<'s> = dyn Fn(&[Goal]) -> Result<Within, Error> + 's;

/// Searches by one goal after the other until one can be measured. If none can, the result is that of the first goal.
fn by_the_first_that_is_measured(
    network: &Network,
    offered: &[Offered],
    search: &SearchBy<'_>,
) -> Result<(Vec<Goal>, Within), Error> {
    let mut first = None;
    for text in network.goals() {
        let goal = Goal::parse(&text, offered).expect("a goal of what was just written");
        let goals = vec![goal];
        let within = search(&goals)?;
        if within.tuned.is_measured() {
            return Ok((goals, within));
        }
        first.get_or_insert((goals, within));
    }
    Ok(first.expect("there is a goal"))
}

/// A goal over all replicas; a lower bound where too much was still open at the end of some, for the others are those that
/// waited less.
fn estimate(figures: &[Figures], at: usize, goal: &Goal) -> Option<Estimate> {
    let values: Vec<f64> = figures.iter().filter_map(|one| one.goals[at]).collect();
    let found = Estimate::from_values(&values)?.scaled(goal.sign());
    let is_bound = values.len() < figures.len();
    Some(if is_bound { Estimate { low: None, high: None, at_least: true, ..found } } else { found })
}

/// Whether a candidate is the shipped policy of this name.
fn is_shipped(one: &Candidate, name: &str) -> bool {
    let file = one.scenario().inputs.policy.as_ref().map(|(file, _)| file.as_str());
    file.is_some_and(|file| file.ends_with(&format!("{name}.toml")))
}

/// What became of the packets of a capture.
fn capture_json(reading: &Reading) -> serde_json::Value {
    let skipped = reading
        .skipped
        .iter()
        .map(|(why, packets)| json!({ "why": why.to_string(), "packets": packets }));
    let inside = reading
        .inside
        .iter()
        .map(|(what, packets)| json!({ "in": what.name(), "packets": packets }));
    json!({
        "packets": reading.packets,
        "skipped": skipped.collect::<Vec<_>>(),
        "decapsulated": inside.collect::<Vec<_>>(),
        "flows_not_ended": reading.open,
        "missing_bytes": reading.missing_bytes,
        "is_cut": reading.is_cut,
    })
}
