//! The results as a table and in sentences.

use shortflow_measure::tables::{Cell, Column, Label, Row, Scale, Table};
use shortflow_measure::{Estimate, Unit};

use crate::confirm::{Difference, Standing};
use crate::goals::{Goal, Limit};
use crate::search::{MIN_REPLICAS, excess, means_of_goals};
use crate::tune::{Dropped, Searched, Tuned};

impl Tuned {
    /// The winner beside the others, on fresh seeds.
    pub fn table(&self, goals: &[Goal], limits: &[Limit]) -> Table {
        let goal_columns = goals.iter().map(|goal| column(&goal.text, goal.unit()));
        let limit_columns = limits.iter().map(|limit| {
            let head = limit.text.split(['<', '>']).next().unwrap_or(&limit.text).trim();
            column(head, limit.measure.about().unit)
        });
        let difference = column("more than the winner", goals[0].unit());
        let columns: Vec<Column> = goal_columns.chain(limit_columns).chain([difference]).collect();
        let row = |(at, standing): (usize, &Standing)| {
            let goals = goals.iter().zip(&standing.goals);
            let goals =
                goals.map(|(goal, found)| Cell::figure(found.map(|f| f.scaled(goal.sign()))));
            let kept = standing.limits.iter().map(|found| Cell::figure(*found));
            let difference = match at.checked_sub(1) {
                None => Cell::Reference,
                Some(at) => {
                    Cell::figure(self.confirmed.differences[at].difference.map(|f| f.scaled(-1.0)))
                }
            };
            Row {
                labels: vec![
                    Label::Name(standing.label.clone()),
                    Label::from(describe_kept(standing, limits)),
                ],
                cells: goals.chain(kept).chain([difference]).collect(),
                starts_group: false,
            }
        };
        Table {
            title: format!(
                "Confirmed by {} replicas{} with other seeds than the search; ± and ranges: 95 %",
                self.fresh,
                if self.fresh == MIN_REPLICAS { " (the minimum)" } else { "" }
            ),
            labels: vec![
                "policy".to_owned(),
                if limits.is_empty() { "" } else { "limits" }.to_owned(),
            ],
            columns,
            rows: self.confirmed.standings.iter().enumerate().map(row).collect(),
            ..Table::default()
        }
    }

    /// What came of all candidates in the search.
    pub fn search_table(&self, goals: &[Goal], limits: &[Limit]) -> Table {
        let expected = self.searched.iter().any(|one| one.expected.is_some());
        let head =
            expected.then(|| column(&format!("{} expected", goals[0].text), goals[0].unit()));
        let columns =
            head.into_iter().chain(goals.iter().map(|goal| column(&goal.text, goal.unit())));
        let row = |one: &Searched| {
            let figure = |value: Option<f64>, sign: f64| {
                let pooled = |value: f64| Estimate {
                    mean: value,
                    low: None,
                    high: None,
                    n: one.replicas,
                    at_least: false,
                    at_most: false,
                };
                Cell::figure(value.map(|value| pooled(value).scaled(sign)))
            };
            let predicted = expected.then(|| figure(one.expected, goals[0].sign()));
            let found = (0..goals.len())
                .map(|at| figure(one.goals.get(at).copied().flatten(), goals[at].sign()));
            Row {
                labels: vec![Label::Name(one.label.clone()), Label::Name(became(one, limits))],
                cells: predicted.into_iter().chain(found).collect(),
                starts_group: false,
            }
        };
        Table {
            title: format!(
                "Searched among {}, with {} replicas in all",
                self.searched.len(),
                self.replicas
            ),
            labels: vec!["policy".to_owned(), "outcome".to_owned()],
            columns: columns.collect(),
            rows: self.searched.iter().map(row).collect(),
            note: self.note_on_replicas(),
            ..Table::default()
        }
    }

    /// What figures of different replicas are good for.
    fn note_on_replicas(&self) -> Option<String> {
        let ran = || self.searched.iter().map(|one| one.replicas).filter(|ran| *ran > 0);
        let (least, most) = (ran().min()?, ran().max()?);
        (least < most).then(|| {
            format!(
                "Figures are means over {least} to {most} replicas: compare those of as many replicas, which had the \
                 same arrivals."
            )
        })
    }

    /// How sure it is, in sentences.
    pub fn describe(&self, goals: &[Goal], limits: &[Limit]) -> String {
        let Some(winner) = self.confirmed.standings.first().filter(|_| self.winner.is_some())
        else {
            return self.describe_no_candidate(limits);
        };
        if !self.is_measured() {
            let what = &goals[0].text;
            return format!(
                "{what} could not be measured: {} has no such traffic, too little, or transfers that are open at the \
                 end. A longer `drain` lets them complete.",
                goals[0].workload
            );
        }
        let mut message = format!("{} is first by {}.", winner.label, goals[0].text);
        self.beside(goals).for_each(|(_, beside)| message += &format!("\n{beside}"));
        for (limit, found) in limits.iter().zip(&winner.limits) {
            message += &format!("\n{}", describe_standing(limit, found.as_ref()));
        }
        message
    }

    /// The comparison of the winner with each other candidate, by name, in a sentence.
    pub fn beside(&self, goals: &[Goal]) -> impl Iterator<Item = (&str, String)> {
        let message = |one| describe_difference(one, goals);
        self.confirmed.differences.iter().map(move |one| (one.from.as_str(), message(one)))
    }

    /// The limits that the winner, or the nearest candidate, does not keep.
    pub fn what_breaks(&self, limits: &[Limit]) -> String {
        let Some(winner) = self.confirmed.standings.first().filter(|_| self.winner.is_some())
        else {
            return self.describe_no_candidate(limits);
        };
        let broken = limits.iter().zip(&winner.limits).filter(|(limit, found)| {
            !found.as_ref().is_some_and(|found| limit.is_kept_by(found.mean))
        });
        let message = broken.map(|(limit, found)| describe_standing(limit, found.as_ref()));
        format!("Under {}: {}", winner.label, message.collect::<Vec<_>>().join(" "))
    }

    fn describe_no_candidate(&self, limits: &[Limit]) -> String {
        let measured = || self.searched.iter().filter(|one| one.replicas > 0);
        // Candidates are compared in the replicas that all of them have: others had other arrivals.
        let common = measured().map(|one| one.figures.len()).min().unwrap_or(0);
        let rank = |one: &Searched| {
            let figures = &one.figures[..common];
            let goal = means_of_goals(figures).first().copied().unwrap_or(f64::INFINITY);
            (excess(figures, limits), goal)
        };
        let nearest = measured().min_by(|a, b| {
            let (a, b) = (rank(a), rank(b));
            a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))
        });
        let mut message = "No candidate keeps the limits.".to_owned();
        if let Some(nearest) = nearest {
            let broken = limits.iter().zip(&nearest.limits);
            let broken =
                broken.filter(|(limit, found)| !found.is_some_and(|at| limit.is_kept_by(at)));
            let figures = broken.map(|(limit, found)| {
                let found = found.map_or("too few measurements".to_owned(), |found| {
                    in_unit(found, limit.measure.about().unit)
                });
                format!("{found} instead of {}", limit.text)
            });
            let figures: Vec<String> = figures.collect();
            message += &match figures.len() == limits.len() {
                true => format!("\n{} comes nearest: {}.", nearest.label, figures.join(", ")),
                false => format!(
                    "\n{} comes nearest, but breaks {} of {}: {}.",
                    nearest.label,
                    figures.len(),
                    limits.len(),
                    figures.join(", ")
                ),
            };
        }
        message
    }

    /// Whether the first goal was measured of the winner, without which nothing was won.
    pub fn is_measured(&self) -> bool {
        self.confirmed.standings.first().is_some_and(|winner| winner.goals[0].is_some())
    }

    /// Whether the winner keeps all limits on fresh seeds.
    pub fn keeps_limits(&self) -> bool {
        self.winner.is_some() && self.confirmed.standings.first().is_some_and(|winner| winner.keeps)
    }

    /// Whether it does, and the goal was measured.
    pub fn is_kept(&self) -> bool {
        self.is_measured() && self.keeps_limits()
    }
}

/// How a figure stands to its limit.
fn describe_standing(limit: &Limit, found: Option<&Estimate>) -> String {
    let text = &limit.text;
    match found {
        Some(found) if limit.is_significantly_kept_by(found) => format!("{text} is kept."),
        Some(found) if limit.is_kept_by(found.mean) => {
            format!("{text} is kept on average, but the interval crosses the limit.")
        }
        Some(found) => {
            let at = in_unit(found.mean, limit.measure.about().unit);
            format!("{text} is NOT kept: the value is {at}.")
        }
        None => format!("{text}: too few measurements."),
    }
}

fn describe_difference(difference: &Difference, goals: &[Goal]) -> String {
    let from = &difference.from;
    let Some(found) = difference.difference else {
        return format!("Compared with {from}: too few measurements.");
    };
    if found.mean == 0.0 && found.low == found.high {
        return format!("The same as {from} in every replica.");
    }
    let unit = goals[0].unit();
    let by = in_unit(found.mean.abs(), unit);
    let than = if found.mean <= 0.0 { "Better" } else { "Worse" };
    let interval = match (found.low, found.high) {
        (Some(low), Some(high)) => {
            let [near, far] = if found.mean <= 0.0 { [-high, -low] } else { [low, high] };
            format!(" ({} to {})", in_unit(near, unit), in_unit(far, unit))
        }
        _ => String::new(),
    };
    match difference.is_significantly_better() || difference.is_significantly_worse() {
        true => format!("{than} than {from} by {by}{interval}."),
        false => {
            let than = than.to_lowercase();
            format!("As good as {from}, within chance: {than} by {by}{interval}.")
        }
    }
}

fn describe_kept(standing: &Standing, limits: &[Limit]) -> &'static str {
    match () {
        () if limits.is_empty() => "",
        () if standing.significantly_keeps => "kept",
        () if standing.keeps => "kept on average",
        () => "broken",
    }
}

fn became(one: &Searched, limits: &[Limit]) -> String {
    let at = |limit: usize| {
        let found = one.limits[limit];
        found.map_or(String::new(), |at| {
            format!(" ({})", in_unit(at, limits[limit].measure.about().unit))
        })
    };
    // Of those that keep all limits the best go on; then of others those that are least beyond one.
    let beyond = || {
        limits
            .iter()
            .zip(&one.limits)
            .position(|(limit, at)| at.is_some_and(|at| !limit.is_kept_by(at)))
    };
    match one.dropped {
        Some(Dropped::Expected) => "not run: closed forms expect it far behind".to_owned(),
        Some(Dropped::Breaks(limit)) => {
            format!("breaks {}{}, after {} replicas", limits[limit].text, at(limit), one.replicas)
        }
        Some(Dropped::Behind) => match beyond() {
            Some(limit) => {
                let (text, at) = (&limits[limit].text, at(limit));
                format!("exceeds {text}{at} within chance, after {} replicas", one.replicas)
            }
            None => format!("behind, after {} replicas", one.replicas),
        },
        None => "confirmed".to_owned(),
    }
}

fn column(head: &str, unit: Unit) -> Column {
    let scale = scale(unit);
    let name = scale.name();
    let head =
        if name.is_empty() || name == "%" { head.to_owned() } else { format!("{head}, {name}") };
    Column { head, measure: None, scale }
}

fn scale(unit: Unit) -> Scale {
    match unit {
        Unit::Seconds => Scale::Milliseconds,
        Unit::Share => Scale::Percent,
        Unit::MegabitsPerSecond => Scale::Megabits,
        Unit::Packets => Scale::Packets,
        Unit::None | Unit::PerSecond => Scale::Plain,
    }
}

/// A figure in words.
pub fn in_unit(value: f64, unit: Unit) -> String {
    let scale = scale(unit);
    let shown = shortflow_report::significant(value * scale.factor());
    match scale.name() {
        "" => shown,
        name => format!("{shown} {name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offered::Offered;
    use crate::search::Figures;

    #[test]
    fn who_goes_no_further_for_a_limit_that_may_be_chance_is_told_so_and_not_as_slower() {
        let limits = [Limit::parse("voice.delay.p99 <= 30 ms", &Offered::for_tests()).unwrap()];
        let at = |delay, dropped| {
            let one = Searched {
                label: "one".to_owned(),
                expected: None,
                replicas: 2,
                goals: vec![Some(1.0)],
                limits: vec![Some(delay)],
                dropped,
                figures: Vec::new(),
            };
            became(&one, &limits)
        };
        let bound = "voice.delay.p99 <= 30 ms";
        assert_eq!(at(0.02, Some(Dropped::Behind)), "behind, after 2 replicas");
        assert_eq!(
            at(0.05, Some(Dropped::Behind)),
            format!("exceeds {bound} (50.0 ms) within chance, after 2 replicas")
        );
        assert_eq!(
            at(0.05, Some(Dropped::Breaks(0))),
            format!("breaks {bound} (50.0 ms), after 2 replicas")
        );
        assert_eq!(at(0.05, None), "confirmed");
    }

    #[test]
    fn the_nearest_to_the_limits_is_found_in_the_replicas_that_all_candidates_have() {
        let limits = [Limit::parse("voice.delay.p99 <= 30 ms", &Offered::for_tests()).unwrap()];
        // The third and the fourth replica have so much traffic that every candidate is far beyond the limit.
        let one = |label: &str, delays: &[f64]| Searched {
            label: label.to_owned(),
            expected: None,
            replicas: delays.len() as u32,
            goals: vec![Some(1.0)],
            limits: vec![shortflow_measure::mean(delays)],
            dropped: Some(Dropped::Breaks(0)),
            figures: delays
                .iter()
                .map(|delay| Figures { goals: vec![Some(1.0)], limits: vec![Some(*delay)] })
                .collect(),
        };
        let tuned = Tuned {
            winner: None,
            confirmed: crate::confirm::confirm(&[], &limits),
            searched: vec![one("Long", &[0.04, 0.04, 0.2, 0.2]), one("Short", &[0.05, 0.05])],
            replicas: 6,
            fresh: MIN_REPLICAS,
            model: None,
            classes: Vec::new(),
        };
        let message = tuned.describe_no_candidate(&limits);
        assert!(message.contains("\nLong comes nearest: 120 ms instead of"), "{message}");
        let note = tuned.search_table(&[], &limits).note.unwrap();
        assert!(note.starts_with("Figures are means over 2 to 4 replicas"), "{note}");
    }
}
