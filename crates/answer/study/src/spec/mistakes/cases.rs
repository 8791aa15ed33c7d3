//! Checks the points and classes of a quantity, and its rule.

use shortflow_measure::Measure;

use super::checker::Checker;
use crate::spec::{CheckSpec, Quantity, Rule, is_same};

/// The points and classes that a check or an observation names.
pub(super) struct Cases<'c> {
    pub(super) x: Option<&'c [f64]>,
    pub(super) class: Option<&'c [String]>,
}

impl Checker<'_> {
    /// The points and classes at which something is looked at.
    pub(super) fn cases(
        &mut self,
        path: &str,
        ours: &Quantity,
        than: Option<&Quantity>,
        Cases { x, class }: Cases<'_>,
    ) {
        if let Some(points) = x {
            self.points(&format!("{path}.x"), ours, than, points);
        }
        let of_run = self.study.run(&ours.run).map_or(&[][..], |run| &run.values);
        let own = ours.x.map(|x| vec![x]);
        let points = x.map(<[f64]>::to_vec).or(own).unwrap_or_else(|| of_run.to_vec());
        if ours.x.is_none() {
            self.held_against(&format!("{path}.ours"), ours, &points);
        } else if let Some(x) = ours.x {
            self.held_against(&format!("{path}.ours"), ours, &[x]);
        }
        if let Some(than) = than {
            let path = format!("{path}.than");
            match than.x {
                Some(x) => self.held_against(&path, than, &[x]),
                None => {
                    self.has_points(&path, &than.run, "x", &points);
                    self.held_against(&path, than, &points);
                }
            }
        }
        if let Some(classes) = class {
            let path = format!("{path}.class");
            self.some(&path, "class", classes.len());
            for (index, class) in classes.iter().enumerate() {
                if classes[..index].contains(class) {
                    let message = format!("duplicate class `{class}`");
                    self.document.mistake(&format!("{path}.{index}"), message, "");
                }
            }
            for quantity in std::iter::once(ours).chain(than) {
                self.classes(&path, quantity, classes);
            }
        }
    }

    /// The points that are named, which must matter to what is looked at.
    fn points(&mut self, path: &str, ours: &Quantity, than: Option<&Quantity>, points: &[f64]) {
        self.some(path, "point", points.len());
        for (index, x) in points.iter().enumerate() {
            let path = format!("{path}.{index}");
            self.point(&path, &ours.run, *x);
            if points[..index].iter().any(|earlier| is_same(*earlier, *x)) {
                self.document.mistake(&path, format!("duplicate point {x}"), "");
            }
        }
        let Some(own) = ours.x.filter(|_| than.is_none_or(|than| than.x.is_some())) else { return };
        let is_other = than.is_none() && points.iter().any(|x| !is_same(*x, own));
        if points.len() > 1 || is_other {
            let message = format!("every quantity already has its own point, such as {own}");
            let help = "omit either this `x` or that of the quantity";
            self.document.mistake(path, message, help);
        }
    }

    /// Checks that the run with which a quantity is compared has the same points.
    fn held_against(&mut self, path: &str, quantity: &Quantity, points: &[f64]) {
        if let (Some(over), None) = (&quantity.over, quantity.over_x) {
            self.has_points(path, over, "over_x", points);
        }
    }

    fn has_points(&mut self, path: &str, run: &str, key: &str, points: &[f64]) {
        let Some(spec) = self.study.run(run) else { return };
        let absent = points.iter().find(|x| !spec.values.iter().any(|value| is_same(*value, **x)));
        if let Some(x) = absent {
            let values: Vec<String> = spec.values.iter().map(f64::to_string).collect();
            let help = format!("choose one with `{key} = …`; its points: {}", values.join(", "));
            self.document.mistake(path, format!("the run `{run}` has no point {x}"), help);
        }
    }

    /// What a rule judges: some are of one measure alone, and a minimum is of a sweep.
    pub(super) fn judged(&mut self, path: &str, check: &CheckSpec) {
        let CheckSpec { ours, than, .. } = check;
        match check.rule {
            Rule::DistributionsAlike | Rule::SlowerOneByOne => {
                for (key, side) in [("ours", Some(ours)), ("than", than.as_ref())] {
                    let Some(side) = side else { continue };
                    let is_derived =
                        side.over.is_some() || side.per.is_some() || side.unit.is_some();
                    if is_derived || side.measure != Measure::Completion {
                        let message = "this rule requires completion times";
                        let help = "omit `measure`, `over`, `per` and `unit`";
                        self.document.mistake(&format!("{path}.{key}"), message, help);
                    }
                }
            }
            Rule::Fair if !matches!(ours.measure, Measure::Fairness | Measure::MaxMinFairness) => {
                let message = "this rule requires Jain's index";
                let help = "use `measure = \"fairness\"` or `\"max-min-fairness\"`";
                self.document.mistake(&format!("{path}.ours"), message, help);
            }
            Rule::MinimumWithin(from, to) => {
                let of_run = self.study.run(&ours.run).map(|run| run.values.as_slice());
                let Some(points) = check.x.as_deref().or(of_run) else { return };
                let inside = points.iter().filter(|x| (from..=to).contains(*x)).count();
                if ours.x.is_some() || inside == 0 || inside == points.len() {
                    let message = format!(
                        "the range {from} to {to} must have points inside and \
                        outside"
                    );
                    let help = "a minimum requires a sweep";
                    self.document.mistake(&format!("{path}.rule"), message, help);
                }
            }
            _ => {}
        }
    }
}
