//! Files in folders that others may write.
//!
//! | module | what it does |
//! |---|---|
//! | [`Dir`] | opens, makes, renames and removes entries beneath an open folder; follows no link |
//! | [`read`], [`read_text`], [`read_input`] | read a file with limits on its type, size, time and text |
//! | [`AtomicFile`], [`write()`] | write a file whole or not at all, its permissions set before it has its name |
//! | [`reason()`] | says in plain words why the system refuses |
//! | [`control_char`] | finds characters that terminals and pages obey instead of showing them |
//!
//! A path that a user names is resolved as usual: its links are the user's. What lies inside a folder of results, of
//! a repository or of state may have been put there by somebody else, and goes through a [`Dir`].
//!
//! # What this crate does not know
//!
//! What a file means: formats, messages and exit codes belong to its users.

mod atomic_file;
mod beneath;
mod control_chars;
mod dir;
mod kind;
mod read;
mod reason;

pub use atomic_file::{AtomicFile, is_temporary, remove_abandoned, write};
pub use control_chars::{control_char, control_char_in_lines, without_control_chars};
pub use dir::Dir;
pub use kind::Kind;
pub use read::{
    NotUtf8, ReadError, head, open, read, read_from, read_input, read_text, read_text_of,
};
pub use reason::reason;
