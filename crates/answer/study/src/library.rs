//! Sources of studies: those built into the program, and folders on disk.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use shortflow_measure::results;
use shortflow_text::MAX_DATA;

use crate::calibration::{self, OUTCOME};
use crate::ledger::Ledger;
use crate::models;
use crate::rehearsed;

/// A study's files, by their names within its folder.
#[derive(Debug, Clone)]
pub struct StudyFiles {
    /// The study's name: that of its folder.
    pub id: Cow<'static, str>,
    source: Source,
}

#[derive(Debug, Clone)]
enum Source {
    BuiltIn(&'static [(&'static str, &'static str)]),
    Disk { folder: PathBuf, files: Vec<(String, String)> },
}

impl StudyFiles {
    pub(crate) const fn new(
        id: &'static str,
        files: &'static [(&'static str, &'static str)],
    ) -> Self {
        StudyFiles { id: Cow::Borrowed(id), source: Source::BuiltIn(files) }
    }

    /// The study called `id` that comes with the program.
    pub fn find(id: &str) -> Option<&'static StudyFiles> {
        STUDIES.iter().find(|study| study.id == id)
    }

    /// The study in a folder: all its TOML files, those of folders inside it too, and what came of its
    /// calibration.
    pub fn read(folder: &Path) -> Result<StudyFiles, results::Error> {
        let mut files = Vec::new();
        read_into(&mut files, folder, "")?;
        let name = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        let id = name.file_name().unwrap_or(folder.as_os_str()).to_string_lossy().into_owned();
        let source = Source::Disk { folder: folder.to_owned(), files };
        Ok(StudyFiles { id: Cow::Owned(id), source })
    }

    /// The text of a file.
    pub fn text(&self, name: &str) -> Option<&str> {
        match &self.source {
            Source::BuiltIn(files) => files.iter().find(|(n, _)| *n == name).map(|(_, text)| *text),
            Source::Disk { files, .. } => {
                files.iter().find(|(n, _)| n == name).map(|(_, text)| text.as_str())
            }
        }
    }

    /// The names of all its files.
    pub(crate) fn names_of_files(&self) -> Vec<&str> {
        match &self.source {
            Source::BuiltIn(files) => files.iter().map(|(name, _)| *name).collect(),
            Source::Disk { files, .. } => files.iter().map(|(name, _)| name.as_str()).collect(),
        }
    }

    /// Where a file of the study is, for messages.
    pub(crate) fn place(&self, name: &str) -> String {
        match &self.source {
            Source::BuiltIn(_) => format!("papers/{}/{name}", self.id),
            Source::Disk { folder, .. } => folder.join(name).display().to_string(),
        }
    }

    /// The folder that it was read from, if any.
    pub(crate) fn folder(&self) -> Option<&Path> {
        match &self.source {
            Source::BuiltIn(_) => None,
            Source::Disk { folder, .. } => Some(folder),
        }
    }

    /// What names it on the command line.
    pub(crate) fn argument(&self) -> String {
        self.folder().map_or_else(|| self.id.to_string(), |folder| folder.display().to_string())
    }

    /// Which study it is, in a sentence.
    pub fn description(&self) -> String {
        match &self.source {
            Source::BuiltIn(_) => format!(
                "The study {} that is built into the program; no files on disk are read.",
                self.id
            ),
            Source::Disk { folder, .. } => format!("The study in {}.", folder.display()),
        }
    }

    /// Whether something that the paper leaves open is calibrated.
    pub fn is_calibrated(&self) -> bool {
        self.text(calibration::SPEC).is_some()
    }

    /// The ledgers of all studies that come with the program, as they are committed.
    ///
    /// # Panics
    /// When one is not a ledger, which a test would see.
    pub fn committed() -> Vec<Ledger> {
        let ledger = |files: &StudyFiles| {
            let text = files.text("ledger.json")?;
            let mut ledger = serde_json::from_str(text).expect("a committed ledger is one");
            rehearsed::write_beside(&mut ledger, files);
            models::join(&mut ledger, files);
            Some(ledger)
        };
        STUDIES.iter().filter_map(ledger).collect()
    }

    /// The names of all studies that come with the program.
    pub fn names() -> impl Iterator<Item = &'static str> {
        STUDIES.iter().map(|study| &*study.id)
    }
}

/// Reads the files of a study in a folder and in those inside it; their names begin with `prefix`.
fn read_into(
    files: &mut Vec<(String, String)>,
    folder: &Path,
    prefix: &str,
) -> Result<(), results::Error> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| results::Error::Io { action: "read", path, source }
    };
    let entries = std::fs::read_dir(folder).map_err(failed(folder))?;
    for entry in entries {
        let path = entry.map_err(failed(folder))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            read_into(files, &path, &format!("{prefix}{name}/"))?;
        } else if path.is_file()
            && (name.ends_with(".toml")
                || (prefix.is_empty()
                    && [OUTCOME, rehearsed::FILE, models::FILE].contains(&name.as_str())))
        {
            let text = shortflow_files::read_text(&path, MAX_DATA);
            let text = text.map_err(|error| failed(&path)(error.into()))?;
            files.push((format!("{prefix}{name}"), text));
        }
    }
    files.sort();
    Ok(())
}

macro_rules! files {
    ($folder:literal: $($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../../papers/", $folder, "/", $name)))),*]
    };
}

static STUDIES: [StudyFiles; 5] = [
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
            "outside.toml",
            "short.toml",
            "policies/uncontrolled.toml",
            "policies/red.toml",
            "policies/shaping.toml",
            "policies/shaping-triggers.toml",
            "policies/shaping-timer.toml",
            "policies/marking.toml",
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
        CheckSpec, Claims, FigureKind, Measure, Quantity, RowSpec, RunSpec, Study, TableSpec,
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
    fn a_study_on_disk_has_the_files_of_its_folder_by_their_names_in_it() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("mine");
        std::fs::create_dir_all(folder.join("policies")).unwrap();
        std::fs::write(folder.join("study.toml"), "title = \"mine\"").unwrap();
        std::fs::write(folder.join("policies/red.toml"), "[roles.core]").unwrap();
        std::fs::write(folder.join("README.md"), "no part of it").unwrap();
        let study = StudyFiles::read(&folder).unwrap();
        assert_eq!(study.id, "mine");
        assert_eq!(study.text("policies/red.toml"), Some("[roles.core]"));
        assert_eq!(study.text("README.md"), None);
        assert_eq!(study.description(), format!("The study in {}.", folder.display()));
        let built_in = StudyFiles::find("cm05").unwrap().description();
        assert!(built_in.contains("cm05 that is built into the program"), "{built_in}");
    }

    #[test]
    fn a_committed_ledger_says_when_its_reading_misses_a_figure_of_the_paper() {
        let ledgers = StudyFiles::committed();
        let missing = ledgers.iter().filter(|ledger| ledger.reading_misses);
        let missing: Vec<&str> = missing.map(|ledger| &*ledger.study).collect();
        let best = |files: &&StudyFiles| {
            let outcome = files.text(calibration::OUTCOME)?;
            let outcome: calibration::Calibration = serde_json::from_str(outcome).unwrap();
            Some(outcome.grid.first()?.passes)
        };
        let expected = STUDIES.iter().filter(|files| best(files) == Some(false));
        let expected: Vec<&str> = expected.map(|files| &*files.id).collect();
        assert_eq!(missing, expected);
        assert_eq!(missing, ["nt02"]);
    }

    #[test]
    fn checks_figures_and_tables_name_runs_and_points_that_their_study_has() {
        for files in &STUDIES {
            let study: Study = parse(files, "study.toml");
            let claims: Claims = parse(files, "claims.toml");
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
