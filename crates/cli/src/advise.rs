//! `advise`.

use std::path::{Path, PathBuf};

use shortflow_advise::{Compared, Search};
use shortflow_predict::Prediction;
use shortflow_run::OutputFolder;
use shortflow_scenario::Overrides;
use shortflow_shipped as shipped;
use shortflow_sim::Simulator;
use shortflow_text::InputFiles;
use shortflow_tune::{CandidateFile, REFERENCES, Store, give};

use crate::advise_args::Advise;
use crate::advise_questions::network;
use crate::advise_text::AdviceText;
use crate::console::Console;
use crate::deployable;
use crate::failure::Failure;
use crate::interrupt::stop_on_interrupt;
use crate::progress::Bar;
use crate::tune::ended;

/// The files that are written.
pub(crate) const SCENARIO: &str = "scenario.toml";
pub(crate) const WINNER: &str = "winner.toml";
/// The policy of the scenario where none is advised.
const PLAIN_QUEUE: &str = "plain-queue.toml";

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
    let plain = shipped::policy("best-effort").expect("it is shipped");
    let (plain, plain_text) = (give(&inputs, plain, false), plain.1);
    let compared = Compared::new(&inputs, &path, &network, (&files, &plain), &overrides)?;
    let target = args.out.clone().unwrap_or_else(|| Path::new("results").join("advice"));
    let output = OutputFolder::prepare(&target, args.force)?;
    let store = Store::beside(&target, &Simulator);
    let bar = Bar::new(console);
    let search = Search {
        compared: &compared,
        references: &REFERENCES,
        engine: &Simulator,
        model: &Prediction,
        threads: args.jobs.unwrap_or(0).into(),
        store: &store,
        stop: stop_on_interrupt()?,
        progress: &bar,
    };
    let advice = shortflow_advise::advise(&network, &search)
        .map_err(|error| ended(output.by_final_names(error), &store))?;
    bar.end();
    let folder = output.folder(None)?;
    let put = |name: &str, text: &str| folder.write_text(name, text);
    let policy_file = if advice.has_policy() { WINNER } else { PLAIN_QUEUE };
    let named = format!("\npolicy = \"{policy_file}\"\nreplicas = ");
    let text = text.replacen("\nreplicas = ", &named, 1);
    let text = advice.scenario(&text);
    put(SCENARIO, &text).map_err(|error| output.named_finally(error))?;
    let policy = advice.policy(plain_text);
    put(policy_file, &policy).map_err(|error| output.named_finally(error))?;
    let message = format!("{:#}\n", advice.json());
    put("tune.json", &message).map_err(|error| output.named_finally(error))?;
    let folder = output.publish()?;
    store.remove();
    match args.json {
        true => console.print_json(&advice.json())?,
        false => console.print(&AdviceText(&advice).describe(console, &folder))?,
    }
    if advice.is_advice() { Ok(()) } else { Err(Failure::Check) }
}

/// Policies whose own rate is that of one line: what it is for, `deploy --rate` does.
const OF_ONE_LINE: [&str; 1] = ["shaper"];

/// Whether a shipped policy can be deployed at a gateway of any rate, with the kernel's own queues.
fn fits_a_gateway((path, text): &shipped::Shipped) -> bool {
    let Ok(policy) = shortflow_policy::from_text("", text, &[]) else { return false };
    !OF_ONE_LINE.contains(&shipped::stem(path)) && deployable::has_queues_of_kernel(&policy)
}
