//! Usage errors, with better messages than those of clap.

use std::io::{self, Write};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Error};

use crate::args::Arguments;

/// Options with which a rehearsal measures nothing.
const ENDLESS: [&str; 2] = ["--until-done", "--shell"];

/// Ends with what is wrong with the arguments; where one is missing, with the command's examples, too.
pub(crate) fn refuse(error: Error) -> ! {
    let error = explained(error);
    // Arguments need not be text.
    let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    let words: Vec<String> = words.collect();
    if let Some(message) = below_zero(&error, &words).or_else(|| out_of_range(&error)) {
        let _ = writeln!(io::stderr(), "{message}");
        std::process::exit(error.exit_code());
    }
    // If standard error is gone, there is nobody left to tell.
    let _ = error.print();
    if error.kind() == ErrorKind::MissingRequiredArgument {
        let mut command = Arguments::command();
        for word in &words {
            command = command.find_subcommand(word).cloned().unwrap_or(command);
        }
        if let Some(examples) = command.get_after_help() {
            let _ = writeln!(io::stderr(), "\n{examples}");
        }
    }
    std::process::exit(error.exit_code())
}

/// The error for a value that begins with a minus, which looks like an option: a word such as `-5Mbit/s` after
/// `--up`.
fn below_zero(error: &Error, words: &[String]) -> Option<String> {
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let is_value = |word: &str| {
        let rest = word.strip_prefix('-');
        rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit() || c == '.'))
    };
    let at = words.iter().position(|word| is_value(word))?;
    let option = words[..at].last().filter(|word| word.starts_with('-'))?;
    let value = &words[at];
    Some(format!("error: {option} {value}: negative values are not allowed"))
}

/// The error for a number outside its range, in words instead of clap's `0 is not in 1..=1000`.
fn out_of_range(error: &Error) -> Option<String> {
    let text = error.to_string();
    let (before, found) = text.lines().next()?.rsplit_once(": ")?;
    let (_, range) = found.split_once(" is not in ")?;
    let (from, to) = range.split_once("..=")?;
    Some(format!("{before}: write a whole number from {from} to {to}"))
}

/// An error of options that do not go together, with the reason where the two names alone do not tell it.
fn explained(mut error: Error) -> Error {
    let of = |kind| match error.get(kind) {
        Some(ContextValue::String(given)) => vec![given.as_str()],
        Some(ContextValue::Strings(given)) => given.iter().map(String::as_str).collect(),
        _ => Vec::new(),
    };
    let given = [of(ContextKind::InvalidArg), of(ContextKind::PriorArg)].concat();
    let is_given = |option: &&str| given.iter().any(|given| given.starts_with(option));
    let endless: Vec<&str> = ENDLESS.into_iter().filter(is_given).collect();
    let is_live = is_given(&"--live");
    if error.kind() == ErrorKind::ArgumentConflict
        && let [option] = endless[..]
        && !is_live
    {
        let reason =
            format!("{option} measures nothing, so there are no results to write or format");
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![reason.into()]));
    }
    error
}
