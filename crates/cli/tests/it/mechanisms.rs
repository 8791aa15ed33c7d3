//! Generates the table of docs/papers.md: which engine supports which mechanism of the papers, by running the engines.

use std::fmt::Write as _;
use std::path::Path;

use serde::Deserialize;
use shortflow_deploy::{TcpGrowth, compile_tcp};

use crate::schemes::{answers, placed};

/// What stands around the table in the page.
const MARKS: [&str; 2] = ["<!-- mechanisms: generated -->\n", "<!-- end of mechanisms -->\n"];

#[derive(Deserialize)]
struct Mechanisms {
    mechanism: Vec<Mechanism>,
}

#[derive(Deserialize)]
struct Mechanism {
    paper: String,
    name: String,
    policy: String,
}

fn mechanisms() -> Vec<Mechanism> {
    toml::from_str::<Mechanisms>(include_str!("../mechanisms.toml")).unwrap().mechanism
}

/// The table, and why an engine lacks a mechanism.
fn section() -> String {
    let (mut table, mut reasons) = (String::new(), String::new());
    for Mechanism { paper, name, policy: text } in mechanisms() {
        let (policy, scenario) = placed(&name, &text, !text.contains(".queue"));
        let in_tcp = compile_tcp(&policy, None, TcpGrowth::Reno, None);
        let is_for_tcp = text.contains("aggregate-shaper");
        let _ = write!(table, "| `{paper}` | {name} |");
        for (engine, answer) in answers(&policy, &scenario) {
            let (cell, answer) = match (&answer, &in_tcp) {
                (Ok(()), _) => ("yes", answer),
                (Err(_), Ok(_)) if engine == "deploy" => ("in TCP", Ok(())),
                (Err(_), Err(why)) if engine == "deploy" && is_for_tcp => {
                    ("no", Err(why.to_string()))
                }
                (Err(_), _) => ("no", answer),
            };
            let _ = write!(table, " {cell} |");
            if let Err(why) = answer {
                let _ = writeln!(
                    reasons,
                    "- `{paper}`, {name}, {engine}: {}.",
                    why.replace('\n', "; ")
                );
            }
        }
        table.push('\n');
    }
    format!(
        "| paper | mechanism | simulate | predict | rehearse | deploy | inline |\n|---|---|---|---|---|---|---|\n{table}\n\
         ### Why not\n\n{reasons}"
    )
}

#[test]
fn the_papers_mechanisms_are_supported_as_their_page_says() {
    if !cfg!(feature = "ebpf") {
        eprintln!("skipped: needs a build with the feature ebpf");
        return;
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/papers.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(MARKS[0]).expect("the table has a place");
    let (written, after) = rest.split_once(MARKS[1]).expect("the table ends");
    let section = format!("\n{}\n", section());
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, [before, MARKS[0], &section, MARKS[1], after].concat()).unwrap();
        return;
    }
    assert!(written == section, "docs/papers.md is stale: BLESS=1 rewrites it");
}
