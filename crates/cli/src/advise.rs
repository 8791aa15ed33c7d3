//! `advise`.

use std::path::{Path, PathBuf};

use serde_json::json;
use shortflow_advise::Network;
use shortflow_measure::results::write_whole;
use shortflow_measure::tables::{Cell, Column, Label, Row, Scale, Table as Figures};
use shortflow_measure::{Estimate, Unit};
use shortflow_predict::Prediction;
use shortflow_report::Table;
use shortflow_run::{OutputFolder, shell_word};
use shortflow_scenario::Overrides;
use shortflow_sim::Simulator;
use shortflow_text::InputFiles;
use shortflow_tune::{
    Candidate, CandidateFile, Goal, Limit, Offered, Plan, Store, Tuned, candidates, in_unit,
    measure,
};
use shortflow_units::Rate;

use crate::advise_args::Advise;
use crate::advise_asked::network;
use crate::console::Console;
use crate::deployable;
use crate::failure::Failure;
use crate::interrupt::stop_on_interrupt;
use crate::progress::Bar;
use crate::shipped;
use crate::tune::{REFERENCES, ended, give};

/// The files that are written.
const SCENARIO: &str = "scenario.toml";
const POLICY: &str = "winner.toml";

/// What the network as it is is called.
const TODAY: &str = "today";

/// By how much limits are widened, step by step, until some policy keeps them; after the last there are none.
const FACTORS: [f64; 6] = [1.0, 1.25, 1.5, 2.0, 3.0, 5.0];

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
    let folder = output.folder(None)?.path().to_owned();
    let put = |name: &str, text: &str| {
        write_whole(&folder.join(name), |file| file.write_all(text.as_bytes()))
    };
    let named = format!("\npolicy = \"{POLICY}\"\nreplicas = ");
    let text = text.replacen("\nreplicas = ", &named, 1);
    put(SCENARIO, &text).map_err(|error| output.named_finally(error))?;
    put(POLICY, &advice.policy()).map_err(|error| output.named_finally(error))?;
    let told = format!("{:#}\n", advice.json());
    put("tune.json", &told).map_err(|error| output.named_finally(error))?;
    let folder = output.publish()?;
    store.remove();
    match args.json {
        true => console.print_json(&advice.json())?,
        false => console.print(&advice.in_words(console.color_out, &folder))?,
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
struct Advice<'a> {
    network: &'a Network,
    goals: Vec<Goal>,
    limits: Vec<Limit>,
    tuned: Tuned,
    /// What was found of the limits before they were widened, where no policy keeps them.
    narrow: Option<String>,
    /// What is advised: the simplest of those than which the winner is not surely better.
    advised: Candidate,
    /// Whether that is to leave the network as it is.
    is_today: bool,
    /// What is shown of each use, and of what.
    about: Vec<(String, Goal)>,
    /// The figures of the winner and the references, by name.
    figures: Vec<(String, Vec<Option<Estimate>>)>,
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
    let (goals, Within { limits, tuned, narrow }) =
        by_the_first_that_is_measured(network, &offered, &|goals, limits| {
            let plan = Plan { goals, limits, ..plan };
            shortflow_tune::tune(&Simulator, &Prediction, &plan, stop, &bar)
        })?;
    let winner = &all[tuned.winner.expect("where nothing must be kept somebody wins")];
    let shown = shown(&references, winner);
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
    let advised = simplest(&shown, of_winner, &tuned, &|a, b| {
        worse_than(&figures[a].1, &figures[b].1, &about).next().is_some()
    });
    // What is advised stands beside what is there.
    let of_advised = figures.remove(advised);
    figures.insert(advised.min(1), of_advised);
    let advised = shown[advised].clone();
    let is_today = advised.label == TODAY;
    Ok(Advice { network, goals, limits, tuned, narrow, advised, is_today, about, figures })
}

/// Searches by goals, within limits.
type Search<'s> = dyn Fn(&[Goal], &[Limit]) -> Result<Tuned, shortflow_run::Error> + 's;

/// Searches by one goal after the other, until there is one that is measured; where there is none, by the first.
fn by_the_first_that_is_measured(
    network: &Network,
    offered: &[Offered],
    search: &Search<'_>,
) -> Result<(Vec<Goal>, Within), shortflow_run::Error> {
    let mut first = None;
    for text in network.goals() {
        let goal = Goal::parse(&text, offered).expect("a goal of what was just written");
        let goals = vec![goal];
        let within = within_limits(network, offered, &|limits| search(&goals, limits))?;
        if within.tuned.is_measured() {
            return Ok((goals, within));
        }
        first.get_or_insert((goals, within));
    }
    Ok(first.expect("there is a goal"))
}

/// What was found within limits.
struct Within {
    limits: Vec<Limit>,
    tuned: Tuned,
    /// What breaks those that were asked for, where no policy keeps them.
    narrow: Option<String>,
}

/// Searches within the limits, and within wider ones until some policy keeps them.
fn within_limits(
    network: &Network,
    offered: &[Offered],
    search: &dyn Fn(&[Limit]) -> Result<Tuned, shortflow_run::Error>,
) -> Result<Within, shortflow_run::Error> {
    let (mut narrow, mut factors) = (None, FACTORS.iter());
    loop {
        let factor = factors.next();
        let texts = factor.map_or_else(Vec::new, |factor| network.limits(*factor));
        let limit =
            |text: &String| Limit::parse(text, offered).expect("a limit of what was just written");
        let limits: Vec<Limit> = texts.iter().map(limit).collect();
        let tuned = search(&limits)?;
        if tuned.keeps_limits() || factor.is_none() {
            return Ok(Within { limits, tuned, narrow });
        }
        narrow.get_or_insert_with(|| tuned.what_breaks(&limits));
    }
}

/// What is shown: the network as it is, plain queues, and the winner; each once.
fn shown(references: &[Candidate], winner: &Candidate) -> Vec<Candidate> {
    let is_new = !references.iter().any(|one| one.label == winner.label);
    references.iter().chain(is_new.then_some(winner)).cloned().collect()
}

/// What is advised, from the simplest on: as it is, then plain queues at the gateway. It is as good as the winner by the goal,
/// and nobody as good is surely better in something and surely worse in nothing.
fn simplest(
    shown: &[Candidate],
    winner: usize,
    tuned: &Tuned,
    is_worse: &dyn Fn(usize, usize) -> bool,
) -> usize {
    let good: Vec<usize> =
        (0..shown.len()).filter(|at| *at == winner || is_as_good(&shown[*at], tuned)).collect();
    let is_beaten = |at: usize| good.iter().any(|by| is_worse(*by, at) && !is_worse(at, *by));
    good.iter().copied().find(|at| !is_beaten(*at)).unwrap_or(winner)
}

/// By what share a figure is worse before anybody minds.
const MINDED: f64 = 0.1;

/// Which figures are surely worse in the second than in the first, and by so much that it matters: where the intervals do not
/// touch.
fn worse_than<'a>(
    first: &'a [Option<Estimate>],
    second: &'a [Option<Estimate>],
    about: &'a [(String, Goal)],
) -> impl Iterator<Item = usize> + 'a {
    let is_worse = |goal: &Goal, first: &Estimate, second: &Estimate| {
        let [first, second] = [first, second].map(|one| one.scaled(goal.sign()));
        let least = if second.at_least { Some(second.mean) } else { second.low };
        let is_sure = first.high.zip(least).is_some_and(|(first, second)| second > first);
        is_sure && second.mean - first.mean > MINDED * first.mean.abs()
    };
    (0..about.len()).filter(move |at| {
        let both = first[*at].as_ref().zip(second[*at].as_ref());
        both.is_some_and(|(first, second)| is_worse(&about[*at].1, first, second))
    })
}

/// A goal over all replicas; a lower bound where too much was still open at the end of some, for the others are those that
/// waited less.
fn estimate(figures: &[shortflow_tune::Figures], at: usize, goal: &Goal) -> Option<Estimate> {
    let values: Vec<f64> = figures.iter().filter_map(|one| one.goals[at]).collect();
    let found = Estimate::of(&values)?.scaled(goal.sign());
    let is_bound = values.len() < figures.len();
    Some(if is_bound { Estimate { low: None, high: None, at_least: true, ..found } } else { found })
}

/// Whether a candidate is the shipped policy of this name.
fn is_shipped(one: &Candidate, name: &str) -> bool {
    let file = one.scenario().inputs.policy.as_ref().map(|(file, _)| file.as_str());
    file.is_some_and(|file| file.ends_with(&format!("{name}.toml")))
}

/// Whether a candidate was confirmed beside the winner, keeps what the winner keeps, and the winner is not surely better.
fn is_as_good(one: &Candidate, tuned: &Tuned) -> bool {
    let standings = &tuned.confirmed.standings;
    let keeps = standings.iter().any(|standing| standing.label == one.label && standing.keeps);
    let difference = tuned.confirmed.differences.iter().find(|found| found.from == one.label);
    let is_told = |found: &&shortflow_tune::Difference| found.difference.is_some();
    keeps && difference.is_none_or(|found| is_told(&found) && !found.is_surely_better())
}

impl Advice<'_> {
    /// The policy of the scenario as a file: what is advised, or a plain queue where nothing is.
    fn policy(&self) -> String {
        let inputs = &self.advised.scenario().inputs;
        let text = inputs.policy.as_ref().map_or("", |(_, text)| text);
        let heading = match self.is_today || !self.is_advice() {
            true => {
                "Nothing is advised: a plain queue, as the scenario beside it asks for a policy."
            }
            false => "Chosen by `shortflow advise` for the network of scenario.toml beside it.",
        };
        format!("# {heading}\n\n{text}")
    }

    fn json(&self) -> serde_json::Value {
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
                "uses": self.network.uses.iter().map(|one| one.row().name).collect::<Vec<_>>() },
            "simulated": self.network.simulated(),
            "policy": (!self.is_today && self.is_advice()).then_some(&self.advised.label),
            "keeps_limits": self.narrow.is_none(),
            "goals": self.goals, "limits": self.limits,
            "uses": figures,
            "found": self.tuned,
        })
    }

    fn in_words(&self, ansi: bool, folder: &Path) -> String {
        let mut told = self.headline();
        told += &format!("{}\n", Table::set(&self.table()).text(ansi));
        told += &format!(
            "Simulated: {} replicas, {}.\n",
            self.advised.scenario().replicas,
            self.network.simulated()
        );
        if !self.is_advice() {
            return told;
        }
        told += &self.costs();
        if let Some(narrow) = &self.narrow {
            let told_of = match self.limits.is_empty() {
                true => "No policy keeps anything near it.\n",
                false => "So less was asked for, the nearest that some policy keeps.\n",
            };
            told += "What calls and their like need is not to be had on this line:\n";
            told += &format!("{narrow}\n{told_of}");
        }
        told += &self.kept();
        told += &self.beside();
        told + "\n" + &self.next(folder)
    }

    /// Whether enough was measured to say anything.
    fn is_advice(&self) -> bool {
        let is_of_first =
            self.network.goals()[0].ends_with(&format!(":{}", self.goals[0].workload));
        let is_near = self.narrow.is_none() || !self.limits.is_empty();
        self.tuned.is_measured() && (is_near || is_of_first)
    }

    fn headline(&self) -> String {
        let Network { up, down, users, line, .. } = self.network;
        let what = match (self.is_advice(), self.is_today) {
            (false, _) => "no advice",
            (true, true) => "leave it as it is",
            (true, false) => self.advised.label.as_str(),
        };
        let people = if *users == 1 { "1 user".to_owned() } else { format!("{users} users") };
        let why = match (&self.advised.scenario().policy, &self.narrow) {
            _ if !self.is_advice() => format!(
                "So little gets through that {} could not be measured under any policy: the line is too slow for what it is asked for.",
                self.network.goals()[0]
            ),
            (_, None) if self.is_today => "No policy is surely better than what is there.".to_owned(),
            _ if self.is_today => {
                "The line is too slow for what it is asked for, and no policy is surely better than what is there.".to_owned()
            }
            (policy, _) => policy.as_ref().map_or(String::new(), |policy| policy.description.clone()),
        };
        format!("{people} on {up} up, {down} down ({}): {what}\n{why}\n\n", line.name)
    }

    /// What is kept of what was asked for, by what is advised.
    fn kept(&self) -> String {
        let standings = &self.tuned.confirmed.standings;
        let advised = standings.iter().find(|standing| standing.label == self.advised.label);
        let found = advised.map_or(&[][..], |standing| &standing.limits);
        let each = self.limits.iter().zip(found).map(|(limit, found)| {
            let how = match found {
                Some(found) if limit.is_surely_kept_by(found) => "Kept",
                Some(found) if limit.is_kept_by(found.mean) => {
                    "Kept on the average, but not surely"
                }
                Some(_) => "Not kept",
                None => "Too little was measured to tell",
            };
            format!("{how}: {}\n", limit.text)
        });
        each.collect()
    }

    /// How what is advised stands beside the others.
    fn beside(&self) -> String {
        let best = &self.tuned.confirmed.standings[0].label;
        let goal = &self.goals[0].text;
        if *best == self.advised.label {
            let others = self.tuned.beside(&self.goals).map(|(_, told)| told + "\n");
            return format!("{best} comes out first by {goal}.\n{}", others.collect::<String>());
        }
        let simple = if self.is_today { "what is there" } else { &self.advised.label };
        let mut others = self.tuned.beside(&self.goals);
        let told = others.find(|(from, _)| *from == self.advised.label);
        let told = told.map_or(String::new(), |(_, told)| told);
        format!(
            "{best} comes out first by {goal}, but not surely before {simple}, which is simpler or surely better for other uses. {told}\n"
        )
    }

    /// What gets surely worse than today.
    fn costs(&self) -> String {
        let (_, today) = &self.figures[0];
        let advised = self.figures.iter().find(|(label, _)| *label == self.advised.label);
        let Some((_, advised)) = advised.filter(|_| !self.is_today) else { return String::new() };
        let each = worse_than(today, advised, &self.about).filter_map(|at| {
            let (about, goal) = &self.about[at];
            let [before, now] = [today[at]?.mean, advised[at]?.mean];
            let [before, now] = [before, now].map(|value| in_unit(value, goal.unit()));
            Some(format!("It costs: {about}, {now} instead of {before}.\n"))
        });
        each.collect()
    }

    /// A row for each figure, a column for each policy.
    fn table(&self) -> Figures {
        let column = |(label, _): &(String, _)| Column {
            head: label.clone(),
            measure: None,
            scale: Scale::Plain,
        };
        let row = |(at, (about, goal)): (usize, &(String, Goal))| {
            let (unit, factor) = match goal.unit() {
                Unit::Seconds => ("ms", 1e3),
                Unit::Share => ("%", 1e2),
                _ if self.network.parts() > 1 => ("Mbit/s, of that part", 1.0),
                _ => ("Mbit/s", 1.0),
            };
            let cell =
                |found: &Option<Estimate>| Cell::figure(found.map(|found| found.scaled(factor)));
            Row {
                labels: vec![Label::Name(about.clone()), Label::from(unit)],
                cells: self.figures.iter().map(|(_, found)| cell(&found[at])).collect(),
                starts_group: false,
            }
        };
        Figures {
            title: "What each use gets: today, as advised, and otherwise; ± is a 95 % interval"
                .to_owned(),
            labels: vec![String::new(), String::new()],
            columns: self.figures.iter().map(column).collect(),
            rows: self.about.iter().enumerate().map(row).collect(),
            ..Figures::default()
        }
    }

    fn next(&self, folder: &Path) -> String {
        let word = |name: &str| shell_word(folder.join(name).as_os_str());
        let (scenario, policy) = (word(SCENARIO), word(POLICY));
        let share = |rate: Rate| {
            Rate::from_bits_per_sec((rate.bits_per_sec() as f64 * self.network.line.share) as u64)
        };
        let Network { up, down, .. } = *self.network;
        let keep: String =
            self.limits.iter().map(|limit| format!(" \\\n      --keep '{}'", limit.text)).collect();
        let again = format!(
            "Read and change what is assumed, and search again, among all policies, also such as no device can carry:\n  \
             shortflow tune {scenario} --for {}{keep}\n",
            self.goals[0].text
        );
        if self.is_today {
            return again;
        }
        let role = self.advised.scenario().policy.as_deref().map_or("", deployable::roles);
        let deploy = |device: &str, rate: Rate| {
            format!(
                "  sudo shortflow deploy {policy} {role}--dev {device} --rate '{}'\n",
                share(rate)
            )
        };
        format!(
            "{again}\
             Try it with this machine's own TCP, for a minute and a half:\n  \
             sudo shortflow rehearse {scenario} --policy {policy} --replicas 1\n\
             Deploy it at the gateway, towards the provider and towards the users:\n{}{}",
            deploy("WAN", up),
            deploy("LAN", down),
        )
    }
}
