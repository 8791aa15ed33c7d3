//! Of what quantities are taken: workloads, classes, streams, ports and limits, which the runs must have.

use shortflow_measure::{Measure, Plan};

use super::checker::Checker;
use crate::spec::{ALL, Quantity};

impl Checker<'_> {
    /// What `quantity` is taken of, where its run has no such thing. `whole` is what it divides, from which
    /// it has what it does not name. A run that is not there is told of where it is named.
    pub(super) fn subject(&mut self, path: &str, quantity: &Quantity, whole: Option<&Quantity>) {
        let run = match (quantity.run.as_str(), whole) {
            ("", Some(whole)) => whole.run.clone(),
            (run, _) => run.to_owned(),
        };
        let Some(plan) = self.plans.get(&run) else { return };
        let named = |list: &str| format!("{list} of the run `{run}`");
        if let Some(workload) = &quantity.workload {
            self.workload(&format!("{path}.workload"), &run, workload);
        }
        let workload = quantity.workload.as_ref().or_else(|| whole?.workload.as_ref());
        let workload = workload.or(self.study.workload.as_ref());
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
        if is_of_port(quantity.measure) {
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
                let message = format!("`{}` is of a port", quantity.measure.about().name);
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
        let Some(plan) = self.plans.get(&quantity.run) else { return };
        if quantity.class.is_none() {
            let workload = quantity.workload.as_ref().or(self.study.workload.as_ref());
            for (index, class) in classes.iter().enumerate() {
                self.class(&format!("{path}.{index}"), plan, workload, class);
            }
        }
    }

    /// A workload that is not there is told of where it is named.
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

/// Whether a measure is of a port.
fn is_of_port(measure: Measure) -> bool {
    use Measure::{Arrived, EcnMarks, Loss, MeanQueue, MeanWait, Utilisation};
    matches!(measure, Arrived | EcnMarks | Loss | MeanQueue | MeanWait | Utilisation)
}
