//! The words of texts for users: phrases that `docs/style.md` bans, and sentences that are too long.

mod baseline;
mod prose;

use std::collections::BTreeMap;

use super::code::Code;
use super::crates::place;
use super::{Finding, Tree};
use baseline::{BASELINE, LONG_SENTENCES, MAX_LONG_SENTENCES, PHRASES};
use prose::{Line, Token};

const STYLE: &str = "docs/style.md";
/// The heading of the table of banned phrases.
const HEAD: &str = "| instead of | write |";
/// The words that a sentence may have.
const MAX_WORDS: usize = 25;

/// Finds banned phrases in documents and in the texts of the program, and documents with too many long sentences.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let bans = bans(tree.text(STYLE).unwrap_or(""));
    let mut findings = in_documents(tree, &bans);
    findings.extend(in_program(tree, &bans));
    findings
}

/// A banned phrase, word by word, and what to write instead.
struct Ban {
    words: Vec<String>,
    instead: String,
}

/// The table of banned phrases.
fn bans(style: &str) -> Vec<Ban> {
    let rows = style.lines().skip_while(|line| line.trim() != HEAD).skip(2);
    let rows = rows.take_while(|line| line.starts_with('|'));
    let ban = |row: &str| {
        let mut cells = row.trim_matches('|').split('|').map(str::trim);
        let words = prose::words(cells.next()?, 1).into_iter().map(|token| token.word);
        Some(Ban { words: words.collect(), instead: cells.next()?.to_owned() })
    };
    rows.filter_map(ban).filter(|ban| !ban.words.is_empty()).collect()
}

/// The findings in documents that users read.
fn in_documents(tree: &Tree, bans: &[Ban]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.texts_with("md").filter(|(path, _)| is_for_readers(path)) {
        let lines = prose::lines(text);
        let tokens: Vec<Token> = lines.iter().flat_map(Line::tokens).collect();
        let phrases = phrases(path, &tokens, bans);
        findings.extend(above(path, phrases, allowed(PHRASES, path)));
        findings.extend(long_sentences(path, &lines));
    }
    findings
}

/// Whether a document is written by hand and for readers.
fn is_for_readers(path: &str) -> bool {
    let is_generated = ["docs/elements.md", "docs/schemes.md"].contains(&path)
        || path.starts_with("docs/reference/");
    let is_of_paper = path.starts_with("papers/") && path.ends_with("/README.md");
    let is_page = !path.contains('/') || path.starts_with("docs/") || is_of_paper;
    is_page && !is_generated && path != STYLE
}

/// The findings in string literals of the crates, tests aside.
fn in_program(tree: &Tree, bans: &[Ban]) -> Vec<Finding> {
    let mut found: BTreeMap<&str, Vec<Finding>> = BTreeMap::new();
    for (path, text) in tree.texts_with("rs") {
        let Some(folder) = source_folder(path) else { continue };
        let code = Code::new(text);
        let test_lines = code.test_lines();
        for (line, literal) in code.messages(text) {
            if !test_lines.iter().any(|test| test.contains(&line)) {
                let tokens = prose::words(&prose::of_literal(literal), line);
                found.entry(folder).or_default().extend(phrases(path, &tokens, bans));
            }
        }
    }
    let each = found.into_iter();
    each.flat_map(|(folder, found)| above(folder, found, allowed(PHRASES, folder))).collect()
}

/// `crates/NAME/src`, where the file is in it and serves users.
fn source_folder(path: &str) -> Option<&str> {
    let place = place(path)?;
    let file = place.inside.strip_prefix("src/")?;
    let is_test = file == "tests.rs" || file.ends_with("/tests.rs");
    (!is_test).then(|| &path[..place.folder.len() + "/src".len()])
}

/// The banned phrases among the words of a text.
fn phrases(path: &str, tokens: &[Token], bans: &[Ban]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        for ban in bans {
            let here = tokens[at..].iter().map(|token| &token.word);
            if tokens.len() - at >= ban.words.len() && here.zip(&ban.words).all(|(a, b)| a == b) {
                let found = format!("the banned phrase `{}`", ban.words.join(" "));
                let remedy = format!("write: {}", ban.instead);
                findings.push(Finding::new(path, token.line, found, remedy));
            }
        }
    }
    findings
}

/// What exceeds the number that the baseline allows at a place, and an allowance that is no longer needed.
fn above(place: &str, findings: Vec<Finding>, allowed: usize) -> Vec<Finding> {
    match findings.len() {
        found if found > allowed => findings,
        0 if allowed > 0 => vec![unneeded(place)],
        _ => Vec::new(),
    }
}

fn unneeded(place: &str) -> Finding {
    let found = format!("the exception for `{place}` is not needed");
    Finding::new(BASELINE, 1, found, "remove it")
}

fn allowed(exceptions: &[(&str, usize)], place: &str) -> usize {
    let exception = exceptions.iter().find(|(its_place, _)| *its_place == place);
    exception.map_or(0, |(_, number)| *number)
}

/// The sentences above the limit on a page with too many of them.
fn long_sentences(path: &str, lines: &[Line]) -> Vec<Finding> {
    let exception = allowed(LONG_SENTENCES, path);
    let long: Vec<(usize, usize)> =
        prose::sentences(lines).into_iter().filter(|(_, words)| *words > MAX_WORDS).collect();
    let max = exception.max(MAX_LONG_SENTENCES);
    if long.len() <= max {
        let is_unneeded = exception > 0 && long.len() <= MAX_LONG_SENTENCES;
        return if is_unneeded { vec![unneeded(path)] } else { Vec::new() };
    }
    let count = long.len();
    let finding = |(line, words)| {
        let found =
            format!("a sentence of {words} words, one of {count} above {MAX_WORDS} on this page");
        Finding::new(path, line, found, format!("split it: a page may have {max}"))
    };
    long.into_iter().map(finding).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::read;

    const TABLE: &str = "# Words\n\n| before | after |\n|---|---|\n| a door | x |\n\n\
                         | instead of | write |\n|---|---|\n| is told | is reported |\n| one's own | your own |\n";

    fn found(path: &str, text: &str) -> Vec<String> {
        read(check, &[(STYLE, TABLE), (path, text)])
    }

    #[test]
    fn a_banned_phrase_is_found_with_its_line_and_what_to_write() {
        assert_eq!(
            found("docs/a.md", "# A\n\nA fact is\n*told* here. One's own door.\n"),
            [
                "docs/a.md:3: the banned phrase `is told`; write: is reported",
                "docs/a.md:4: the banned phrase `one's own`; write: your own",
            ]
        );
    }

    #[test]
    fn code_and_generated_regions_are_not_read() {
        let text = "It is `told`. `is told`\n\n```text\nis told\n```\n\n<!-- begin: x -->\nis told\n<!-- end: x -->\n\n\
                    What it is: told.\n\nit is\n\ntold [a](is told)\n";
        assert_eq!(found("docs/a.md", text), [""; 0]);
        assert_eq!(found("bench/a.md", "It is told.\n"), [""; 0], "not for readers");
    }

    #[test]
    fn texts_of_the_program_are_read_and_tests_and_assertions_are_not() {
        let source = "fn f() {\n    note(\"{what} is \\\n          told\");\n    a.expect(\"it is told\");\n    \
                      assert!(b, \"it is told\");\n    g(\"is `told`, is\\ntold\", 'x');\n}\n// is told\n\
                      #[cfg(test)]\nmod tests {\n    const A: &str = \"it is told\";\n}\n";
        assert_eq!(
            found("crates/wire/src/a.rs", source),
            ["crates/wire/src/a.rs:2: the banned phrase `is told`; write: is reported"]
        );
        assert_eq!(found("crates/wire/tests/it/a.rs", source), [""; 0]);
    }

    #[test]
    fn a_page_may_have_few_long_sentences_and_no_more() {
        let sentence = |words: usize| format!("{}end.\n\n", "word ".repeat(words - 1));
        let few = sentence(26).repeat(MAX_LONG_SENTENCES) + &sentence(25);
        assert_eq!(found("docs/a.md", &few), [""; 0]);
        let many = found("docs/a.md", &(few + &sentence(26)));
        assert_eq!(many.len(), MAX_LONG_SENTENCES + 1);
        assert_eq!(
            many[0],
            format!(
                "docs/a.md:1: a sentence of 26 words, one of {} above 25 on this page; \
                 split it: a page may have {MAX_LONG_SENTENCES}",
                MAX_LONG_SENTENCES + 1
            )
        );
    }

    #[test]
    fn an_exception_that_is_not_needed_is_to_be_removed() {
        let gone = above("docs/a.md", Vec::new(), 2);
        assert_eq!(
            gone[0].to_string(),
            format!("{BASELINE}:1: the exception for `docs/a.md` is not needed; remove it")
        );
        let one = || vec![Finding::new("docs/a.md", 1, "a", "b")];
        assert_eq!((above("x", one(), 1).len(), above("x", one(), 0).len()), (0, 1));
    }
}
