//! The project's own chores: `cargo xtask tidy` checks what the compiler cannot, `cargo xtask guard`
//! that speed is kept, `cargo xtask studies` tells what studies came to, `cargo xtask picture` draws the
//! README's picture.

mod guard;
mod picture;
mod studies;
mod tidy;

use std::path::Path;
use std::process::ExitCode;

const HELP: &str = "\
usage: cargo xtask <chore>

chores:
  tidy                    check the rules of STYLE.md and the map in ARCHITECTURE.md
  guard                   hold instruction counts against the committed figures
  guard --renew REASON    make today's counts the figures
  picture FIGURE          make the README's pictures from a figure of `make demo`
  studies                 write what the committed ledgers say into README.md and papers/
  studies --from RESULTS  take over ledgers and tables first, from what `shortflow reproduce` wrote";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["tidy"] => run_tidy(),
        ["guard"] => run_guard(None),
        ["guard", "--renew", reason] => run_guard(Some(reason)),
        ["picture", figure] => run_picture(Path::new(figure)),
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
