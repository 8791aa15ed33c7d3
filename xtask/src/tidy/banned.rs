//! What must not be written, each with what to write instead.

use super::code::{Code, is_identifier};
use super::crates::place;
use super::kinds::{self, Kind, Kinds};
use super::{Finding, Tree};

#[derive(Clone, Copy)]
enum Where {
    /// In all Rust source.
    Anywhere,
    /// In the pure crates, tests included.
    InPure,
    /// In what the pure crates compute, tests apart.
    InPureResults,
    /// In the libraries, tests apart.
    InLibraries,
}

struct Ban {
    /// Text to find. Where it begins or ends with a letter, so must a word.
    text: &'static str,
    place: Where,
    remedy: &'static str,
}

const fn ban(text: &'static str, place: Where, remedy: &'static str) -> Ban {
    Ban { text, place, remedy }
}

const CLOCK: &str = "time is an argument: take `now: shortflow_units::Instant`";
const RANDOM: &str =
    "each element owns its generator of random numbers: `shortflow_units::Rng::stream(seed, name)`";
const PRINT: &str = "return a value and let `cli` print it";
const UNFINISHED: &str = "finish it, or leave it out";
const FLOAT: &str = "std leaves its precision open: use `libm`, so that results are bit-identical";

const BANS: [Ban; 21] = [
    ban("std::time", Where::InPure, CLOCK),
    ban("SystemTime", Where::InPure, CLOCK),
    ban("Instant::now", Where::InPure, CLOCK),
    ban("rand::rng", Where::Anywhere, RANDOM),
    ban("rand::random", Where::Anywhere, RANDOM),
    ban("thread_rng", Where::Anywhere, RANDOM),
    ban("from_os_rng", Where::Anywhere, RANDOM),
    ban("println!", Where::InLibraries, PRINT),
    ban("print!", Where::InLibraries, PRINT),
    ban("eprintln!", Where::InLibraries, PRINT),
    ban("eprint!", Where::InLibraries, PRINT),
    ban("todo!", Where::Anywhere, UNFINISHED),
    ban("unimplemented!", Where::Anywhere, UNFINISHED),
    ban("dbg!", Where::Anywhere, "take it out"),
    ban("#[ignore]", Where::Anywhere, "say why: `#[ignore = \"reason\"]`"),
    ban(".exp()", Where::InPureResults, FLOAT),
    ban(".ln()", Where::InPureResults, FLOAT),
    ban(".log10()", Where::InPureResults, FLOAT),
    ban(".log2()", Where::InPureResults, FLOAT),
    ban(".powf(", Where::InPureResults, FLOAT),
    ban(".cbrt()", Where::InPureResults, FLOAT),
];

/// Finds banned text in code; comments and literals may say what they like.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let kinds = kinds::parse(tree);
    let mut findings = Vec::new();
    for (path, text) in tree.texts_with("rs") {
        let code = Code::new(text);
        let test_lines = code.test_lines();
        for (number, line) in code.lines() {
            let in_test =
                is_test_file(path) || test_lines.iter().any(|test| test.contains(&number));
            let found =
                |ban: &&Ban| applies(ban.place, &kinds, path, in_test) && has_word(line, ban.text);
            findings.extend(
                BANS.iter()
                    .filter(found)
                    .map(|ban| Finding::new(path, number, format!("`{}`", ban.text), ban.remedy)),
            );
        }
    }
    findings
}

fn applies(place: Where, kinds: &Kinds, path: &str, in_test: bool) -> bool {
    let kind = kinds.get(owner(path));
    let is_pure = kind == Some(&Kind::Pure);
    match place {
        Where::Anywhere => true,
        Where::InPure => is_pure,
        Where::InPureResults => is_pure && !in_test,
        Where::InLibraries => kind != Some(&Kind::Program) && !in_test && !is_build_script(path),
    }
}

/// Whether a file is a crate's build script, which talks to cargo by printing.
fn is_build_script(path: &str) -> bool {
    place(path).is_some_and(|place| place.inside == "build.rs")
}

/// The crate to which a file belongs, by its folder.
fn owner(path: &str) -> &str {
    let outside = path.split('/').next().unwrap_or(path);
    place(path).map_or(outside, |place| place.name)
}

/// Whether a file serves tests, benchmarks or examples, and no user.
fn is_test_file(path: &str) -> bool {
    let folders = ["/tests/", "/benches/", "/examples/"];
    folders.iter().any(|folder| path.contains(folder)) || path.ends_with("/tests.rs")
}

/// Whether `text` stands in `line`, not as part of a longer word.
fn has_word(line: &str, text: &str) -> bool {
    line.match_indices(text).any(|(at, _)| {
        let joins_left = text.starts_with(is_identifier) && line[..at].ends_with(is_identifier);
        let rest = &line[at + text.len()..];
        let joins_right = text.ends_with(is_identifier) && rest.starts_with(is_identifier);
        !joins_left && !joins_right
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::edges::ARCHITECTURE;
    use crate::tidy::read;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let kinds = "```kinds\npure: tcp sim\nprograms: cli\n```\n";
        read(check, &[files, &[(ARCHITECTURE, kinds)]].concat())
    }

    #[test]
    fn a_pure_crate_may_not_look_at_a_clock_not_even_in_a_test() {
        let source = "fn f() {\n    let now = Instant::now();\n}\n";
        assert_eq!(
            found(&[("crates/tcp/src/rtt.rs", source), ("crates/tcp/tests/it/a.rs", source)]),
            [
                "crates/tcp/src/rtt.rs:2: `Instant::now`; \
                 time is an argument: take `now: shortflow_units::Instant`",
                "crates/tcp/tests/it/a.rs:2: `Instant::now`; \
                 time is an argument: take `now: shortflow_units::Instant`",
            ]
        );
        assert_eq!(found(&[("crates/cli/src/bench.rs", source)]), [""; 0]);
    }

    #[test]
    fn a_library_prints_only_in_its_tests() {
        let source =
            "fn f() { println!() }\n#[cfg(test)]\nmod tests {\n fn g() { println!() }\n}\n";
        assert_eq!(
            found(&[("crates/study/src/ledger.rs", source), ("crates/cli/src/a.rs", source)]),
            ["crates/study/src/ledger.rs:1: `println!`; return a value and let `cli` print it"]
        );
    }

    #[test]
    fn a_banned_word_is_found_as_a_word_and_in_code_only() {
        let source = "// todo!()\nconst A: &str = \"todo!()\";\nmy_todo!();\ntodo!();\n";
        assert_eq!(
            found(&[("crates/sim/src/a.rs", source)]),
            ["crates/sim/src/a.rs:4: `todo!`; finish it, or leave it out"]
        );
    }

    #[test]
    fn a_floating_point_function_of_std_may_serve_an_oracle_but_no_result() {
        let source = "fn f(x: f64) -> f64 { x.ln() }\n";
        let files = [("crates/sim/src/a.rs", source), ("crates/sim/tests/it/a.rs", source)];
        assert_eq!(found(&files).len(), 1);
    }
}
