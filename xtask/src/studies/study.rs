//! A study: what it claims, and what its committed ledger says.

use std::io;
use std::path::Path;

use serde::Deserialize;

use super::PAPERS;
use crate::tidy::{Finding, Tree};

/// A study of `papers/`.
pub(super) struct Study {
    pub(super) id: String,
    title: String,
    /// What its paper is about.
    about: String,
    claims: Vec<Claim>,
    /// `None` where no full run is committed; the mistake where it cannot be read.
    ledger: Option<Result<Ledger, String>>,
    /// The claims of formulas, which need no run.
    modelled: Vec<Judged>,
    tables: String,
    /// The verdicts; empty where there was no full run.
    verdicts: String,
    /// The grid of the calibration; empty where none was run.
    calibration: String,
}

#[derive(Deserialize)]
struct StudyFile {
    title: String,
    #[serde(default)]
    about: String,
}

#[derive(Deserialize)]
struct ClaimsFile {
    claim: Vec<Claim>,
}

#[derive(Deserialize)]
struct Claim {
    id: String,
}

/// The part of a ledger that is used here.
#[derive(Deserialize)]
struct Ledger {
    quick: bool,
    claims: Vec<Judged>,
}

/// The part of the results of formulas that is used here.
#[derive(Deserialize)]
struct Modelled {
    claims: Vec<Judged>,
}

#[derive(Deserialize)]
struct Judged {
    id: String,
    verdict: String,
}

/// The verdicts, in the order of the list of studies.
const VERDICTS: [&str; 4] = ["holds", "fails", "depends", "unsettled"];

impl Study {
    /// The study in `papers/<id>/`. Mistakes in its TOML are for the crate `study` to find.
    pub(super) fn read(tree: &Tree, id: String) -> Study {
        let text = |name: &str| tree.text(&format!("{PAPERS}{id}/{name}"));
        let title = text("study.toml").and_then(|text| toml::from_str::<StudyFile>(text).ok());
        let claims = text("claims.toml").and_then(|text| toml::from_str::<ClaimsFile>(text).ok());
        let ledger = text("ledger.json").map(parse);
        let modelled =
            text("models.json").and_then(|text| serde_json::from_str::<Modelled>(text).ok());
        let [tables, verdicts, calibration] = ["tables.md", "claims.md", "calibration.md"]
            .map(|name| text(name).unwrap_or_default().to_owned());
        Study {
            about: title.as_ref().map(|file| file.about.clone()).unwrap_or_default(),
            title: title.map_or_else(|| id.clone(), |file| file.title),
            claims: claims.map_or_else(Vec::new, |file| file.claim),
            ledger,
            modelled: modelled.map_or_else(Vec::new, |modelled| modelled.claims),
            tables,
            verdicts,
            calibration,
            id,
        }
    }

    /// Takes the calibration, the ledger and the tables over from `results`; gives the files that were
    /// written.
    pub(super) fn take_over(&self, results: &Path, top: &Path) -> io::Result<Vec<String>> {
        let from = results.join(&self.id);
        let mut written = Vec::new();
        let mut take = |names: &[&str]| {
            names.iter().try_for_each(|name| {
                let path = format!("{PAPERS}{}/{name}", self.id);
                std::fs::copy(from.join(name), top.join(&path))?;
                written.push(path);
                Ok::<_, io::Error>(())
            })
        };
        if from.join("calibration.json").exists() {
            take(&["calibration.json", "calibration.md"])?;
        }
        for name in ["rehearsed.json", "models.json"] {
            if from.join(name).exists() {
                take(&[name])?;
            }
        }
        let ledger = from.join("ledger.json");
        if !ledger.exists() {
            return Ok(written);
        }
        if let Some(mistake) = self.mistake(&parse(&std::fs::read_to_string(&ledger)?)) {
            let message = format!("{}: {mistake}; {}", ledger.display(), self.remedy());
            return Err(io::Error::other(message));
        }
        take(&["ledger.json", "claims.md"])?;
        // A part of a study makes no tables.
        if from.join("tables.md").exists() {
            take(&["tables.md"])?;
        }
        Ok(written)
    }

    /// Why the ledger is not one of a full run of this study.
    pub(super) fn findings(&self) -> Vec<Finding> {
        let mistake = self.ledger.as_ref().and_then(|ledger| self.mistake(ledger));
        let path = format!("{PAPERS}{}/ledger.json", self.id);
        mistake.into_iter().map(|found| Finding::new(&path, 1, found, self.remedy())).collect()
    }

    fn mistake(&self, ledger: &Result<Ledger, String>) -> Option<String> {
        let ledger = match ledger {
            Ok(ledger) => ledger,
            Err(mistake) => return Some(mistake.clone()),
        };
        let judged = self.own_claims(ledger);
        let judged: Vec<&str> = judged.map(|claim| claim.id.as_str()).collect();
        let claimed: Vec<&str> = self.claims.iter().map(|claim| claim.id.as_str()).collect();
        if ledger.quick {
            Some("this is of a quick run".to_owned())
        } else if judged != claimed {
            let (judged, claimed) = (judged.join(", "), claimed.join(", "));
            Some(format!("it has the claims {judged}, where claims.toml has {claimed}"))
        } else {
            None
        }
    }

    /// The claims of a ledger about runs. Those about formulas are among them where the study was run with both.
    fn own_claims<'l>(&self, ledger: &'l Ledger) -> impl Iterator<Item = &'l Judged> {
        let is_of_formulas = |id: &str| self.modelled.iter().any(|claim| claim.id == id);
        ledger.claims.iter().filter(move |claim| !is_of_formulas(&claim.id))
    }

    fn remedy(&self) -> String {
        format!("run `shortflow reproduce {}` and `cargo xtask studies --from results`", self.id)
    }

    /// Whether the ledger of a full run is committed.
    pub(super) fn was_run(&self) -> bool {
        matches!(self.ledger, Some(Ok(_)))
    }

    /// The study's line in the list of all.
    pub(super) fn line(&self) -> String {
        let counts = match &self.ledger {
            Some(Ok(ledger)) => VERDICTS.map(|verdict| {
                self.own_claims(ledger)
                    .chain(&self.modelled)
                    .filter(|claim| claim.verdict == verdict)
                    .count()
                    .to_string()
            }),
            _ => VERDICTS.map(|_| "–".to_owned()),
        };
        let (title, claims) = (cell(&self.title), self.claims.len() + self.modelled.len());
        let path = format!("{PAPERS}{}/README.md", self.id);
        let about = cell(&self.about);
        format!("| [{title}]({path}) | {about} | {claims} | {} |\n", counts.join(" | "))
    }

    /// Every claim and its verdict.
    pub(super) fn claims(&self) -> String {
        if self.verdicts.is_empty() { NO_RUN.to_owned() } else { self.verdicts.clone() }
    }

    /// The grid of the calibration.
    pub(super) fn calibration(&self) -> String {
        let grid = &self.calibration;
        if grid.is_empty() { "Nothing is calibrated yet.\n".to_owned() } else { grid.clone() }
    }

    /// All tables.
    pub(super) fn tables(&self) -> String {
        if self.tables.is_empty() {
            return NO_RUN.to_owned();
        }
        let lines = self.tables.lines().filter(|line| name_of_table(line).is_none());
        lines.map(|line| format!("{line}\n")).collect()
    }

    /// The table called `name`.
    pub(super) fn table(&self, name: &str) -> Result<String, String> {
        if self.tables.is_empty() {
            return Ok(NO_RUN.to_owned());
        }
        let mut lines = self.tables.lines();
        lines
            .find(|line| name_of_table(line) == Some(name))
            .ok_or_else(|| format!("no table is called `{name}`"))?;
        let own = lines.take_while(|line| name_of_table(line).is_none());
        Ok(own.map(|line| format!("{line}\n")).collect())
    }
}

fn parse(ledger: &str) -> Result<Ledger, String> {
    serde_json::from_str(ledger).map_err(|mistake| mistake.to_string())
}

/// The name in `<!-- table: NAME -->`, which stands before each table.
fn name_of_table(line: &str) -> Option<&str> {
    line.strip_prefix("<!-- table: ")?.strip_suffix(" -->")
}

/// Text as it may stand in a cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

const NO_RUN: &str = "No full run is committed yet.";

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn only_the_ledger_of_a_full_run_is_taken_over() {
        let home = tempfile::tempdir().unwrap();
        let (top, results) = (home.path(), home.path().join("results"));
        fs::create_dir_all(results.join("a")).unwrap();
        fs::create_dir_all(top.join("papers/a")).unwrap();
        let claims = "[[claim]]\nid = \"a.1\"\nclaim = \"Faster.\"\n";
        let tree = Tree::from_files(&[
            ("papers/a/study.toml", "title = \"A\""),
            ("papers/a/claims.toml", claims),
            ("papers/a/models.json", r#"{ "claims": [{ "id": "a.2", "verdict": "holds" }] }"#),
        ]);
        let study = Study::read(&tree, "a".to_owned());
        let ledger = |quick: bool| {
            let claim = |id| format!(r#"{{ "id": "{id}", "verdict": "holds" }}"#);
            // The second is about a formula, and is judged apart.
            let claims = [claim("a.1"), claim("a.2")].join(",");
            let text = format!(r#"{{ "quick": {quick}, "claims": [{claims}] }}"#);
            fs::write(results.join("a/ledger.json"), text).unwrap();
            fs::write(results.join("a/claims.md"), "claims").unwrap();
            fs::write(results.join("a/tables.md"), "tables").unwrap();
        };

        assert_eq!(study.take_over(&results, top).unwrap(), [""; 0], "nothing there");
        ledger(true);
        let refused = study.take_over(&results, top).unwrap_err().to_string();
        assert!(
            refused.contains("this is of a quick run; run `shortflow reproduce a`"),
            "{refused}"
        );
        assert!(!top.join("papers/a/ledger.json").exists());
        ledger(false);
        let files = ["papers/a/ledger.json", "papers/a/claims.md", "papers/a/tables.md"];
        assert_eq!(study.take_over(&results, top).unwrap(), files);
        assert_eq!(fs::read_to_string(top.join(files[2])).unwrap(), "tables");
    }
}
