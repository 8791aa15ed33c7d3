//! Names the parameters of the policy where `--set` changes a parameter that the scenario does not have.

use shortflow_text::{Diagnostic, Diagnostics, nearest};

/// The prefix of parameters.
const PARAMETERS: &str = "parameters.";

/// The mistakes of a scenario, where one is an unknown parameter of an option, with those that its policy has.
pub(crate) fn add_help(mistakes: Diagnostics, own: &[String], of_policy: &[String]) -> Diagnostics {
    if of_policy.is_empty() {
        return mistakes;
    }
    let one = |mistake: Diagnostic| match unknown(&mistake, own) {
        Some(name) => {
            let written = |name: &str| format!("`policy.{PARAMETERS}{name}`");
            let names: Vec<String> = of_policy.iter().map(|name| written(name)).collect();
            let list = format!("parameters of the policy: {}", names.join(", "));
            let of_policy = match nearest(&name, of_policy.iter().map(String::as_str)) {
                Some(meant) => format!("did you mean {}? {list}", written(meant)),
                None => list,
            };
            let before = match own.is_empty() {
                true => String::new(),
                false => mistake.help.map_or(String::new(), |help| help + "; "),
            };
            Diagnostic { help: Some(before + &of_policy), ..mistake }
        }
        None => mistake,
    };
    Diagnostics(mistakes.0.into_iter().map(one).collect())
}

/// The parameter that an option sets and the scenario does not have, if the mistake is that.
fn unknown(mistake: &Diagnostic, own: &[String]) -> Option<String> {
    let is_option = mistake.file().starts_with("--");
    let (key, _) = mistake.source.text.split_once('=').filter(|_| is_option)?;
    let name = key.strip_prefix(PARAMETERS)?;
    (!own.iter().any(|own| own == name)).then(|| name.to_owned())
}
