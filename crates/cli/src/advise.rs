//! `advise`.

use std::fs::File;
use std::io::{BufRead, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};

use serde_json::json;
use shortflow_advise::{Flows, LINES, LineKind, Network, Use, read_capture, read_csv};
use shortflow_measure::results::write_whole;
use shortflow_measure::tables::{Cell, Column, Label, Row, Scale, Table as Figures};
use shortflow_measure::{Estimate, Unit};
use shortflow_predict::Prediction;
use shortflow_report::{Table, significant};
use shortflow_run::{OutputFolder, shell_word};
use shortflow_scenario::Overrides;
use shortflow_sim::Simulator;
use shortflow_text::{InputFiles, MOST_TEXT};
use shortflow_tune::{
    Candidate, CandidateFile, Goal, Limit, Offered, Plan, Store, Tuned, candidates, measure,
};
use shortflow_units::Rate;

use crate::advise_args::Advise;
use crate::console::Console;
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
const FACTORS: [f64; 9] = [1.0, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0];

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
        .filter(|(_, text)| args.any || can_be_deployed(text))
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
    if args.json {
        return console.print_json(&advice.json());
    }
    console.print(&advice.in_words(console.color_out, &folder))
}

/// Whether a Linux with all its queues can do what a shipped policy says.
#[cfg(target_os = "linux")]
fn can_be_deployed(text: &str) -> bool {
    use shortflow_deploy::{Kernel, Owners, Settings, compile, compile_edge};
    let Ok(policy) = shortflow_policy::from_text("", text, &[]) else { return false };
    let rate = Some(Rate::from_bits_per_sec(10_000_000));
    let settings = Settings { rate, link_header: 14, kernel: Kernel::default(), nearest: false };
    policy.roles.iter().all(|role| match (role.queues(), &*role.name) {
        (true, "core") => compile(&policy, role, &settings).is_ok(),
        (false, "edge") => compile_edge(&policy, role, &Owners::new()).is_ok(),
        (queues, _) => !queues,
    })
}

/// Elsewhere nothing is deployed, so all are looked at.
#[cfg(not(target_os = "linux"))]
fn can_be_deployed(_: &str) -> bool {
    true
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
    about: Vec<(&'static str, Goal)>,
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
    let goals = vec![goal(network.goal())];
    let is_reference = |one: &&Candidate| REFERENCES.iter().any(|name| is_shipped(one, name));
    let references: Vec<Candidate> =
        [today].into_iter().chain(all.iter().filter(is_reference).cloned()).collect();
    let threads = args.jobs.unwrap_or(0).into();
    let fresh = all[0].scenario().replicas;
    let bar = Bar::new(console);
    let stop =
        stop_on_interrupt().map_err(|error| shortflow_run::Error::Machine(format!("{error:?}")))?;
    let mut narrow = None;
    let mut factors = FACTORS.iter();
    let (limits, tuned) = loop {
        let factor = factors.next();
        let texts = factor.map_or_else(Vec::new, |factor| network.limits(*factor));
        let limit =
            |text: &String| Limit::parse(text, &offered).expect("a limit of what was just written");
        let limits: Vec<Limit> = texts.iter().map(limit).collect();
        let (goals, limits_of) = (&goals[..], &limits[..]);
        let references = &references[..];
        let plan =
            Plan { candidates: all, references, goals, limits: limits_of, fresh, threads, store };
        let tuned = shortflow_tune::tune(&Simulator, &Prediction, &plan, stop, &bar)?;
        if tuned.keeps_limits() || factor.is_none() {
            break (limits, tuned);
        }
        narrow.get_or_insert_with(|| tuned.in_words(goals, limits_of));
    };
    let winner = &all[tuned.winner.expect("where nothing must be kept somebody wins")];
    // From the simplest on: as it is, then plain queues at the gateway.
    let simple = references.iter().find(|one| is_as_good(one, &tuned));
    let advised = simple.unwrap_or(winner).clone();
    let is_today = advised.label == TODAY;
    let shown = shown(&references, &advised, winner);
    let of_uses = network.uses.iter().flat_map(|one| one.figures().iter().copied());
    let own = network.flows.iter().flat_map(Flows::figures);
    let about: Vec<(&str, Goal)> =
        own.chain(of_uses).map(|(text, about)| (about, goal(text))).collect();
    let watched: Vec<Goal> = about.iter().map(|(_, goal)| goal.clone()).collect();
    let plan = Plan {
        candidates: &shown,
        references: &[],
        goals: &watched,
        limits: &[],
        fresh,
        threads,
        store,
    };
    // After all that the search and its confirmation may have used.
    let first = 1000;
    let measured = measure(&Simulator, &plan, first..first + fresh, stop, &bar)?;
    bar.end();
    let figures = shown.iter().zip(&measured).map(|(one, figures)| {
        let found = watched.iter().enumerate().map(|(at, goal)| estimate(figures, at, goal));
        (one.label.clone(), found.collect())
    });
    let figures = figures.collect();
    Ok(Advice { network, goals, limits, tuned, narrow, advised, is_today, about, figures })
}

/// What is shown: the network as it is, what is advised, plain queues, and the winner; each once.
fn shown(references: &[Candidate], advised: &Candidate, winner: &Candidate) -> Vec<Candidate> {
    let mut shown: Vec<Candidate> = vec![references[0].clone()];
    for one in [advised].into_iter().chain(&references[1..]).chain([winner]) {
        if !shown.iter().any(|there| there.label == one.label) {
            shown.push(one.clone());
        }
    }
    shown
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
        let heading = match self.is_today {
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
            "policy": (!self.is_today).then_some(&self.advised.label),
            "keeps_limits": self.narrow.is_none(),
            "goals": self.goals, "limits": self.limits,
            "uses": figures,
            "found": self.tuned,
        })
    }

    fn in_words(&self, ansi: bool, folder: &Path) -> String {
        let Network { up, down, users, line, .. } = self.network;
        let advised = if self.is_today { "leave it as it is" } else { self.advised.label.as_str() };
        let mut told =
            format!("{users} users on {up} up, {down} down ({}): {}\n", line.name, advised);
        if self.is_today {
            told += match self.narrow {
                None => "No policy is surely better than what is there.\n\n",
                Some(_) => {
                    "The line is too slow for what it is asked for, and no policy is surely better than what is there.\n\n"
                }
            };
        } else if let Some(policy) = &self.advised.scenario().policy {
            told += &format!("{}\n\n", policy.description);
        }
        told += &format!("{}\n", Table::set(&self.table()).text(ansi));
        told += &format!(
            "Simulated: {} replicas, {}.\n",
            self.advised.scenario().replicas,
            self.network.simulated()
        );
        told += &self.costs();
        if let Some(narrow) = &self.narrow {
            told += &format!(
                "What calls and their like need is not to be had on this line:\n{narrow}\n{}\n",
                if self.limits.is_empty() {
                    "No policy keeps anything near it."
                } else {
                    "The nearest that some policy keeps:"
                }
            );
        }
        for limit in &self.limits {
            told += &format!("Kept: {}\n", limit.text);
        }
        let best = &self.tuned.confirmed.standings[0].label;
        if *best != self.advised.label {
            told += &format!(
                "{best} comes out first by {}, but not surely before {}, which is simpler.\n",
                self.goals[0].text,
                if self.is_today { "what is there" } else { &self.advised.label }
            );
        }
        let sure = self.tuned.in_words(&self.goals, &self.limits);
        let sure = sure.lines().filter(|line| !line.ends_with(" is kept."));
        let sure =
            sure.skip(usize::from(*best != self.advised.label)).collect::<Vec<_>>().join("\n");
        told += &format!("{sure}\n\n{}", self.next(folder));
        told
    }

    /// What gets surely worse than today: where the intervals do not touch.
    fn costs(&self) -> String {
        let (_, today) = &self.figures[0];
        let advised = self.figures.iter().find(|(label, _)| *label == self.advised.label);
        let Some((_, advised)) = advised.filter(|_| !self.is_today) else { return String::new() };
        let worse = |goal: &Goal, today: &Estimate, advised: &Estimate| {
            let [today, advised] = [today, advised].map(|one| one.scaled(goal.sign()));
            today.high.zip(advised.low).is_some_and(|(today, advised)| advised > today)
        };
        let each = self.about.iter().zip(today.iter().zip(advised));
        each.filter_map(|((about, goal), (today, advised))| {
            let (today, advised) = (today.as_ref()?, advised.as_ref()?);
            worse(goal, today, advised).then(|| {
                let times = significant(advised.mean / today.mean);
                format!("It costs: {about}, {times} times that of today.\n")
            })
        })
        .collect()
    }

    /// A row for each figure, a column for each policy.
    fn table(&self) -> Figures {
        let column = |(label, _): &(String, _)| Column {
            head: label.clone(),
            measure: None,
            scale: Scale::Plain,
        };
        let row = |(at, (about, goal)): (usize, &(&str, Goal))| {
            let (unit, factor) = match goal.unit() {
                Unit::Seconds => ("ms", 1e3),
                Unit::Share => ("%", 1e2),
                _ => ("Mbit/s", 1.0),
            };
            let cell =
                |found: &Option<Estimate>| Cell::figure(found.map(|found| found.scaled(factor)));
            Row {
                labels: vec![Label::Name((*about).to_owned()), Label::from(unit)],
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
            "Read and change what is assumed, and search again, among all policies:\n  \
             shortflow tune {scenario} --for {}{keep}\n",
            self.goals[0].text
        );
        if self.is_today {
            return again;
        }
        let marks = self.policy().contains("roles.edge.classes");
        let role = if marks { "--role edge,core " } else { "" };
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

/// The network, from the arguments and, on a terminal, from answers.
fn network(args: &Advise) -> Result<Network, Failure> {
    let asks = args.up.is_none() || args.down.is_none();
    let can_ask = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    if asks && !can_ask {
        let what = "--up and --down are needed: the rates of the line\n\
                    as in `shortflow advise --up '10 Mbit/s' --down '50 Mbit/s' --users 4 --uses web,voice,backup`";
        return Err(Failure::Input(what.to_owned()));
    }
    let rate = |given: Option<Rate>, question: &str| match given {
        Some(rate) => Ok(rate),
        None => ask(question, "", |text| text.parse::<Rate>().map_err(|error| error.to_string())),
    };
    let down = rate(args.down, "How fast is the line from the provider, as in `50 Mbit/s`?")?;
    let up = rate(args.up, "And towards it, as in `10 Mbit/s`?")?;
    let least = Rate::from_bits_per_sec(64_000);
    if up < least || down < least || up.bits_per_sec().max(down.bits_per_sec()) > 10_000_000_000 {
        return Err(Failure::Input(
            "the line must have 64 kbit/s to 10 Gbit/s in each direction".to_owned(),
        ));
    }
    let users = match args.users {
        None if asks => ask("How many people use it?", "10", |text| {
            text.parse::<u32>()
                .ok()
                .filter(|n| (1..=1000).contains(n))
                .ok_or_else(|| "write a number from 1 to 1000".to_owned())
        })?,
        given => given.unwrap_or(10),
    };
    let flows = args.from.as_ref().map(|path| flows(path)).transpose()?;
    let parse = |text: &str| -> Result<Vec<Use>, String> {
        let mut uses =
            text.split(',').map(|one| Use::parse(one.trim())).collect::<Result<Vec<_>, _>>()?;
        uses.sort_unstable();
        uses.dedup();
        Ok(uses)
    };
    let usual = if flows.is_some() { "voice" } else { "web,voice,backup" };
    let uses = match &args.uses[..] {
        [] if asks => {
            let names = Use::ALL.map(|one| one.row().name).join(", ");
            ask(&format!("What do they do? ({names})"), usual, parse)?
        }
        [] => parse(usual).map_err(Failure::Input)?,
        given => parse(&given.join(",")).map_err(Failure::Input)?,
    };
    let line = match &args.link {
        None if asks => {
            let names: Vec<&str> = LINES.iter().map(|one| one.name).collect();
            ask(&format!("What is the line? ({})", names.join(", ")), "ethernet", LineKind::parse)?
        }
        given => LineKind::parse(given.as_deref().unwrap_or("ethernet")).map_err(Failure::Input)?,
    };
    let name = format!("{users} users, {up} up, {down} down");
    Ok(Network { name, up, down, line, users, uses, flows, sizes: args.sizes })
}

fn flows(path: &Path) -> Result<Flows, Failure> {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let unread = |error: std::io::Error| {
        let how =
            "give CSV with the columns start_s, bytes and direction, or a capture, pcap or pcapng";
        Failure::Input(format!("cannot read {}: {error}\n{how}", path.display()))
    };
    if is_capture(path).map_err(unread)? {
        let file = File::open(path).map_err(unread)?;
        return read_capture(&name, file).map_err(Failure::Input);
    }
    let text = InputFiles::default().read(path, MOST_TEXT).map_err(unread)?;
    read_csv(&name, &text).map_err(Failure::Input)
}

/// Whether a file begins as captures do: in pcapng with a section header, in pcap with one of four numbers.
fn is_capture(path: &Path) -> std::io::Result<bool> {
    if !path.metadata()?.is_file() {
        return Ok(false);
    }
    let mut head = [0; 4];
    let is_long = File::open(path)?.read_exact(&mut head).is_ok();
    let number = u32::from_le_bytes(head);
    const PCAP: [u32; 2] = [0xa1b2_c3d4, 0xa1b2_3c4d];
    let is_pcap = PCAP.contains(&number) || PCAP.contains(&number.swap_bytes());
    Ok(is_long && (number == 0x0a0d_0d0a || is_pcap))
}

/// Asks until an answer is understood; an empty one is the usual.
fn ask<T>(
    question: &str,
    usual: &str,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<T, Failure> {
    let mut lines = std::io::stdin().lock().lines();
    loop {
        let hint = if usual.is_empty() { String::new() } else { format!(" [{usual}]") };
        eprint_now(&format!("{question}{hint} "));
        let Some(Ok(answer)) = lines.next() else {
            return Err(Failure::Input("no answer: the input has ended".to_owned()));
        };
        let answer = if answer.trim().is_empty() { usual } else { answer.trim() };
        match parse(answer) {
            Ok(found) => return Ok(found),
            Err(why) => eprint_now(&format!("{why}\n")),
        }
    }
}

fn eprint_now(text: &str) {
    let mut out = std::io::stderr();
    // Who cannot be asked gives no answer either.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
