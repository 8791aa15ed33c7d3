//! `tune`.

use std::path::Path;

use serde_json::{Value, json};
use shortflow_measure::ScopedWarning;
use shortflow_measure::results::Folder;
use shortflow_predict::Prediction;
use shortflow_report::{Table, warning_mark, wrapped};
use shortflow_run::{
    self as run, Engine, OutputFolder, command_line, refuse_too_large, shell_word,
};
use shortflow_shipped as shipped;
use shortflow_shipped::wrong_file::{self, Given, POLICIES};
use shortflow_sim::Simulator;
use shortflow_tune::{
    Candidate, Candidates, Choices, Goal, Limit, Offered, Plan, Standing, Store, Tuned, Varied,
    assumed_congestion_control, candidates, pareto_figure, policy_text,
};

use crate::console::Console;
use crate::deployable::{self, Deployable, deployable};
use crate::failure::Failure;
use crate::interrupt::stop_on_interrupt;
use crate::progress::Bar;
use crate::simulate::{overrides, target};
use crate::tune_args::Tune;

/// The policy that was chosen.
const WINNER: &str = "winner.toml";

/// `shortflow tune`.
pub(crate) fn tune(console: &Console, args: &Tune) -> Result<(), Failure> {
    let inputs = shipped::inputs();
    let varied = Varied::all(&args.vary)?;
    let overrides = overrides(&args.options, None)?;
    wrong_file::refuse(&inputs, &args.scenario, Given::Scenario { policies: POLICIES })?;
    let choices = Choices {
        inputs: &inputs,
        scenario: &args.scenario,
        policies: &args.policies,
        is_varied: !args.vary.is_empty(),
        overrides: &overrides,
    };
    let files = choices.files()?;
    let mut found = candidates(&inputs, &args.scenario, &files, &varied, &overrides)?;
    let Some(first) = found.all.first() else { return Err(nothing_fits(&found)) };
    let offered = Offered::by(first.scenario());
    let goals = Goal::all(&args.goals, &offered)?;
    let limits = Limit::all(&args.keep, &offered)?;
    found.keep(|one| {
        refuse_too_large(&[&one.loaded], args.options.how.jobs, args.options.how.memory)
    })?;
    found.keep(|one| Simulator.check(one.scenario())).map_err(run::Error::from)?;
    let references = choices.references(&choices.as_set(&files))?;
    let first = &found.all[0];
    let target = target(&args.options, &first.loaded.name, "-tuned");
    let output = OutputFolder::prepare(&target, args.options.how.force)?;
    let store = Store::beside(&target, &Simulator);
    let plan = Plan {
        candidates: &found.all,
        references: &references,
        goals: &goals,
        limits: &limits,
        fresh: first.scenario().replicas,
        threads: args.options.how.jobs.unwrap_or(0).into(),
        store: &store,
    };
    let bar = Bar::new(console);
    let stop = stop_on_interrupt()?;
    let tuned = shortflow_tune::tune(&Simulator, &Prediction, &plan, stop, &bar);
    bar.end();
    let tuned = tuned.map_err(|error| ended(output.by_final_names(error), &store))?;
    let message = TuneReport {
        args,
        found: &found,
        references: &references,
        goals: &goals,
        limits: &limits,
        tuned: &tuned,
        result: tuned.describe(&goals, &limits),
        warnings: found.warnings(&references, &tuned),
    };
    let folder = output.folder(None)?;
    let (winner, found) = (message.winner()?, message.json());
    message
        .write(&folder, winner.as_deref(), &found)
        .map_err(|error| output.named_finally(error))?;
    let folder = output.publish()?;
    store.remove();
    message.show(console, &folder, found)?;
    if tuned.is_kept() { Ok(()) } else { Err(Failure::Check) }
}

/// Why a search has ended before it was done, and what is kept of it.
pub(crate) fn ended(error: run::Error, store: &Store) -> Failure {
    match (error, store.kept()) {
        (run::Error::Interrupted, kept @ 1..) => Failure::Interrupted(format!(
            "interrupted: {kept} finished replicas are kept in {}\nthe same command continues from them",
            store.folder().display()
        )),
        (error, _) => error.into(),
    }
}

fn nothing_fits(found: &Candidates) -> Failure {
    let why: Vec<String> =
        found.left_out.iter().map(|(name, why)| format!("  {name}: {why}")).collect();
    Failure::Input(format!(
        "no policy fits the scenario\n{}\nname one that fits with --policies",
        why.join("\n")
    ))
}

/// What was found, computed once for the terminal, JSON and files.
struct TuneReport<'t> {
    args: &'t Tune,
    found: &'t Candidates,
    references: &'t [Candidate],
    goals: &'t [Goal],
    limits: &'t [Limit],
    tuned: &'t Tuned,
    /// The result in sentences.
    result: String,
    /// Each warning once, with the candidates that it is about.
    warnings: Vec<ScopedWarning>,
}

impl TuneReport<'_> {
    /// Writes what was found into a folder.
    fn write(
        &self,
        folder: &Folder,
        winner: Option<&str>,
        found: &Value,
    ) -> Result<(), shortflow_measure::results::Error> {
        if let Some(text) = winner {
            folder.write_text(WINNER, text)?;
        }
        if let Some(figure) = pareto_figure(self.tuned, self.goals) {
            folder.write_text("front.svg", &figure.svg)?;
        }
        folder.write_text("tune.json", &format!("{found:#}\n"))
    }

    /// The winner as a policy of its own.
    fn winner(&self) -> Result<Option<String>, Failure> {
        let winner = self.tuned.winner.filter(|_| self.tuned.is_measured());
        let winner = winner.map(|at| &self.found.all[at]);
        let text = winner.and_then(|one| one.scenario().inputs.policy.as_ref());
        let Some((winner, (_, text))) = winner.zip(text) else { return Ok(None) };
        let command = command_line(std::env::args_os().skip(1));
        let mut heading = vec![format!("Chosen by `{command}`:")];
        heading.extend(self.result.lines().map(str::to_owned));
        let written = policy_text(text, &winner.set, &heading);
        written.map(Some).map_err(|why| {
            Failure::Input(format!(
                "the winner, {}, cannot be written as a policy of its own: {why}",
                winner.label
            ))
        })
    }

    fn json(&self) -> Value {
        let winner = self.tuned.winner.map(|at| &self.found.all[at]);
        json!({
            "goals": self.goals,
            "limits": self.limits,
            "winner": winner.map(|one| json!({ "label": one.label, "set": one.set })),
            "left_out": self.found.left_out,
            "warnings": self.warnings,
            "assumes": self.assumes(),
            "kept": self.tuned.is_kept(),
            "found": self.tuned,
        })
    }

    fn show(&self, console: &Console, folder: &Path, mut found: Value) -> Result<(), Failure> {
        if self.args.options.how.json {
            found["folder"] = json!(folder);
            return console.print_json(&found);
        }
        let &TuneReport { goals, limits, tuned, .. } = self;
        let set = |table| Table::set(&table).text(console.color_out);
        let prose = |text: &str| wrapped(text, console.columns);
        let mut text = format!("{}\n\n", prose(&self.result));
        for found in &self.warnings {
            let mark = warning_mark(&found.warning, console.color_out);
            text += &prose(&format!("{mark} {found}\n"));
        }
        text += if self.warnings.is_empty() { "" } else { "\n" };
        if !tuned.confirmed.standings.is_empty() {
            text += &format!("{}\n", set(tuned.table(goals, limits)));
        }
        if !self.args.options.how.brief {
            text += &format!("{}\n", set(tuned.search_table(goals, limits)));
            for (name, why) in &self.found.left_out {
                text += &prose(&format!("Omitted: {name}: {why}\n"));
            }
            if let Some(model) = &tuned.model {
                text += &prose(&format!("Closed forms ruled out no candidate: {model}.\n"));
            }
        }
        text += &prose(&self.settings());
        text += &prose(&self.assumes().map_or_else(String::new, |text| text + "\n"));
        console.print(&text)?;
        if folder.join(WINNER).exists() {
            let winner = folder.join(WINNER);
            console.file("Winner", &winner)?;
            console.hint(&self.next(console.columns, &shell_word(winner.as_os_str())))?;
        }
        Ok(())
    }

    /// What is set in the winner.
    fn settings(&self) -> String {
        let winner = self.tuned.winner.map(|at| &self.found.all[at]);
        let Some(winner) = winner.filter(|one| !one.set.is_empty()) else { return String::new() };
        format!("Settings of {}: {}.\n", winner.label, winner.settings())
    }

    /// What the answer assumes of the hosts.
    fn assumes(&self) -> Option<String> {
        assumed_congestion_control(self.found.all.first()?.scenario())
    }

    /// What to type next; where not every device can do what the winner says, who can of those that were confirmed beside it.
    fn next(&self, columns: usize, winner: &str) -> String {
        let policy_of = |label: &str| {
            let mut all = self.found.all.iter().chain(self.references);
            let found = all.find(|one| one.label == label)?;
            Some((found, found.scenario().policy.as_deref()?))
        };
        let standings = &self.tuned.confirmed.standings;
        let Some((found, policy)) = standings.first().and_then(|one| policy_of(&one.label)) else {
            return String::new();
        };
        let roles = deployable::roles(policy);
        let layer = deployable::link_layer(deployable::link_layer_of(found.scenario()));
        let next = format!(
            "Next: shortflow deploy {winner} {roles}--dev DEVICE --rate RATE{layer} --dry-run\n"
        );
        let (next, mut message) = match deployable(policy) {
            Deployable::Anywhere => return next,
            Deployable::WithBpfQdisc => (
                next,
                "It needs a BPF qdisc (Linux 6.16 or newer, CONFIG_NET_SCH_BPF).\n".to_owned(),
            ),
            Deployable::Nowhere(why) => {
                (String::new(), format!("No device can deploy {}: {why}.\n", standings[0].label))
            }
        };
        let others = standings[1..].iter().filter(|one| one.keeps || self.limits.is_empty());
        let can = others.filter(|one| {
            let policy = policy_of(&one.label);
            policy.is_some_and(|(_, policy)| matches!(deployable(policy), Deployable::Anywhere))
        });
        // As it is searched for, less is better.
        let figure = |one: &Standing| one.goals[0].map_or(f64::INFINITY, |found| found.mean);
        message += &match can.min_by(|a, b| figure(a).total_cmp(&figure(b))) {
            Some(one) => format!(
                "Among the candidates that any Linux can deploy {} is first by {}.\n",
                one.label, self.goals[0].text
            ),
            None => {
                "docs/schemes.md lists what can be deployed; name such policies with --policies.\n"
                    .to_owned()
            }
        };
        next + &wrapped(&message, columns)
    }
}
