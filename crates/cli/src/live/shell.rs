//! A shell in a host, on the user's own terminal except for its last row, which is the status line.
//!
//! ```text
//! terminal ── keys ──▶ Prefixed ──▶ pseudo-terminal ── the shell
//!     ▲ rows above the last ◀── what it writes ──┘
//!     └ the last row ◀── Window of the board
//! ```

use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use nix::pty::{OpenptyResult, Winsize, openpty};
use shortflow_rehearse::{End, Monitor, ProgramObserver, Streams, Terminal};

use super::keys::{Prefixed, Wish};
use super::line::Window;
use super::terminal::{Keys, Taken, readable, set_size};
use super::watch::{INTERVAL, POLL_TIMEOUT_MS};
use crate::console::size;
use crate::failure::Failure;
use crate::programs::ProgramOutput;

/// The fewest rows of a terminal of which one can be spared.
const MIN_ROWS: u16 = 4;

/// A shell, and the programs beside it.
pub(crate) struct Shell<'s> {
    /// The programs: all but the last are listened to.
    output: &'s ProgramOutput,
    /// The number of the shell among them.
    number: usize,
    /// Our end of its terminal.
    master: File,
    /// Its own end, until it has it.
    slave: Mutex<Option<OwnedFd>>,
}

impl<'s> Shell<'s> {
    /// A shell that is the last of the programs of `output`.
    pub(crate) fn new(output: &'s ProgramOutput, number: usize) -> Result<Shell<'s>, Failure> {
        let failed = |error: io::Error| {
            Failure::Machine(format!("cannot create a terminal for the shell: {error}"))
        };
        let made = openpty(None, None).map_err(|errno| failed(errno.into()))?;
        let OpenptyResult { master, slave } = made;
        // What is cloned is not handed on to programs, as these are.
        let own = |end: OwnedFd| end.try_clone().map_err(failed);
        let (master, slave) = (File::from(own(master)?), Mutex::new(Some(own(slave)?)));
        Ok(Shell { output, number, master, slave })
    }

    /// Refuses to talk to anybody but a terminal.
    pub(crate) fn refuse_without_terminal() -> Result<(), Failure> {
        if io::stdin().is_terminal() && io::stderr().is_terminal() && io::stdout().is_terminal() {
            return Ok(());
        }
        let what = "--shell requires a terminal as standard input, output and error\nrun a command with --with HOST \
             \"CMD\" instead";
        Err(Failure::Input(what.to_owned()))
    }

    /// Lets the user talk to the shell until it is `over`.
    pub(crate) fn talk(
        &self,
        monitor: &Monitor,
        quit: &AtomicBool,
        over: &AtomicBool,
    ) -> io::Result<()> {
        let terminal = io::stdin();
        let keys = Keys::take(terminal.as_fd(), Taken::Raw)?;
        let mut view = View::open(self.master.try_clone()?)?;
        self.output.screen().set_raw(true);
        let (mut prefixed, mut window) = (Prefixed::default(), Window::new(monitor));
        let mut buffer = [0; 4096];
        let mut drawn_at = None::<Instant>;
        while !over.load(Ordering::Relaxed) {
            let [has_keys, has_output] =
                readable([keys.as_fd(), self.master.as_fd()], POLL_TIMEOUT_MS);
            if has_output {
                // An error means that the shell has ended, which is detected elsewhere.
                let count = (&self.master).read(&mut buffer).unwrap_or(0);
                view.write(&buffer[..count])?;
                if count == 0 {
                    std::thread::sleep(INTERVAL / 20);
                }
            }
            if has_keys {
                let count = io::stdin().lock().read(&mut buffer)?;
                let (others, wishes) = prefixed.sort(&buffer[..count]);
                // A shell that has ended reads nothing more.
                let _ = (&self.master).write_all(&others);
                for wish in wishes {
                    match wish {
                        Wish::NextPolicy => monitor.next_policy(),
                        Wish::Quit => quit.store(true, Ordering::Relaxed),
                    }
                    drawn_at = None;
                }
            }
            let is_time = drawn_at.is_none_or(|at| at.elapsed() >= INTERVAL);
            if is_time && view.may_draw() {
                let hint = match (prefixed.is_open, monitor.has_others()) {
                    (true, _) => "n next policy, q quit",
                    (false, true) => "Ctrl-] n next policy",
                    (false, false) => "Ctrl-] q quit",
                };
                view.draw(|width| window.line(monitor, hint, width))?;
                drawn_at = Some(Instant::now());
            }
        }
        self.output.screen().set_raw(false);
        view.close()
    }
}

impl ProgramObserver for Shell<'_> {
    fn note(&self, what: &str) {
        self.output.note(what);
    }

    fn streams(&self, program: usize) -> io::Result<Streams> {
        if program != self.number {
            return self.output.streams(program);
        }
        let slave = self.slave.lock().unwrap_or_else(PoisonError::into_inner).take();
        let slave = slave.expect("a shell is started once");
        let [input, output] = [slave.try_clone()?, slave.try_clone()?].map(Stdio::from);
        Ok(Streams { input, output, errors: slave.into(), terminal: Terminal::Input })
    }

    fn ended(&self, program: usize, status: ExitStatus, end: End) {
        // How a shell ends is how its last command did, which the user has seen.
        if program != self.number {
            self.output.ended(program, status, end);
        }
    }
}

/// The user's terminal, without its last row.
struct View {
    master: File,
    /// How large it is, once it was asked.
    size: Option<Winsize>,
    place: Place,
}

/// Where in what a program writes we are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Between two characters.
    Between,
    /// Inside a character of several bytes; this many are missing.
    Character(u8),
    /// After ESC.
    Escape,
    /// Inside a sequence that a letter ends.
    Control,
    /// Inside a text, such as a title, that BEL or ESC \ ends.
    Text,
}

impl Place {
    fn after(self, byte: u8) -> Place {
        match (self, byte) {
            (Place::Text, 0x07) => Place::Between,
            (_, 0x1b) => Place::Escape,
            (Place::Text, _) => Place::Text,
            (Place::Escape, b'[') => Place::Control,
            (Place::Escape, b']' | b'P' | b'_' | b'^' | b'X') => Place::Text,
            (Place::Escape, 0x20..=0x2f) => Place::Escape,
            (Place::Control, 0x20..=0x3f) => Place::Control,
            (Place::Character(left @ 2..), 0x80..=0xbf) => Place::Character(left - 1),
            (Place::Between, 0xc2..=0xdf) => Place::Character(1),
            (Place::Between, 0xe0..=0xef) => Place::Character(2),
            (Place::Between, 0xf0..=0xf4) => Place::Character(3),
            _ => Place::Between,
        }
    }
}

impl View {
    /// Takes the last row from the shell whose terminal's end `master` is.
    fn open(master: File) -> io::Result<View> {
        let mut view = View { master, size: None, place: Place::Between };
        view.fit()?;
        Ok(view)
    }

    /// Follows the size of the terminal.
    fn fit(&mut self) -> io::Result<()> {
        let now = size(io::stdout()).unwrap_or(STANDARD);
        if Some(now) == self.size {
            return Ok(());
        }
        self.size = Some(now);
        let rows = if now.ws_row >= MIN_ROWS { now.ws_row - 1 } else { now.ws_row };
        set_size(&self.master, Winsize { ws_row: rows, ..now });
        // The cursor may be in what is now the last row: then all moves up by one.
        write(format!("\x1b7\x1b[r\x1b8\n\x1b[A\x1b7\x1b[1;{rows}r\x1b8").as_bytes())
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.place = bytes.iter().fold(self.place, |place, byte| place.after(*byte));
        write(bytes)
    }

    /// Whether we would not interrupt anything that is being written.
    fn may_draw(&self) -> bool {
        self.place == Place::Between
    }

    /// Draws the last row. A program that has used the whole screen may have taken it: it is taken back.
    fn draw(&mut self, line: impl FnOnce(usize) -> String) -> io::Result<()> {
        self.fit()?;
        let Winsize { ws_row: rows, ws_col: columns, .. } = self.size.unwrap_or(STANDARD);
        if rows < MIN_ROWS {
            return Ok(());
        }
        let (width, above) = (usize::from(columns), rows - 1);
        let line = line(width);
        write(
            format!("\x1b7\x1b[1;{above}r\x1b[{rows};1H\x1b[0;7m{line:width$}\x1b[0m\x1b8")
                .as_bytes(),
        )
    }

    /// Gives the last row back.
    fn close(self) -> io::Result<()> {
        let rows = self.size.unwrap_or(STANDARD).ws_row;
        write(format!("\x1b7\x1b[r\x1b[{rows};1H\x1b[K\x1b8\r\n").as_bytes())
    }
}

/// A terminal that does not say how large it is.
const STANDARD: Winsize = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };

fn write(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_drawn_between_characters_and_sequences_only() {
        let between = |text: &[u8]| {
            text.iter().fold(Place::Between, |place, byte| place.after(*byte)) == Place::Between
        };
        let whole: [&[u8]; 6] = [
            b"ls\r\n",
            b"\x1b[1;31mred",
            "größe €".as_bytes(),
            b"\x1b]0;title\x07",
            b"\x1b(B",
            b"\x1b7",
        ];
        whole.iter().for_each(|text| assert!(between(text), "{text:?}"));
        let parts: [&[u8]; 6] = [
            b"\x1b",
            b"\x1b[1;",
            &"€".as_bytes()[..2],
            b"\x1b]0;tit",
            b"\x1b]0;title\x1b",
            b"\x1b(",
        ];
        parts.iter().for_each(|text| assert!(!between(text), "{text:?}"));
        assert!(between(b"\x1b]0;title\x1b\\"));
    }
}
