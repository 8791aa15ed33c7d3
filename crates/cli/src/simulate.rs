//! `simulate`, `predict` and `compare`, and the code that they share with `rehearse`.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde_json::{Value, json};
use shortflow_measure::View;
use shortflow_measure::results::{self, REPORT};
use shortflow_predict::{Prediction, PredictionCache};
use shortflow_report::{self as report, brief, text};
use shortflow_run::{Case, Engine, OutputFolder, folder_name};
use shortflow_scenario::{Loaded, Overrides, load_from};
use shortflow_shipped as shipped;
use shortflow_shipped::wrong_file::{self, Given, POLICIES};
use shortflow_sim::Simulator;
use shortflow_text::InputFiles;
use shortflow_trace::Request;

use crate::args::{Compare, EngineName, Predict, RunOne, RunOptions, Simulate, TraceOptions};
use crate::conduct::{Looking, conduct};
use crate::console::Console;
use crate::failure::Failure;
use crate::rehearse::rehearsal_over_ipv4;
use crate::replica_args::ReplicaOptions;
use crate::replicas::Selection;

/// The option that takes one policy.
const POLICY: &str = "--policy";

/// `shortflow simulate`.
pub(crate) fn simulate(console: &Console, args: &Simulate) -> Result<(), Failure> {
    let RunOne { scenario, policy, options } = &args.run;
    let inputs = shipped::inputs();
    let case = case(&inputs, &Simulator, scenario, policy.as_deref(), options, &[])?;
    let target = target(options, &case.loaded.name, "");
    let trace = request(console, &args.trace, &case.loaded)?;
    let selection = selection(&args.replicas, &case.loaded, trace.as_ref())?;
    let tcp_info = args.tcp.tcp_info;
    let looking = Looking { trace: trace.as_ref(), selection, tcp_info, ..Looking::default() };
    conduct(console, &options.how, &[case], looking, &target)
}

/// Which replicas run, of those that a trace may see.
pub(crate) fn selection(
    args: &ReplicaOptions,
    loaded: &Loaded,
    trace: Option<&Request>,
) -> Result<Selection, Failure> {
    if trace.is_some() && args.resume {
        let what =
            "--resume runs only what is missing, so --trace may see nothing\nomit one of the two";
        return Err(Failure::Input(what.to_owned()));
    }
    Selection::new(args, loaded)
}

/// `shortflow predict`.
pub(crate) fn predict(console: &Console, args: &Predict) -> Result<(), Failure> {
    let RunOne { scenario, policy, options } = &args.run;
    let inputs = shipped::inputs();
    // Means are the same in each replica.
    let set: &[(&str, &str)] = if options.replicas.is_some() { &[] } else { &[("replicas", "1")] };
    let case = case(&inputs, &Prediction, scenario, policy.as_deref(), options, set)?;
    // Where one point of a sweep has an answer, the others say why they have none.
    let points = case.loaded.points().iter().map(|point| &point.scenario);
    let predictions = PredictionCache::new(points);
    predictions.answers().map_err(|refused| Failure::Input(refused.to_string()))?;
    let case = Case { engine: &predictions, ..case };
    let target = target(options, &case.loaded.name, "-predicted");
    conduct(console, &options.how, &[case], Looking::default(), &target)
}

/// The capture that is asked for, if one is.
pub(crate) fn request(
    console: &Console,
    options: &TraceOptions,
    loaded: &Loaded,
) -> Result<Option<Request>, Failure> {
    let request = |file: &PathBuf| Request::new(file, &options.trace_at, loaded);
    let trace = options.trace.as_ref().map(request).transpose()?;
    if let Some(note) = trace.as_ref().and_then(|trace| trace.note.as_ref()) {
        console.note(note);
    }
    Ok(trace)
}

/// `shortflow compare`.
pub(crate) fn compare(console: &Console, args: &Compare) -> Result<(), Failure> {
    let Compare { scenario, policies, options, .. } = args;
    let inputs = shipped::inputs();
    if let Some(folder) = policies.iter().find(|path| path.is_dir()) {
        wrong_file::refuse(&inputs, folder, Given::PolicyOf(POLICIES))?;
    }
    check_compared(args)?;
    refuse_others(&inputs, scenario, policies)?;
    let engines = args.engines.iter().map(|name| engine(*name)).collect::<Result<Vec<_>, _>>()?;
    let case = |policy: Option<&Path>| case(&inputs, engines[0], scenario, policy, options, &[]);
    let cases = match &policies[..] {
        [] => vec![case(None)?],
        several => several.iter().map(|policy| case(Some(policy))).collect::<Result<_, _>>()?,
    };
    let places: Vec<String> = policies.iter().map(|policy| policy.display().to_string()).collect();
    let cases = match &cases[..] {
        [_] => cases,
        _ => Case::beside(cases, &places)?,
    };
    // What the closed forms do not tell, another engine does.
    let points = cases.iter().flat_map(|case| case.loaded.points()).map(|point| &point.scenario);
    let predictions =
        args.engines.contains(&EngineName::Predict).then(|| PredictionCache::new(points));
    if let (Some(predictions), [_]) = (&predictions, &engines[..]) {
        predictions.answers().map_err(|refused| Failure::Input(refused.to_string()))?;
    }
    let cases = Case::by_each(cases, &with(predictions.as_ref(), &engines));
    let target = target(options, &cases[0].loaded.name, "-compared");
    let selection = Selection::new(&args.replicas, &cases[0].loaded)?;
    let tcp_info = args.tcp.tcp_info;
    if tcp_info.is_some() && args.engines.contains(&EngineName::Predict) {
        console.warning("--tcp-info has no effect on predictions", "they have no TCP senders");
    }
    let looking = Looking { selection, tcp_info, ..Looking::default() };
    conduct(console, &options.how, &cases, looking, &target)
}

/// These engines, with cached predictions instead of the predicting engine.
fn with<'e>(
    predictions: Option<&'e PredictionCache>,
    engines: &[&'static dyn Engine],
) -> Vec<&'e dyn Engine> {
    let one = |engine: &'static dyn Engine| match predictions {
        Some(predictions) if engine.name() == Prediction.name() => predictions as &dyn Engine,
        _ => engine,
    };
    engines.iter().map(|engine| one(*engine)).collect()
}

pub(crate) fn engine(name: EngineName) -> Result<&'static dyn Engine, Failure> {
    match name {
        EngineName::Simulate => Ok(&Simulator),
        EngineName::Predict => Ok(&Prediction),
        EngineName::Rehearse => rehearsal_over_ipv4(),
    }
}

/// How results are shown.
pub(crate) struct Shown<'s> {
    pub(crate) json: bool,
    pub(crate) brief: bool,
    pub(crate) trace: Option<&'s Path>,
    /// Adds to the object for machines.
    pub(crate) of_run: &'s dyn Fn(&mut Value),
}

impl Shown<'_> {
    /// Prints what the runs found, and where the `page` is.
    pub(crate) fn print(
        &self,
        console: &Console,
        view: &View<'_>,
        page: Result<PathBuf, results::Error>,
    ) -> Result<(), Failure> {
        if self.json {
            let mut found = report::json(view);
            found["report"] = json!(page.as_ref().ok());
            found["trace"] = json!(self.trace);
            (self.of_run)(&mut found);
            console.print_json(&found)?;
            page?;
            return Ok(());
        }
        let message = if self.brief { brief } else { text };
        let view = if console.quiet { view.clone().without_notes() } else { view.clone() };
        // They were shown before the run.
        let view = if console.is_one_stream() { view.without_input_warnings() } else { view };
        console.print(&format!("{}\n", message(&view, console.color_out, console.columns)))?;
        self.trace.map_or(Ok(()), |trace| console.file("Trace", trace))?;
        console.file("Report", &page?)
    }
}

/// Writes the report beside what is `written`, puts all in its place, and gives where the report is.
pub(crate) fn publish(
    output: OutputFolder,
    written: Result<(), results::Error>,
    view: &View<'_>,
) -> Result<PathBuf, results::Error> {
    written
        .and_then(|()| report::write(&output.folder(None)?, view).map(|_| ()))
        .map_err(|error| output.named_finally(error))?;
    Ok(output.publish()?.join(REPORT))
}

/// What the options say about the scenario itself.
pub(crate) fn overrides(options: &RunOptions, policy: Option<&Path>) -> Result<Overrides, Failure> {
    let mut set = options.set.clone();
    for (key, value) in [("seed", options.seed), ("replicas", options.replicas.map(u64::from))] {
        let Some(value) = value else { continue };
        if let Some((_, other)) = options.set.iter().find(|(set, _)| set == key) {
            return Err(Failure::Input(format!(
                "`{key}` is given twice: by --set {key}={other} and by --{key} {value}\n\
                 remove one of the two"
            )));
        }
        set.push((key.to_owned(), value.to_string()));
    }
    let (policy, bind) = (policy.map(Path::to_owned), options.bind.clone());
    let design = options.design.clone();
    Ok(Overrides { policy, set, bind, design, ..Overrides::default() })
}

/// Refuses what leaves nothing to compare, and what would be compared with itself.
fn check_compared(Compare { policies, engines, .. }: &Compare) -> Result<(), Failure> {
    let name = |engine: &EngineName| {
        engine.to_possible_value().map_or(String::new(), |value| value.get_name().to_owned())
    };
    if let Some((_, twice)) = engines.iter().enumerate().find(|(at, e)| engines[..*at].contains(e))
    {
        return Err(Failure::Input(format!(
            "the engine {} is given twice\nits results would be compared with themselves; give each once",
            name(twice)
        )));
    }
    if engines.len() == 1 && policies.len() < 2 {
        let what = format!(
            "there is only one engine ({}) and one policy\ngive several policies, as in --policies a.toml,b.toml, or \
             several engines, as in --engines simulate,rehearse",
            name(&engines[0])
        );
        return Err(Failure::Input(what));
    }
    // A file has many names. A missing file is reported when it is read.
    let files: Vec<PathBuf> =
        policies.iter().map(|p| p.canonicalize().unwrap_or_else(|_| p.clone())).collect();
    match policies.iter().enumerate().find(|(at, _)| files[..*at].contains(&files[*at])) {
        Some((_, twice)) => {
            Err(Failure::Input(format!("the policy {} is given twice", twice.display())))
        }
        None => Ok(()),
    }
}

/// Refuses a scenario and the policies of `--policies` that cannot be used.
pub(crate) fn refuse_others(
    inputs: &InputFiles,
    scenario: &Path,
    policies: &[PathBuf],
) -> Result<(), Failure> {
    wrong_file::refuse(inputs, scenario, Given::Scenario { policies: POLICIES })?;
    for policy in policies {
        wrong_file::refuse(inputs, policy, Given::PolicyOf(POLICIES))?;
    }
    Ok(())
}

/// A case of a scenario as the options say, where these keys are `set` besides.
pub(crate) fn case<'e>(
    inputs: &InputFiles,
    engine: &'e dyn Engine,
    scenario: &Path,
    policy: Option<&Path>,
    options: &RunOptions,
    set: &[(&str, &str)],
) -> Result<Case<'e>, Failure> {
    case_with(inputs, engine, scenario, overrides(options, policy)?, set)
}

/// The same of what the user changes.
pub(crate) fn case_with<'e>(
    inputs: &InputFiles,
    engine: &'e dyn Engine,
    scenario: &Path,
    mut overrides: Overrides,
    set: &[(&str, &str)],
) -> Result<Case<'e>, Failure> {
    wrong_file::refuse(inputs, scenario, Given::Scenario { policies: POLICY })?;
    if let Some(policy) = &overrides.policy {
        wrong_file::refuse(inputs, policy, Given::PolicyOf(POLICY))?;
    }
    for (key, value) in set {
        if overrides.set.iter().any(|(set, _)| set == key) {
            return Err(Failure::Input(format!(
                "`{key}` has no effect in this run\nomit --set {key}=…"
            )));
        }
        overrides.set.push(((*key).to_owned(), (*value).to_owned()));
    }
    Ok(Case::new(engine, load_from(inputs, scenario, &overrides)?, &overrides))
}

pub(crate) fn target(options: &RunOptions, name: &str, suffix: &str) -> PathBuf {
    let default = || Path::new("results").join(folder_name(name) + suffix);
    options.how.out.clone().unwrap_or_else(default)
}
