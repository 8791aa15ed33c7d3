//! Why the system refuses, in plain words.

use std::io::{Error, ErrorKind};

/// The reason for an error of a file, a folder or a socket, without the number of the system's error.
pub fn reason(error: &Error) -> String {
    // An error that was made of words has better ones.
    if let Some(words) = error.get_ref() {
        return words.to_string();
    }
    match error.kind() {
        ErrorKind::NotFound => "it does not exist".to_owned(),
        ErrorKind::PermissionDenied => "permission denied".to_owned(),
        ErrorKind::InvalidData => "it is not UTF-8 text".to_owned(),
        ErrorKind::IsADirectory => "it is a folder, not a file".to_owned(),
        ErrorKind::NotADirectory => "a part of the path is a file instead of a folder".to_owned(),
        ErrorKind::ReadOnlyFilesystem => "the file system is read-only".to_owned(),
        ErrorKind::StorageFull => "the disk is full".to_owned(),
        ErrorKind::QuotaExceeded => "the disk quota is exceeded".to_owned(),
        _ => without_number(&error.to_string()).to_owned(),
    }
}

/// `Device or resource busy` of `Device or resource busy (os error 16)`.
fn without_number(text: &str) -> &str {
    text.split(" (os error").next().unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_has_no_number_and_keeps_words_of_its_own() {
        for number in 1..=130 {
            let message = reason(&Error::from_raw_os_error(number));
            assert!(!message.is_empty() && !message.contains("os error"), "{message}");
        }
        assert_eq!(reason(&Error::from_raw_os_error(2)), "it does not exist");
        assert_eq!(reason(&Error::new(ErrorKind::NotFound, "no pipe")), "no pipe");
    }
}
