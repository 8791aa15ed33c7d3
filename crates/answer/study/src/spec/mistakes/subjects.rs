//! Checks the subjects of quantities: workloads, classes, streams, ports and limits, which the runs must have.

use shortflow_measure::{Measure, Plan};

use super::checker::Checker;
use crate::spec::{ALL, Quantity};

impl Checker<'_> {
    /// Checks the subject of `quantity` in each run that gives it. `whole` is the quantity that it divides, from
    /// which it inherits missing parts. A missing run is reported where it is named.
    pub(super) fn subject(&mut self, path: &str, quantity: &Quantity, whole: Option<&Quantity>) {
        self.parts(path, quantity);
        let own = match (quantity.run.as_str(), whole) {
            ("", Some(whole)) => [Some(&whole.run), whole.over.as_ref()],
            _ => [Some(&quantity.run), None],
        };
        let mut runs: Vec<&String> = Vec::new();
        for run in own.into_iter().flatten().chain(&quantity.over) {
            if !runs.contains(&run) {
                runs.push(run);
                self.subject_in(path, quantity, whole, run);
            }
        }
    }

    fn subject_in(&mut self, path: &str, quantity: &Quantity, whole: Option<&Quantity>, run: &str) {
        let Some(plan) = self.plans.get(run) else { return };
        let named = |list: &str| format!("{list} of the run `{run}`");
        if let Some(workload) = &quantity.workload {
            self.workload(&format!("{path}.workload"), run, workload);
        }
        let workload = quantity.workload.as_ref().or_else(|| whole?.workload.as_ref());
        let workload = workload.or(self.study.workload.as_ref());
        if quantity.workload.is_none() && takes::workload(quantity.measure) {
            match workload {
                Some(workload) => self.workload(path, run, workload),
                None => {
                    let message =
                        format!("`{}` requires a workload", quantity.measure.about().name);
                    self.document.mistake(path, message, "name it: `workload = \"…\"`");
                }
            }
        }
        for (key, class) in [("class", &quantity.class), ("above", &quantity.above)] {
            if let Some(class) = class {
                self.class(&format!("{path}.{key}"), plan, workload, class);
            }
        }
        if let Some(stream) = &quantity.stream {
            let index = plan.workloads.iter().position(|w| Some(&w.name) == workload);
            let streams = plan.streams.iter().flatten();
            let streams = streams.filter(|s| index == Some(usize::from(s.workload)));
            let names: Vec<&str> = streams.map(|s| s.name.as_str()).collect();
            self.among(&format!("{path}.stream"), "stream", stream, &named("streams"), &names);
        }
        if takes::port(quantity.measure) {
            self.port(path, plan, quantity, &named("ports in `measure.ports`"));
        }
        if let Some(limit) = quantity.limit {
            let limits: Vec<f64> = plan.limits.iter().map(|limit| limit.as_secs_f64()).collect();
            if !limits.contains(&limit) {
                let message = format!("the run `{run}` does not measure the limit {limit}");
                let known: Vec<String> = limits.iter().map(f64::to_string).collect();
                let help = format!("its `measure.limits`, in seconds: {}", known.join(", "));
                self.document.mistake(&format!("{path}.limit"), message, help);
            }
        }
    }

    /// Checks the parts of a quantity: its measure may lack a required part, or not support a given one. An
    /// unsupported part would be ignored silently, and the figure would mean something else.
    fn parts(&mut self, path: &str, quantity: &Quantity) {
        let measure = quantity.measure;
        let name = measure.about().name;
        for (key, kind, is_there, is_needed) in [
            ("limit", "limit", quantity.limit.is_some(), measure == Measure::ShareOver),
            ("above", "size class", quantity.above.is_some(), measure == Measure::BytesAbove),
            ("at", "counter", quantity.at.is_some(), takes::counter(measure)),
        ] {
            if is_needed && !is_there {
                let help = format!("name it: `{key} = …`");
                self.document.mistake(path, format!("`{name}` requires a {kind}"), help);
            }
        }
        let class = quantity.class.as_ref().filter(|class| *class != ALL);
        let is_at = takes::port(measure) || takes::counter(measure);
        for (key, kind, is_there, is_taken) in [
            ("class", "class", class.is_some(), takes::class(measure)),
            ("stream", "stream", quantity.stream.is_some(), takes::stream(measure)),
            ("at", "port", quantity.at.is_some(), is_at),
            ("code_point", "code point", quantity.code_point.is_some(), takes::code_point(measure)),
            ("limit", "limit", quantity.limit.is_some(), measure == Measure::ShareOver),
            ("above", "size class", quantity.above.is_some(), measure == Measure::BytesAbove),
        ] {
            if is_there && !is_taken {
                let message = format!("`{name}` has no values by {kind}");
                self.document.mistake(&format!("{path}.{key}"), message, "omit it");
            }
        }
        if quantity.above.as_ref().is_some_and(|class| class == ALL || class.starts_with("above "))
        {
            let message = "this class has no upper bound";
            let help = "use a class with an upper bound, such as `10 KB`";
            self.document.mistake(&format!("{path}.above"), message, help);
        }
    }

    pub(super) fn workload(&mut self, path: &str, run: &str, name: &str) {
        let Some(plan) = self.plans.get(run) else { return };
        let names: Vec<&str> = plan.workloads.iter().map(|w| w.name.as_str()).collect();
        self.among(path, "workload", name, &format!("workloads of the run `{run}`"), &names);
    }

    fn port(&mut self, path: &str, plan: &Plan, quantity: &Quantity, list: &str) {
        let names: Vec<&str> = plan.ports.iter().map(String::as_str).collect();
        match &quantity.at {
            Some(port) => self.among(&format!("{path}.at"), "port", port, list, &names),
            None => {
                let message = format!("`{}` requires a port", quantity.measure.about().name);
                self.document.mistake(path, message, "name it: `at = \"…\"`");
            }
        }
        if let Some(code_point) = &quantity.code_point {
            let names: Vec<&str> = plan.code_points.iter().map(String::as_str).collect();
            let path = format!("{path}.code_point");
            self.among(&path, "code point", code_point, "code points in use", &names);
        }
    }

    /// The classes of a check, each of which `quantity` must have unless it names one itself.
    pub(super) fn classes(&mut self, path: &str, quantity: &Quantity, classes: &[String]) {
        if quantity.class.is_some() {
            return;
        }
        if !takes::class(quantity.measure) && classes.iter().any(|class| class != ALL) {
            let message = format!("`{}` has no values by class", quantity.measure.about().name);
            self.document.mistake(path, message, "omit it");
            return;
        }
        let workload = quantity.workload.as_ref().or(self.study.workload.as_ref());
        for run in std::iter::once(&quantity.run).chain(&quantity.over) {
            let Some(plan) = self.plans.get(run) else { continue };
            for (index, class) in classes.iter().enumerate() {
                self.class(&format!("{path}.{index}"), plan, workload, class);
            }
        }
    }

    /// A missing workload is reported where it is named.
    fn class(&mut self, path: &str, plan: &Plan, workload: Option<&String>, class: &str) {
        let Some(found) = plan.workloads.iter().find(|w| Some(&w.name) == workload) else { return };
        let labels = found.size_classes.iter().map(|class| class.label.as_str());
        let mut names: Vec<&str> = labels.clone().chain([ALL]).collect();
        // One by its bound, `up to 10 KB`, is called `10 KB` too.
        names.extend(labels.filter_map(|label| label.strip_prefix("up to ")));
        let list = format!("classes of the workload `{}`", found.name);
        self.among(path, "class", class, &list, &names);
    }

    fn among(&mut self, path: &str, kind: &str, name: &str, list: &str, names: &[&str]) {
        if !names.contains(&name) {
            self.document.unknown(path, kind, name, list, names);
        }
    }
}

/// What a measure is taken of.
mod takes {
    use shortflow_measure::Measure::{self, *};

    pub(super) fn port(measure: Measure) -> bool {
        matches!(measure, Arrived | EcnMarks | Loss | MeanQueue | MeanWait | Utilisation)
    }

    pub(super) fn counter(measure: Measure) -> bool {
        matches!(measure, Counter | CounterRate)
    }

    pub(super) fn workload(measure: Measure) -> bool {
        !port(measure) && !counter(measure)
    }

    pub(super) fn code_point(measure: Measure) -> bool {
        matches!(measure, Arrived | Loss)
    }

    pub(super) fn stream(measure: Measure) -> bool {
        matches!(
            measure,
            Sent | Delay | DelayMedian | DelayP95 | DelayP99 | DelayMax | DatagramLoss
        )
    }

    pub(super) fn class(measure: Measure) -> bool {
        matches!(
            measure,
            Completion
                | CompletionMedian
                | CompletionP95
                | CompletionP99
                | CompletionMax
                | CompletionDeviation
                | CompletionVariation
                | Completed
                | CompletedRate
                | Active
                | ShareOver
                | Handshake
                | Request
                | Reply
        )
    }
}
