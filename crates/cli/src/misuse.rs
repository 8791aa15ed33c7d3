//! Why some options do not go together, where the two names alone would leave one wondering.

use clap::Error;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Options with which a rehearsal measures nothing.
const ENDLESS: [&str; 2] = ["--until-done", "--shell"];

/// An error of the command line, with its reason where there is one to give.
pub(crate) fn explained(mut error: Error) -> Error {
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
        let reason = format!(
            "nothing is measured with {option}, so there are no results to write or to shape"
        );
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![reason.into()]));
    }
    error
}
