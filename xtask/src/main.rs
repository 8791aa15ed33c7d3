//! The project's own tasks: `cargo xtask tidy` checks what the compiler cannot, `cargo xtask guard` checks speed,
//! `cargo xtask smoke` reproduces the studies in short forms, `cargo xtask studies` writes their results into pages, and
//! `cargo xtask picture` draws the README's picture.

mod guard;
mod picture;
mod smoke;
mod studies;
mod tidy;

use std::path::Path;
use std::process::ExitCode;

const HELP: &str = "\
usage: cargo xtask <task>

tasks:
  tidy                    check the rules of STYLE.md and the map in ARCHITECTURE.md
  guard                   compare instruction counts with the committed ones
  guard --renew REASON    commit today's counts
  picture FIGURE          make the README's pictures from a figure of `make demo`
  smoke                   reproduce the studies in short forms; compare the verdicts with the recorded ones
  studies                 write the verdicts of the committed ledgers into README.md and papers/
  studies --from RESULTS  first copy ledgers and tables from the results of `shortflow reproduce`";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["tidy"] => run_tidy(),
        ["guard"] => run_guard(None),
        ["guard", "--renew", reason] => run_guard(Some(reason)),
        ["picture", figure] => run_picture(Path::new(figure)),
        ["smoke"] => run_smoke(),
        ["studies"] => run_studies(None),
        ["studies", "--from", results] => run_studies(Some(Path::new(results))),
        ["help" | "--help" | "-h"] => {
            println!("{HELP}");
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!("{HELP}");
            ExitCode::from(2)
        }
    }
}

fn run_tidy() -> ExitCode {
    let tree = match tidy::Tree::of_repository() {
        Ok(tree) => tree,
        Err(error) => {
            eprintln!("tidy: {error}");
            return ExitCode::from(3);
        }
    };
    let findings = tidy::check(&tree);
    for finding in &findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => {
            println!("tidy: {} files, nothing to say", tree.files().len());
            ExitCode::SUCCESS
        }
        count => {
            println!("tidy: {count} to put right");
            ExitCode::FAILURE
        }
    }
}

fn run_guard(renewal: Option<&str>) -> ExitCode {
    match guard::guard(renewal) {
        Ok(judgement) => {
            judgement.lines.iter().for_each(|line| println!("{line}"));
            if judgement.passes { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            eprintln!("guard: {error}");
            ExitCode::from(3)
        }
    }
}

fn run_picture(figure: &Path) -> ExitCode {
    match picture::write(figure, Path::new(".")) {
        Ok(written) => {
            written.iter().for_each(|path| println!("picture: wrote {}", path.display()));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("picture: {error}");
            ExitCode::from(3)
        }
    }
}

fn run_smoke() -> ExitCode {
    match smoke::run() {
        Ok(differences) => {
            differences.iter().for_each(|difference| println!("smoke: {difference}"));
            if differences.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            eprintln!("smoke: {error}");
            ExitCode::from(3)
        }
    }
}

fn run_studies(results: Option<&Path>) -> ExitCode {
    match studies::write(results) {
        Ok(written) => {
            written.iter().for_each(|path| println!("studies: wrote {path}"));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("studies: {error}");
            ExitCode::from(3)
        }
    }
}
