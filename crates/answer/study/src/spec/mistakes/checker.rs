//! Checks the quantities, points and rules in claims, figures and tables.

use std::collections::BTreeMap;

use shortflow_measure::Plan;
use shortflow_text::Document;

use super::cases::Cases;
use crate::spec::{CheckSpec, Form, KeepSpec, Quantity, RowSpec, Rule, RunSpec, Study, is_same};

/// What is recorded of each run, by its name.
pub(crate) type Plans = BTreeMap<String, Plan>;

/// What is checked against: the study, and what is recorded of its runs.
pub(super) struct Checker<'c> {
    pub(super) document: &'c mut Document,
    pub(super) study: &'c Study,
    pub(super) plans: &'c Plans,
}

impl Checker<'_> {
    pub(super) fn check(&mut self, path: &str, check: &CheckSpec) {
        self.compared(path, &check.ours, check.than.as_ref());
        let looked_at = Cases { x: check.x.as_deref(), class: check.class.as_deref() };
        self.cases(path, &check.ours, check.than.as_ref(), looked_at);
        self.rule(&format!("{path}.rule"), check.rule);
        self.judged(path, check);
        if check.rule.compares() && check.than.is_none() {
            let message = "this rule compares `ours` with another quantity, which is missing";
            self.document.mistake(&format!("{path}.rule"), message, "add `than = { … }`");
        }
        if !check.rule.compares() && check.than.is_some() {
            let message = "this rule has no quantity to compare with";
            self.document.mistake(&format!("{path}.than"), message, "omit it");
        }
        let own = check.counterfactuals.as_deref().unwrap_or_default();
        self.changes(&format!("{path}.counterfactuals"), own, std::slice::from_ref(check));
    }

    /// The numbers of a rule.
    fn rule(&mut self, path: &str, rule: Rule) {
        match rule {
            Rule::Figure(figure) => self.above_zero(path, figure),
            Rule::AtMost(bound) | Rule::AtLeast(bound) if !bound.is_finite() => {
                self.document.mistake(path, format!("a bound must be a number; found {bound}"), "");
            }
            Rule::MinimumWithin(from, to) if !(from.is_finite() && from <= to) => {
                let message = format!("the range must increase; found {from} to {to}");
                self.document.mistake(path, message, "write the smaller number first");
            }
            _ => {}
        }
    }

    pub(super) fn compared(&mut self, path: &str, ours: &Quantity, than: Option<&Quantity>) {
        self.quantity(&format!("{path}.ours"), ours, true);
        if let Some(than) = than {
            self.quantity(&format!("{path}.than"), than, true);
        }
    }

    /// A list must not be empty.
    pub(super) fn some(&mut self, path: &str, kind: &str, count: usize) {
        if count == 0 {
            let message = format!("there is no {kind} here, so nothing would be checked");
            self.document.mistake(path, message, "");
        }
    }

    /// The counterfactuals that are tried where one of `checks` fails.
    pub(super) fn changes(&mut self, path: &str, names: &[String], checks: &[CheckSpec]) {
        let known = &self.study.counterfactuals;
        let runs_of = |check: &CheckSpec| -> Vec<&RunSpec> {
            let quantities = [Some(&check.ours), check.than.as_ref()].into_iter().flatten();
            quantities.filter_map(|of| self.study.run(&of.run)).collect()
        };
        let runs: Vec<Vec<&RunSpec>> = checks.iter().map(runs_of).collect();
        let is_known = runs.iter().any(|runs| !runs.is_empty());
        for (index, name) in names.iter().enumerate() {
            let path = format!("{path}.{index}");
            let Some(change) = known.iter().find(|change| change.name == *name) else {
                let known: Vec<&str> = known.iter().map(|change| change.name.as_str()).collect();
                let list = "counterfactuals of study.toml";
                self.document.unknown(&path, "counterfactual", name, list, &known);
                continue;
            };
            if is_known && !runs.iter().any(|runs| change.is_for(runs)) {
                let message = format!("`{name}` changes none of the runs checked here");
                let help = "a run's own sweep overrides what a change sets";
                self.document.mistake(&path, message, help);
            }
        }
    }

    pub(super) fn factor(&mut self, path: &str, within: f64) {
        if !(within.is_finite() && within > 1.0) {
            let message = format!("a tolerance must be a factor above 1; found {within}");
            let help = "1.25 allows our value to be 25 % above the paper's";
            self.document.mistake(path, message, help);
        }
    }

    pub(super) fn above_zero(&mut self, path: &str, number: f64) {
        if !(number.is_finite() && number > 0.0) {
            let message = format!("this must be a number above zero; found {number}");
            self.document.mistake(path, message, "");
        }
    }

    /// A row of a table.
    pub(super) fn row(&mut self, path: &str, row: &RowSpec) {
        self.run(&format!("{path}.run"), &row.run);
        match row.x {
            Some(x) => self.point(&format!("{path}.x"), &row.run, x),
            None => self.one_point(path, &row.run, None),
        }
    }

    /// What names no point is of a run that has one alone.
    pub(super) fn one_point(&mut self, path: &str, run: &str, x: Option<f64>) {
        let points = self.study.run(run).map_or(0, |run| run.values.len());
        if x.is_none() && points > 1 {
            let message = format!("the run `{run}` has {points} points");
            self.document.mistake(path, message, "choose one: `x = …`");
        }
    }

    pub(super) fn quantity(&mut self, path: &str, quantity: &Quantity, needs_run: bool) {
        self.part(path, quantity, None, needs_run);
    }

    /// A quantity, which may divide a `whole`.
    fn part(&mut self, path: &str, quantity: &Quantity, whole: Option<&Quantity>, needs_run: bool) {
        if needs_run || !quantity.run.is_empty() {
            self.run(&format!("{path}.run"), &quantity.run);
        }
        if let Some(over) = &quantity.over {
            self.run(&format!("{path}.over"), over);
        } else if quantity.form != Form::Value {
            let message = "this run has no run to compare with";
            self.document.mistake(&format!("{path}.form"), message, "name it: `over = \"…\"`");
        }
        if let Some(x) = quantity.x {
            self.point(&format!("{path}.x"), &quantity.run, x);
        }
        match (quantity.over_x, &quantity.over) {
            (Some(x), Some(over)) => self.point(&format!("{path}.over_x"), over, x),
            (Some(_), None) => {
                let message = "this run has no run to compare with";
                self.document.mistake(&format!("{path}.over_x"), message, "omit it");
            }
            (None, _) => {}
        }
        if let Some(unit) = quantity.unit {
            self.above_zero(&format!("{path}.unit"), unit);
        }
        self.subject(path, quantity, whole);
        if let Some(per) = &quantity.per {
            self.part(&format!("{path}.per"), per, Some(quantity), false);
        }
    }

    /// Which replicas are kept.
    pub(super) fn keep(&mut self, path: &str, keep: &KeepSpec) {
        self.run(&format!("{path}.run"), &keep.run);
        self.point(&format!("{path}.x"), &keep.run, keep.x);
        self.workload(&format!("{path}.workload"), &keep.run, &keep.workload);
        if keep.replicas == 0 {
            let message = "at least one replica must be kept; found 0";
            self.document.mistake(&format!("{path}.replicas"), message, "");
        }
        if keep.of < keep.replicas {
            let message =
                format!("{} replicas cannot be kept if {} are drawn", keep.replicas, keep.of);
            self.document.mistake(&format!("{path}.of"), message, "draw several times as many");
        }
        self.range(&format!("{path}.flows"), keep.flows, f64::INFINITY);
        self.range(&format!("{path}.bytes"), keep.bytes, f64::INFINITY);
        for (index, above) in keep.above.iter().enumerate() {
            self.above_zero(&format!("{path}.above.{index}.size"), above.size);
            self.range(&format!("{path}.above.{index}.share"), above.share, 1.0);
        }
    }

    /// A range from the first number to the second, from 0 to `max`.
    fn range(&mut self, path: &str, (from, to): (f64, f64), max: f64) {
        if !(0.0 <= from && from <= to && to <= max) {
            let message = format!(
                "the range must begin at 0 or more and increase; found {from} to \
                {to}"
            );
            let help =
                if max.is_finite() { format!("end it at {max} or below") } else { String::new() };
            self.document.mistake(path, message, help);
        }
    }

    fn run(&mut self, path: &str, name: &str) {
        let names: Vec<&str> = self.study.runs.iter().map(|run| run.name.as_str()).collect();
        if !names.contains(&name) {
            self.document.unknown(path, "run", name, "runs of study.toml", &names);
        }
    }

    /// A missing run is reported where it is named.
    pub(super) fn point(&mut self, path: &str, run: &str, x: f64) {
        let Some(spec) = self.study.run(run) else { return };
        if !spec.values.iter().any(|value| is_same(*value, x)) {
            let values: Vec<String> = spec.values.iter().map(f64::to_string).collect();
            let message = format!("the run `{run}` has no point {x}");
            self.document.mistake(path, message, format!("its points: {}", values.join(", ")));
        }
    }
}
