//! What the reproduced studies came to, shown where people read first: the list of studies in
//! `README.md`, the claims and tables in `papers/<id>/`. `cargo xtask tidy` holds these parts against
//! the committed ledgers, `cargo xtask studies` writes them.
//!
//! A part stands between `<!-- begin: NAME -->` and `<!-- end: NAME -->`.
//!
//! | where | name | what |
//! |---|---|---|
//! | `README.md` | `studies` | every study, and how many of its claims hold |
//! | `papers/<id>/*.md` | `claims` | every claim of the study and its verdict |
//! | | `calibration` | the grid of its calibration |
//! | | `tables` | all tables of the study |
//! | | `table: PAGES` | the table called `PAGES` |

mod blocks;
mod study;

use std::io;
use std::path::Path;

use crate::tidy::{Finding, Tree, top};
use blocks::Blocks;
use study::Study;

const README: &str = "README.md";
const PAPERS: &str = "papers/";

/// Takes over the ledgers and tables from `results`, if it is given, and writes all parts that are not
/// what the ledgers give. Gives the files that it wrote.
pub(crate) fn write(results: Option<&Path>) -> io::Result<Vec<String>> {
    let top = top()?;
    let mut written = Vec::new();
    if let Some(results) = results {
        for study in studies(&Tree::of_repository()?) {
            written.extend(study.take_over(results, &top)?);
        }
        if written.is_empty() {
            let message = format!("no ledger of any study in {}", results.display());
            return Err(io::Error::other(message));
        }
    }
    let tree = Tree::of_repository()?;
    let studies = studies(&tree);
    for (path, text) in documents(&tree) {
        let renewed = Blocks::new(text).renewed(|name| part(path, name, &studies));
        let renewed = renewed
            .map_err(|(line, mistake)| io::Error::other(format!("{path}:{line}: {mistake}")))?;
        if renewed != text {
            std::fs::write(top.join(path), renewed)?;
            written.push(path.to_owned());
        }
    }
    Ok(written)
}

/// Finds parts that are not what the committed ledgers give.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let studies = studies(tree);
    let mut findings: Vec<Finding> = studies.iter().flat_map(Study::findings).collect();
    for (path, text) in documents(tree) {
        let blocks = Blocks::new(text);
        match blocks.renewed(|name| part(path, name, &studies)) {
            Ok(renewed) if renewed == text => {}
            Ok(renewed) => {
                let same = text.lines().zip(renewed.lines()).take_while(|(a, b)| a == b).count();
                let found = "this is not what the committed ledgers give";
                findings.push(Finding::new(path, same + 1, found, "run `cargo xtask studies`"));
            }
            Err((line, mistake)) => {
                findings.push(Finding::new(path, line, mistake, "see xtask/src/studies.rs"));
            }
        }
    }
    findings
}

/// The studies in the order of their names: folders of `papers/` with a `study.toml`.
fn studies(tree: &Tree) -> Vec<Study> {
    let folder = |path: &str| {
        let (id, file) = path.strip_prefix(PAPERS)?.split_once('/')?;
        (file == "study.toml").then(|| id.to_owned())
    };
    tree.texts().filter_map(|(path, _)| folder(path)).map(|id| Study::read(tree, id)).collect()
}

/// The documents that have such parts.
fn documents(tree: &Tree) -> impl Iterator<Item = (&str, &str)> {
    let may_have = |path: &str| path == README || path.starts_with(PAPERS);
    tree.texts_with("md").filter(move |(path, text)| may_have(path) && text.contains(blocks::BEGIN))
}

/// What stands in the part called `name` of the document at `path`.
fn part(path: &str, name: &str, studies: &[Study]) -> Result<String, String> {
    let unknown = || format!("nothing is called `{name}` here");
    if path == README {
        return (name == "studies").then(|| list(studies)).ok_or_else(unknown);
    }
    let id = path.strip_prefix(PAPERS).and_then(|rest| rest.split('/').next());
    let study = studies.iter().find(|study| Some(study.id.as_str()) == id).ok_or_else(unknown)?;
    match name.split_once(": ") {
        None if name == "claims" => Ok(study.claims()),
        None if name == "calibration" => Ok(study.calibration()),
        None if name == "tables" => Ok(study.tables()),
        Some(("table", table)) => study.table(table),
        _ => Err(unknown()),
    }
}

/// Every study, and how many of its claims hold.
fn list(studies: &[Study]) -> String {
    let head = "| study | what it is about | claims | hold | fail | depend | unsettled |\n\
                |---|---|---:|---:|---:|---:|---:|\n";
    let list = studies.iter().fold(head.to_owned(), |list, study| list + &study.line());
    let is_complete = studies.iter().all(Study::was_run);
    if is_complete { list } else { list + "\n–: no full run is committed yet.\n" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::read;

    const STUDY: &str = "title = \"Someone 2005: a marker\"\nabout = \"It marks\"\nruns = []\n";
    const CLAIMS: &str = "[[claim]]\nid = \"a.1\"\nclaim = \"Long.\"\nshort = \"faster | always\"\n\
                          [[claim]]\nid = \"a.2\"\nclaim = \"No loss.\"\n";
    const LEDGER: &str = r#"{ "quick": false, "claims": [
            { "id": "a.1", "verdict": "holds" }, { "id": "a.2", "verdict": "depends" } ] }"#;
    const TABLES: &str =
        "<!-- table: pages -->\n**Pages**\n\n| | s |\n\n<!-- table: loss -->\n**Loss**\n";

    fn block(name: &str, text: &str) -> String {
        format!("before\n<!-- begin: {name} -->\n{text}\n<!-- end: {name} -->\nafter\n")
    }

    fn findings(documents: &[(&str, &str)], ledger: &str) -> Vec<String> {
        let study = [
            ("papers/a/study.toml", STUDY),
            ("papers/a/claims.toml", CLAIMS),
            ("papers/a/ledger.json", ledger),
            ("papers/a/claims.md", VERDICTS),
            ("papers/a/tables.md", TABLES),
        ];
        let with_ledger = if ledger.is_empty() { &study[..2] } else { &study[..] };
        read(check, &[with_ledger, documents].concat())
    }

    const LIST: &str = "
| study | what it is about | claims | hold | fail | depend | unsettled |
|---|---|---:|---:|---:|---:|---:|
| [Someone 2005: a marker](papers/a/README.md) | It marks | 2 | 1 | 0 | 1 | 0 |
";

    const VERDICTS: &str = "\n| a.1 | faster | ✓ holds |\n| a.2 | No loss. | ± depends |\n";

    #[test]
    fn what_the_ledger_gives_is_fine() {
        let readme = block("studies", LIST);
        let claims = block("claims", VERDICTS);
        let tables = block("tables", "\n**Pages**\n\n| | s |\n\n**Loss**\n");
        let one = block("table: loss", "\n**Loss**\n");
        let documents = [
            ("README.md", readme.as_str()),
            ("papers/a/README.md", &claims),
            ("papers/a/today.md", &(tables + &one)),
        ];
        assert_eq!(findings(&documents, LEDGER), [""; 0]);
    }

    #[test]
    fn a_verdict_that_is_not_the_ledgers_is_found_at_its_line() {
        let claims = block("claims", &VERDICTS.replace("± depends", "✓ holds"));
        assert_eq!(
            findings(&[("papers/a/README.md", &claims)], LEDGER),
            [
                "papers/a/README.md:5: this is not what the committed ledgers give; run `cargo xtask \
              studies`"
            ]
        );
    }

    #[test]
    fn a_study_without_a_ledger_says_so() {
        const NOTE: &str = "\n–: no full run is committed yet.\n";
        let line =
            "| [Someone 2005: a marker](papers/a/README.md) | It marks | 2 | – | – | – | – |";
        let readme = block("studies", &(LIST.replace(LIST.lines().nth(3).unwrap(), line) + NOTE));

        let claims = block("claims", "\nNo full run is committed yet.\n");
        let documents = [("README.md", readme.as_str()), ("papers/a/today.md", &claims)];
        assert_eq!(findings(&documents, ""), [""; 0]);
    }

    #[test]
    fn the_ledger_of_a_short_run_or_of_other_claims_is_found() {
        assert_eq!(
            findings(&[], &LEDGER.replace("false, \"claims\"", "true, \"claims\"")),
            [
                "papers/a/ledger.json:1: this is of a quick run; run `shortflow reproduce a` and `cargo \
              xtask studies --from results`"
            ]
        );
        assert_eq!(
            findings(&[], &LEDGER.replace("a.2", "a.3")),
            [
                "papers/a/ledger.json:1: it has the claims a.1, a.3, where claims.toml has a.1, a.2; run \
              `shortflow reproduce a` and `cargo xtask studies --from results`"
            ]
        );
        assert!(findings(&[], "{").concat().contains("papers/a/ledger.json:1: "));
    }

    #[test]
    fn an_unknown_part_or_one_that_does_not_end_is_found() {
        let unknown = block("verdicts", "");
        let open = "<!-- begin: claims -->\n";
        let missing = block("table: rate", "");
        assert_eq!(
            findings(
                &[
                    ("README.md", unknown.as_str()),
                    ("papers/a/README.md", open),
                    ("papers/a/today.md", &missing)
                ],
                LEDGER
            ),
            [
                "README.md:2: nothing is called `verdicts` here; see xtask/src/studies.rs",
                "papers/a/README.md:1: the part `claims` does not end; see xtask/src/studies.rs",
                "papers/a/today.md:2: no table is called `rate`; see xtask/src/studies.rs",
            ]
        );
    }

    #[test]
    fn other_documents_may_have_parts_of_their_own() {
        let other = block("limits", "generated elsewhere");
        assert_eq!(findings(&[("docs/performance.md", &other)], LEDGER), [""; 0]);
    }
}
