//! The studies that are built into the program.

use super::study_files::StudyFiles;

macro_rules! files {
    ($folder:literal: $($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../../../papers/", $folder, "/", $name)))),*]
    };
}

pub(super) static STUDIES: [StudyFiles; 5] = [
    StudyFiles::new(
        "cm05",
        files!["cm05":
            "study.toml",
            "calibration.toml",
            "calibration.json",
            "claims.toml",
            "ledger.json",
            "models.toml",
            "models.json",
            "models/short.toml",
            "models/long.toml",
            "models/fixed.toml",
            "single.toml",
            "multi.toml",
            "policies/best-effort.toml",
            "policies/tsw2cm-servers.toml",
            "policies/tsw2cm.toml",
            "policies/fair-marker.toml",
            "policies/per-flow-marker.toml",
        ],
    ),
    StudyFiles::new(
        "harp05",
        files!["harp05":
            "study.toml",
            "calibration.toml",
            "calibration.json",
            "claims.toml",
            "ledger.json",
            "models.toml",
            "models.json",
            "models/priorities.toml",
            "models/policy.toml",
            "chain.toml",
            "policies/harp.toml",
            "policies/harp-own.toml",
            "policies/srpt-fp.toml",
            "policies/dt-wfq.toml",
            "policies/droptail.toml",
            "policies/stf.toml",
            "policies/harp-streams.toml",
            "policies/harp-edge.toml",
            "policies/harp-admission.toml",
            "policies/dstf-host.toml",
            "policies/host-fair.toml",
            "policies/fq-codel.toml",
            "policies/red.toml",
        ],
    ),
    StudyFiles::new(
        "lhl03",
        files!["lhl03":
            "study.toml",
            "calibration.toml",
            "calibration.json",
            "claims.toml",
            "ledger.json",
            "rehearsed.json",
            "testbed.toml",
            "policies/best-effort.toml",
            "policies/best-effort-linux.toml",
            "policies/aggregated.toml",
            "policies/isolated.toml",
        ],
    ),
    StudyFiles::new(
        "mtk99",
        files!["mtk99":
            "study.toml",
            "claims.toml",
            "calibration.toml",
            "calibration.json",
            "ledger.json",
            "access.toml",
            "load.toml",
            "outside.toml",
            "short.toml",
            "kept.toml",
            "policies/uncontrolled.toml",
            "policies/red.toml",
            "policies/shaping.toml",
            "policies/shaping-triggers.toml",
            "policies/shaping-timer.toml",
            "policies/marking.toml",
            "policies/marking-strict.toml",
        ],
    ),
    StudyFiles::new(
        "nt02",
        files!["nt02":
            "study.toml",
            "calibration.toml",
            "calibration.json",
            "claims.toml",
            "ledger.json",
            "tree.toml",
            "long.toml",
            "policies/application-policed.toml",
            "policies/application-remarked.toml",
            "policies/application.toml",
            "policies/droptail.toml",
            "policies/edge-marker.toml",
            "policies/fq-codel.toml",
            "policies/host-fair.toml",
            "policies/red.toml",
            "policies/state-long.toml",
            "policies/state-randomized.toml",
            "policies/state.toml",
            "policies/telnet-queue-wrr.toml",
            "policies/telnet-queue.toml",
        ],
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{
        CheckSpec, Claims, FigureKind, Measure, Quantity, RowSpec, RunSpec, Study, TableSpec, names,
    };

    fn parse<T: serde::de::DeserializeOwned>(study: &StudyFiles, name: &str) -> T {
        toml::from_str(study.text(name).unwrap()).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// Which runs a point must be of.
    #[derive(Clone, Copy, PartialEq)]
    enum Length {
        Full,
        FullAndQuick,
    }

    fn has_point(run: &RunSpec, x: f64, length: Length) -> bool {
        let is_quick = || run.quick.as_ref().is_none_or(|quick| quick.contains(&x));
        run.values.contains(&x) && (length == Length::Full || is_quick())
    }

    /// What a quantity names that its study does not have.
    fn unknown(quantity: &Quantity, runs: &[RunSpec], length: Length) -> Vec<String> {
        let mut mistakes = Vec::new();
        for (name, x) in [
            (Some(&quantity.run), quantity.x),
            (quantity.over.as_ref(), quantity.over_x.or(quantity.x)),
        ] {
            let Some(name) = name else { continue };
            match (runs.iter().find(|run| run.name == *name), x) {
                (None, _) => mistakes.push(format!("no run {name}")),
                (Some(run), Some(x)) if !has_point(run, x, length) => {
                    mistakes.push(format!("run {name} has no point {x}"));
                }
                _ => {}
            }
        }
        let per = quantity.per.iter().map(|per| per.within(quantity, &quantity.run));
        mistakes.extend(per.flat_map(|per| unknown(&per, runs, length)));
        mistakes
    }

    /// What is wrong with the curve of a figure: one that is not over the sweep is at one point, and a
    /// distribution is of completion times as they are.
    fn mistakes_of_curve(kind: FigureKind, of: &Quantity, runs: &[RunSpec]) -> Vec<String> {
        let mut mistakes = unknown(of, runs, Length::Full);
        let has_one_point = |run: &RunSpec| run.values.len() == 1;
        let is_at_a_point =
            of.x.is_some() || runs.iter().any(|run| run.name == of.run && has_one_point(run));
        if kind != FigureKind::Sweep && !is_at_a_point {
            mistakes.push("which point of the sweep?".to_owned());
        }
        let is_derived = of.over.is_some() || of.per.is_some() || of.unit.is_some();
        if kind == FigureKind::Distribution && (is_derived || of.measure != Measure::Completion) {
            mistakes.push("a distribution is of completion times".to_owned());
        }
        mistakes
    }

    fn mistakes_of_table(table: &TableSpec, runs: &[RunSpec]) -> Vec<String> {
        let at = |row: &RowSpec, of: &Quantity| {
            let x = of.x.or(row.x);
            unknown(&Quantity { x, ..of.or_of(&row.run) }, runs, Length::Full)
        };
        let columns = || table.columns.iter().map(|column| &column.of);
        table.rows.iter().flat_map(|row| columns().flat_map(move |of| at(row, of))).collect()
    }

    /// A point that a check names would be left out in silence where its run has no such point. The short form makes no
    /// check of a run that it leaves out, and needs nothing to compare it with.
    fn mistakes(check: &CheckSpec, runs: &[RunSpec]) -> Vec<String> {
        let run = |name: &str| runs.iter().find(|run| run.name == name);
        let is_full_only = |run: &RunSpec| run.quick.as_ref().is_some_and(Vec::is_empty);
        let length = match run(&check.ours.run).is_some_and(is_full_only) {
            true => Length::Full,
            false => Length::FullAndQuick,
        };
        let mut mistakes = unknown(&check.ours, runs, Length::FullAndQuick);
        let than = check.than.iter();
        mistakes.extend(than.flat_map(|than| unknown(than, runs, length)));
        let points = check.x.iter().flatten().filter(|_| check.ours.x.is_none());
        let absent = points.filter(|x| run(&check.ours.run).is_some_and(|r| !r.values.contains(x)));
        mistakes.extend(absent.map(|x| format!("run {} has no point {x}", check.ours.run)));
        let compares = check.rule.compares();
        if compares != check.than.is_some() {
            mistakes.push(format!("{:?} with something to compare: {compares}", check.rule));
        }
        mistakes
    }

    #[test]
    fn checks_figures_and_tables_name_runs_and_points_that_their_study_has() {
        for files in &STUDIES {
            let study: Study = parse(files, names::STUDY);
            let claims: Claims = parse(files, names::CLAIMS);
            for claim in &claims.claims {
                for check in &claim.checks {
                    assert_eq!(
                        mistakes(check, &study.runs),
                        [""; 0],
                        "{}: {}",
                        claim.id,
                        check.what
                    );
                }
            }
            for figure in &study.figures {
                for curve in &figure.curves {
                    let mistakes = mistakes_of_curve(figure.kind, &curve.of, &study.runs);
                    assert_eq!(mistakes, [""; 0], "{}: {}", figure.name, curve.label);
                }
            }
            for table in &study.tables {
                assert_eq!(mistakes_of_table(table, &study.runs), [""; 0], "{}", table.name);
            }
        }
    }
}
