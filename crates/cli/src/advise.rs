//! `advise`.

use std::path::{Path, PathBuf};

use shortflow_advise::Network;
use shortflow_measure::Estimate;
use shortflow_predict::Prediction;
use shortflow_run::OutputFolder;
use shortflow_scenario::Overrides;
use shortflow_sim::Simulator;
use shortflow_text::InputFiles;
use shortflow_tune::{
    Candidate, CandidateFile, Goal, Limit, Offered, Plan, Store, Tuned, Within, candidates,
    measure, tune_within,
};

use crate::advise_args::Advise;
use crate::advise_choice::{Choice, beyond, is_useless, shown};
use crate::advise_questions::network;
use crate::console::Console;
use crate::deployable;
use crate::failure::Failure;
use crate::interrupt::stop_on_interrupt;
use crate::progress::Bar;
use crate::shipped;
use crate::tune::{REFERENCES, ended, give};

/// The files that are written.
pub(crate) const SCENARIO: &str = "scenario.toml";
pub(crate) const POLICY: &str = "winner.toml";

/// What the network as it is is called.
pub(crate) const TODAY: &str = "today";

/// `shortflow advise`.
pub(crate) fn advise(console: &Console, args: &Advise) -> Result<(), Failure> {
    let network = network(args)?;
    let text = network.scenario();
    let inputs = InputFiles::default();
    let path = PathBuf::from(SCENARIO);
    inputs.give(&path, &text);
    let set = args.seed.map(|seed| ("seed".to_owned(), seed.to_string()));
    let overrides = Overrides { set: set.into_iter().collect(), ..Overrides::default() };
    let files: Vec<CandidateFile> = shipped::policies()
        .filter(|one| args.any || fits_a_gateway(one))
        .map(|policy| give(&inputs, policy, true))
        .collect();
    let found = candidates(&inputs, &path, &files, &[], &overrides)?;
    let today = today(&inputs, &path, &overrides)?;
    let target = args.out.clone().unwrap_or_else(|| Path::new("results").join("advice"));
    let output = OutputFolder::prepare(&target, args.force)?;
    let store = Store::beside(&target, &Simulator);
    let advice = look(console, args, &network, &found.all, today, &store)
        .map_err(|error| ended(output.by_final_names(error), &store))?;
    let folder = output.folder(None)?;
    let put = |name: &str, text: &str| folder.write_text(name, text);
    let named = format!("\npolicy = \"{POLICY}\"\nreplicas = ");
    let text = text.replacen("\nreplicas = ", &named, 1);
    put(SCENARIO, &text).map_err(|error| output.named_finally(error))?;
    put(POLICY, &advice.policy()).map_err(|error| output.named_finally(error))?;
    let message = format!("{:#}\n", advice.json());
    put("tune.json", &message).map_err(|error| output.named_finally(error))?;
    let folder = output.publish()?;
    store.remove();
    match args.json {
        true => console.print_json(&advice.json())?,
        false => console.print(&advice.describe(console, &folder))?,
    }
    if advice.is_advice() { Ok(()) } else { Err(Failure::Check) }
}

/// Policies whose own rate is that of one line: what it is for, `deploy --rate` does.
const OF_ONE_LINE: [&str; 1] = ["shaper"];

/// Whether a shipped policy can be deployed at a gateway of any rate.
fn fits_a_gateway((path, text): &shipped::Shipped) -> bool {
    let Ok(policy) = shortflow_policy::from_text("", text, &[]) else { return false };
    !OF_ONE_LINE.contains(&shipped::stem(path)) && deployable::why_not(&policy).is_none()
}

/// The network as it is: the gateway sends as fast as it can, and packets wait in the modem and at the provider.
fn today(
    inputs: &InputFiles,
    scenario: &Path,
    overrides: &Overrides,
) -> Result<Candidate, Failure> {
    let set: Vec<(String, String)> = ["links.inside.rate.back", "links.outside.rate.forward"]
        .map(|key| (key.to_owned(), "10 Gbit/s".to_owned()))
        .into();
    let mut these = overrides.clone();
    these.set.extend(set.iter().cloned());
    let plain = shipped::policy("best-effort").map(|policy| give(inputs, policy, false));
    let found = candidates(inputs, scenario, plain.as_slice(), &[], &these)?.all.swap_remove(0);
    Ok(Candidate { label: TODAY.to_owned(), set, ..found })
}

/// What was asked, and what came of it.
pub(crate) struct Advice<'a> {
    pub(crate) network: &'a Network,
    pub(crate) goals: Vec<Goal>,
    pub(crate) limits: Vec<Limit>,
    pub(crate) tuned: Tuned,
    /// What was found of the limits before they were widened, where no policy keeps them.
    pub(crate) narrow: Option<String>,
    /// Why calls and similar traffic are unusable under any policy and today, if so.
    pub(crate) useless: Option<String>,
    /// The advice: the simplest policy than which the winner is not significantly better.
    pub(crate) advised: Candidate,
    /// Whether that is to leave the network as it is.
    pub(crate) is_today: bool,
    /// What is shown of each use, and of what.
    pub(crate) about: Vec<(String, Goal)>,
    /// The figures of the winner and the references, by name.
    pub(crate) figures: Vec<(String, Vec<Option<Estimate>>)>,
}

/// Searches, and measures each use under the winner and the references.
fn look<'a>(
    console: &Console,
    args: &Advise,
    network: &'a Network,
    all: &'a [Candidate],
    today: Candidate,
    store: &Store,
) -> Result<Advice<'a>, shortflow_run::Error> {
    let offered = Offered::by(all[0].scenario());
    let goal = |text: &str| Goal::parse(text, &offered).expect("a goal of what was just written");
    let is_reference = |one: &&Candidate| REFERENCES.iter().any(|name| is_shipped(one, name));
    let references: Vec<Candidate> =
        [today].into_iter().chain(all.iter().filter(is_reference).cloned()).collect();
    let threads = args.jobs.unwrap_or(0).into();
    let fresh = all[0].scenario().replicas;
    let bar = Bar::new(console);
    let stop =
        stop_on_interrupt().map_err(|error| shortflow_run::Error::Machine(format!("{error:?}")))?;
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
            tune_within(&Simulator, &Prediction, &plan, stop, &bar)
        })?;
    let winner = &all[tuned.winner.expect("a search without limits has a winner")];
    let shown = shown(&references, winner, all, &tuned);
    let about: Vec<(String, Goal)> =
        network.figures().into_iter().map(|(text, about)| (about, goal(&text))).collect();
    let watched: Vec<Goal> = about.iter().map(|(_, goal)| goal.clone()).collect();
    let plan = Plan { candidates: &shown, references: &[], goals: &watched, ..plan };
    // After all that the search and its confirmation may have used.
    let first = 1000;
    let measured = measure(&Simulator, &plan, first..first + fresh, stop, &bar)?;
    bar.end();
    let figures = shown.iter().zip(&measured).map(|(one, figures)| {
        let found = watched.iter().enumerate().map(|(at, goal)| estimate(figures, at, goal));
        (one.label.clone(), found.collect())
    });
    let mut figures: Vec<(String, Vec<Option<Estimate>>)> = figures.collect();
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
    Ok(Advice { network, goals, limits, tuned, narrow, useless, advised, is_today, about, figures })
}

/// Limits of what was just written.
fn parsed(texts: Vec<String>, offered: &[Offered]) -> Vec<Limit> {
    let limit =
        |text: &String| Limit::parse(text, offered).expect("a limit of what was just written");
    texts.iter().map(limit).collect()
}

/// Searches by goals.
type Search<'s> = dyn Fn(&[Goal]) -> Result<Within, shortflow_run::Error> + 's;

/// Searches by one goal after the other, until one can be measured; if there is none, by the first.
fn by_the_first_that_is_measured(
    network: &Network,
    offered: &[Offered],
    search: &Search<'_>,
) -> Result<(Vec<Goal>, Within), shortflow_run::Error> {
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
fn estimate(figures: &[shortflow_tune::Figures], at: usize, goal: &Goal) -> Option<Estimate> {
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
