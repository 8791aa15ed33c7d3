//! `advise`.

use std::path::Path;

use shortflow_advise::{AdviceFiles, Prepared, SCENARIO, Search};
use shortflow_predict::Prediction;
use shortflow_run::OutputFolder;
use shortflow_sim::Simulator;
use shortflow_tune::{REFERENCES, Store};

use crate::advise_args::Advise;
use crate::advise_questions::network;
use crate::advise_text::AdviceText;
use crate::console::Console;
use crate::deployable;
use crate::failure::Failure;
use crate::interrupt::stop_on_interrupt;
use crate::progress::Bar;
use crate::tune::ended;

/// `shortflow advise`.
pub(crate) fn advise(console: &Console, args: &Advise) -> Result<(), Failure> {
    let network = network(args)?;
    let on_kernel = |policy: &_| deployable::has_queues_of_kernel(policy);
    let is_deployable: Option<&dyn Fn(&_) -> bool> = (!args.any).then_some(&on_kernel);
    let prepared = Prepared::new(&network, args.seed, is_deployable)?;
    let target = args.out.clone().unwrap_or_else(|| Path::new("results").join("advice"));
    let output = OutputFolder::prepare(&target, args.force)?;
    let store = Store::beside(&target, &Simulator);
    let bar = Bar::new(console);
    let search = Search {
        compared: &prepared.compared,
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
    let AdviceFiles { scenario, policy_file, policy } = prepared.files(&advice);
    put(SCENARIO, &scenario).map_err(|error| output.named_finally(error))?;
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
