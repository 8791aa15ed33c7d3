//! Standard output and standard error: terminal detection and formatting.

use std::io::{self, IsTerminal, Write};
#[cfg(unix)]
use std::os::fd::AsFd;
#[cfg(target_os = "linux")]
use std::os::fd::AsRawFd;
use std::path::Path;

#[cfg(target_os = "linux")]
use nix::{errno::Errno, libc, pty::Winsize};
use shortflow_text::Diagnostics;

use crate::args::ColorWhen;
use crate::failure::Failure;

/// Where we talk to the user.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Console {
    /// Whether only results and errors are shown.
    pub(crate) quiet: bool,
    /// Whether another program also writes to standard error.
    is_shared: bool,
    /// Whether to use colours, on standard output and on standard error.
    pub(crate) color_out: bool,
    pub(crate) color_err: bool,
    /// In how many columns prose is set.
    pub(crate) columns: usize,
}

/// Longer lines are hard to read, and in fewer columns nothing can be set.
const MAX_COLUMNS: usize = 100;
const MIN_COLUMNS: usize = 40;

impl Console {
    pub(crate) fn new(quiet: bool, when: ColorWhen) -> Console {
        let color = |is_terminal: bool| match when {
            ColorWhen::Always => true,
            ColorWhen::Never => false,
            ColorWhen::Auto => is_terminal && !is_set("NO_COLOR") && !is_dumb(),
        };
        Console {
            quiet,
            is_shared: false,
            color_out: color(io::stdout().is_terminal()),
            color_err: color(io::stderr().is_terminal()),
            columns: columns().clamp(MIN_COLUMNS, MAX_COLUMNS),
        }
    }

    /// The same, where others write to standard error too.
    #[cfg(live)]
    pub(crate) fn shared(self) -> Console {
        Console { is_shared: true, ..self }
    }

    /// A line that a program on a host has written, as it is shown.
    #[cfg(live)]
    pub(crate) fn line_of(&self, host: &str, line: &[u8]) -> Vec<u8> {
        let (dim, plain) = if self.color_err { ("\x1b[2m", "\x1b[0m") } else { ("", "") };
        [format!("{dim}{host} |{plain} ").as_bytes(), line].concat()
    }

    /// Whether progress is to be drawn.
    pub(crate) fn shows_progress(&self) -> bool {
        !self.quiet && !self.is_shared && io::stderr().is_terminal() && !is_dumb()
    }

    /// Writes a result to standard output.
    pub(crate) fn print(&self, text: &str) -> Result<(), Failure> {
        let mut out = io::stdout().lock();
        let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        written.map_err(|error| Failure::output(&error))
    }

    /// Writes a JSON value to standard output.
    pub(crate) fn print_json(&self, value: &serde_json::Value) -> Result<(), Failure> {
        self.print(&format!("{value:#}\n"))
    }

    /// Names a file that was written, as the last line of a result.
    pub(crate) fn file(&self, what: &str, path: &Path) -> Result<(), Failure> {
        if self.quiet { Ok(()) } else { self.print(&format!("{what}: {}\n", path.display())) }
    }

    /// Says what to do with a result.
    pub(crate) fn hint(&self, what: &str) -> Result<(), Failure> {
        if self.quiet { Ok(()) } else { self.print(what) }
    }

    /// Whether standard output and standard error are the same terminal, pipe or file, so that what both say is read twice.
    pub(crate) fn is_one_stream(&self) -> bool {
        let [out, err] = [identity(io::stdout()), identity(io::stderr())];
        out.is_some() && out == err
    }

    /// Shows the mistakes of a file on standard error.
    pub(crate) fn mistakes(&self, mistakes: &Diagnostics) {
        say(&mistakes.render(self.color_err));
    }

    /// Shows warnings on standard error.
    pub(crate) fn warnings(&self, warnings: &Diagnostics) {
        if !warnings.is_empty() {
            say(&warnings.render(self.color_err));
        }
    }

    /// Says on standard error what is not wrong but good to know.
    pub(crate) fn note(&self, what: &str) {
        if let Some(line) = self.note_line(what) {
            say(&line);
        }
    }

    /// Something that nothing refuses, and that is likely to go wrong; with what to do.
    pub(crate) fn warning(&self, what: &str, remedy: &str) {
        say(&format!("warning: {what}\n  = help: {remedy}"));
    }

    /// A note as it is shown, if it is.
    pub(crate) fn note_line(&self, what: &str) -> Option<String> {
        (!self.quiet).then(|| format!("note: {what}"))
    }

    /// Says what has happened to an agent.
    #[cfg(live)]
    pub(crate) fn happened(&self, at: &str, who: &str, what: &dyn std::fmt::Display) {
        if !self.quiet {
            say(&shortflow_agent::sanitize_lines(&format!("{at} {who}: {what}")));
        }
    }

    /// Says why a command is not done.
    pub(crate) fn failure(&self, failure: &Failure) {
        let (bold, red, plain) =
            if self.color_err { ("\x1b[1m", "\x1b[1;31m", "\x1b[0m") } else { ("", "", "") };
        match failure {
            Failure::Mistakes(mistakes) => self.mistakes(mistakes),
            Failure::Input(what) | Failure::Machine(what) | Failure::Limit(what) => {
                let (what, remedy) = what.split_once('\n').unwrap_or((what, ""));
                say(&format!("{red}error{plain}{bold}: {what}{plain}"));
                remedy.lines().for_each(|line| say(&format!("  {}", line.trim_start())));
            }
            Failure::TooLate => self.failure(&Failure::Machine(TOO_LATE.to_owned())),
            Failure::Interrupted(what) => say(what),
            #[cfg(live)]
            Failure::Programs(what) => {
                what.lines()
                    .for_each(|what| say(&format!("{red}error{plain}{bold}: {what}{plain}")));
            }
            Failure::Check | Failure::NobodyReads => {}
        }
    }
}

/// The measurements are kept, and their users must know.
const TOO_LATE: &str = "the machine was too slow for this rehearsal: the results are kept but not reliable\nstop \
     other programs, lower the rates or the number of hosts, or simulate it";

/// Writes a line to standard error, and ignores a failure.
fn say(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// The device and the number of what is open there.
#[cfg(unix)]
fn identity(stream: impl AsFd) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    let file = std::fs::File::from(stream.as_fd().try_clone_to_owned().ok()?);
    let found = file.metadata().ok()?;
    Some((found.dev(), found.ino()))
}

#[cfg(not(unix))]
fn identity<S>(_: S) -> Option<(u64, u64)> {
    None
}

/// The width: from the environment, else that of the terminal, else a readable default.
fn columns() -> usize {
    let asked = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    asked.filter(|columns| *columns > 0).or_else(width).unwrap_or(MAX_COLUMNS)
}

#[cfg(target_os = "linux")]
fn width() -> Option<usize> {
    size(io::stdout()).map(|size| size.ws_col.into())
}

/// The size of a terminal; `None` if unknown.
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
pub(crate) fn size(terminal: impl AsFd) -> Option<Winsize> {
    let mut size = Winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the kernel writes one `winsize`, which lives until it returns.
    let asked =
        unsafe { libc::ioctl(terminal.as_fd().as_raw_fd(), libc::TIOCGWINSZ, &raw mut size) };
    (Errno::result(asked).is_ok() && size.ws_row > 0 && size.ws_col > 0).then_some(size)
}

#[cfg(not(target_os = "linux"))]
fn width() -> Option<usize> {
    None
}

fn is_set(variable: &str) -> bool {
    std::env::var_os(variable).is_some_and(|value| !value.is_empty())
}

fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}
