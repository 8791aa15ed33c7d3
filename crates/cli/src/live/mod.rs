//! A rehearsal shown while it runs: a status line, keys, and a shell in a host.

mod keys;
mod line;
mod screen;
mod shell;
mod terminal;
mod watch;

pub(crate) use screen::Screen;
pub(crate) use shell::Shell;
pub(crate) use watch::Watch;
