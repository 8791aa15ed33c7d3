//! The command line that produced results, for the manifest.

use std::ffi::{OsStr, OsString};

/// The command line for a shell, from the arguments after the program's name.
pub fn command_line(arguments: impl Iterator<Item = OsString>) -> String {
    let arguments = arguments.map(|argument| shell_word(&argument));
    std::iter::once("shortflow".to_owned()).chain(arguments).collect::<Vec<_>>().join(" ")
}

/// An argument as one shell word, quoted if necessary.
pub fn shell_word(argument: &OsStr) -> String {
    let argument = argument.to_string_lossy().into_owned();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:+@%".contains(c);
    if !argument.is_empty() && argument.chars().all(is_plain) {
        argument
    } else {
        format!("'{}'", argument.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_shell_would_split_or_expand_is_quoted() {
        let arguments = ["simulate", "a b.toml", "--set", "drain=2 s", "$x", "it's", ""];
        assert_eq!(
            command_line(arguments.map(OsString::from).into_iter()),
            r"shortflow simulate 'a b.toml' --set 'drain=2 s' '$x' 'it'\''s' ''"
        );
    }
}
