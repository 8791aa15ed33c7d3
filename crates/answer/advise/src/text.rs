//! An advice in sentences.

use shortflow_measure::tables::{Cell, Column, Label, Row, Scale, Table as Figures};
use shortflow_measure::{Estimate, Unit};
use shortflow_scenario::LineLoad;
use shortflow_tune::{Difference, Goal, assumed_congestion_control, in_unit};
use shortflow_units::Bytes;

use crate::advice::Advice;
use crate::choice::worse_than;
use crate::line::LineKind;
use crate::network::Network;
use crate::variants::TODAY;

impl Advice<'_> {
    /// The text below the table: what was simulated, what gets better and worse, and which limits are kept.
    pub fn found(&self) -> String {
        let mut message = format!(
            "Simulated: {} replicas, {}.\n",
            self.advised.scenario().replicas,
            self.network.simulated()
        );
        let is_measured =
            |(_, found): &(_, Vec<Option<Estimate>>)| found.iter().all(Option::is_some);
        if !self.figures.iter().all(is_measured) {
            message += "–: not measured, because too few ended or arrived in some replicas.\n";
        }
        if let Some(reading) = self.reading() {
            message += &format!("Capture: {}.\n", reading.describe());
        }
        if self.network.flows.is_some() {
            message += "Own flows keep their sizes and arrivals alone. In the scenario each is TCP between a user and \
                        one server, port 443, unmarked: a class by address, port or code point matches all of them \
                        or none. To change that, edit workloads.own_down and workloads.own_up.\n";
        }
        if !self.is_advice() {
            return message;
        }
        message += &self.counted();
        if let Some(fit) = self.fit() {
            message += &format!(
                "Settings for the longest round trip, {}: {}.\n",
                fit.round_trip,
                self.advised.settings()
            );
        }
        if let Some((slower, limit)) = self.slower_buffer().filter(|_| !self.is_today) {
            message += &format!(
                "The buffer {} is smaller, as that direction is slower: limit = {limit}.\n",
                slower.towards()
            );
        }
        if let Some(assumed) = assumed_congestion_control(self.advised.scenario()) {
            message += &format!("{assumed}\n");
        }
        message += &self.gains();
        message += &self.costs();
        if let Some(narrow) = &self.narrow {
            let told_of = match self.limits.is_empty() {
                true => "No policy comes near these limits.\n",
                false => "The search used the nearest limits that a policy keeps.\n",
            };
            message += match self.today_keeps {
                true => {
                    "The current queue keeps the limits of calls and similar traffic; no policy does:\n"
                }
                false => "No policy keeps the limits of calls and similar traffic on this line:\n",
            };
            message += &format!("{narrow}\n{told_of}");
        }
        message += &self.kept();
        message += &self.beside();
        message + "\n"
    }

    /// How packets count on the line and at the gateway.
    fn counted(&self) -> String {
        let LineKind { about, link_layer, .. } = self.network.line;
        let small = link_layer.wire_size(Bytes(40)).0;
        let full = link_layer.wire_size(Bytes(1500)).0;
        format!(
            "The line is {about}: a packet of 40 bytes takes {small} bytes there, one of 1500 takes {full} (link \
             layer {link_layer}). The gateway counts packets in the same way.\n"
        )
    }

    /// The network and the advice, in two sentences.
    pub fn headline(&self) -> String {
        let Network { up, down, users, line, .. } = self.network;
        let what = match (self.is_advice(), self.is_today) {
            (false, _) => "no advice",
            (true, true) => "leave it as it is",
            (true, false) => self.advised.label.as_str(),
        };
        let people = if *users == 1 { "1 user".to_owned() } else { format!("{users} users") };
        let why = match (&self.advised.scenario().policy, &self.narrow) {
            _ if self.useless.is_some() => self.useless.clone().unwrap_or_default(),
            _ if !self.is_advice() => format!(
                "Some replicas have too few of them to measure {}: the line is too slow for this traffic, or this traffic \
                 is too little to compare policies.",
                self.network.goals()[0]
            ),
            (_, None) if self.is_today => "No policy is significantly better than the current queue.".to_owned(),
            _ if self.is_today && self.today_keeps => {
                "The current queue keeps the limits of calls and similar traffic, and no policy does.".to_owned()
            }
            _ if self.is_today => {
                "The line is too slow for this traffic, and no policy is significantly better than the current queue.".to_owned()
            }
            (policy, _) => policy.as_ref().map_or(String::new(), |policy| policy.description.clone()),
        };
        let load = self.overload();
        format!("{people} on {up} up, {down} down ({}): {what}\n{why}\n{load}\n", line.name)
    }

    /// That more is offered to the line than it carries, where that is so.
    fn overload(&self) -> String {
        let lines = self.advised.scenario().offered_load().lines;
        let share = lines.iter().map(LineLoad::share).fold(0.0, f64::max);
        if share <= 1.0 {
            return String::new();
        }
        format!(
            "The line is overloaded: {:.0} % of its rate is offered. Queues only choose who waits; times of flows grow \
             with the length of the run, so compare them with care. Packets that still wait when a run ends count neither as \
             lost nor as delivered.\n",
            100.0 * share
        )
    }

    /// What is kept of what was asked for, by what is advised.
    fn kept(&self) -> String {
        let standings = &self.tuned.confirmed.standings;
        let advised = standings.iter().find(|standing| standing.label == self.advised.label);
        let found = advised.map_or(&[][..], |standing| &standing.limits);
        let each = self.limits.iter().zip(found).map(|(limit, found)| {
            let how = match found {
                Some(found) if limit.is_significantly_kept_by(found) => "Kept",
                Some(found) if limit.is_kept_by(found.mean) => {
                    "Kept on average, but the interval crosses the limit"
                }
                Some(_) => "Not kept",
                None => "Too few measurements",
            };
            format!("{how}: {}\n", limit.text)
        });
        each.collect()
    }

    /// The comparison of the advised policy with the others.
    fn beside(&self) -> String {
        let best = &self.tuned.confirmed.standings[0].label;
        let goal = &self.goals[0].text;
        if *best == self.advised.label {
            let others = self.tuned.beside(&self.goals).map(|(_, message)| message + "\n");
            return format!("{best} is first by {goal}.\n{}", others.collect::<String>());
        }
        let simple = if self.is_today { "the current queue" } else { &self.advised.label };
        let mut others = self.tuned.beside(&self.goals);
        let message = others.find(|(from, _)| *from == self.advised.label);
        let message = message.map_or(String::new(), |(_, message)| format!(" {message}"));
        let differences = &self.tuned.confirmed.differences;
        let ours = differences.iter().find(|one| one.from == self.advised.label);
        let but = match ours.is_some_and(Difference::is_significantly_better) {
            true => "but only negligibly",
            false if ours.is_some_and(Difference::is_significantly_worse) => "but not",
            false => "but not significantly",
        };
        format!(
            "{best} is first by {goal}, {but} ahead of {simple}, which is simpler or better for other uses.{message}\n{}",
            self.also_alike(best)
        )
    }

    /// The candidates that are as good as the first within chance.
    fn also_alike(&self, best: &str) -> String {
        let differences = self.tuned.confirmed.differences.iter();
        let is_alike = |one: &&Difference| {
            let is_known = one.difference.is_some_and(|found| found.low.is_some());
            let is_other = one.from != self.advised.label;
            is_known && is_other && !one.is_significantly_better() && !one.is_significantly_worse()
        };
        // Who breaks a limit is none to choose.
        let keeps = |one: &&Difference| {
            let mut standings = self.tuned.confirmed.standings.iter();
            self.limits.is_empty() || standings.any(|other| other.label == one.from && other.keeps)
        };
        let alike = differences.filter(is_alike).filter(keeps);
        let names: Vec<&str> = alike.map(|one| one.from.as_str()).collect();
        match &names[..] {
            [] => String::new(),
            names => format!("As good as {best}, within chance: {}.\n", names.join(", ")),
        }
    }

    /// What gets significantly better than today.
    fn gains(&self) -> String {
        let Some([today, advised]) = self.today_and_advised() else { return String::new() };
        let each = worse_than(advised, today, &self.about).map(|at| self.about[at].0.as_str());
        match &each.collect::<Vec<_>>()[..] {
            [] => self.why_not_today(),
            each => format!("Significantly better than today: {}.\n", each.join("; ")),
        }
    }

    /// Why a change is advised although no shown value is significantly better.
    fn why_not_today(&self) -> String {
        let standings = &self.tuned.confirmed.standings;
        let best = &standings[0].label;
        let mut others = self.tuned.beside(&self.goals);
        let message = others.find(|(from, _)| *from == TODAY).map(|(_, message)| message);
        match standings.iter().any(|one| one.label == TODAY && one.keeps) {
            false => "Today the limits of calls and similar traffic are not kept.\n".to_owned(),
            true if *best == self.advised.label => String::new(),
            true => format!("{best} compared with today: {}\n", message.unwrap_or_default()),
        }
    }

    /// The figures of today and of what is advised, where that is something else.
    fn today_and_advised(&self) -> Option<[&[Option<Estimate>]; 2]> {
        let (_, today) = &self.figures[0];
        let advised = self.figures.iter().find(|(label, _)| *label == self.advised.label);
        advised.filter(|_| !self.is_today).map(|(_, advised)| [&today[..], &advised[..]])
    }

    /// What gets significantly worse than today.
    fn costs(&self) -> String {
        let Some([today, advised]) = self.today_and_advised() else { return String::new() };
        let each = worse_than(today, advised, &self.about).filter_map(|at| {
            let (about, goal) = &self.about[at];
            let [before, now] = [today[at]?.mean, advised[at]?.mean];
            let [before, now] = [before, now].map(|value| in_unit(value, goal.unit()));
            Some(format!("Cost: {about}, {now} instead of {before}.\n"))
        });
        each.collect()
    }

    /// A row for each figure, a column for each policy.
    pub fn table(&self) -> Figures {
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
            title: "Each use today, as advised, and under other policies; ± is a 95 % interval"
                .to_owned(),
            labels: vec![String::new(), String::new()],
            columns: self.figures.iter().map(column).collect(),
            rows: self.about.iter().enumerate().map(row).collect(),
            ..Figures::default()
        }
    }
}
