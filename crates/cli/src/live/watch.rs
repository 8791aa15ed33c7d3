//! The status line and keys while a rehearsal runs.

use std::io::{self, IsTerminal, Read};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use shortflow_rehearse::Monitor;

use super::Screen;
use super::keys::Wish;
use super::line::Window;
use super::terminal::{Keys, Taken, readable};
use crate::console::size;

/// How often the line is drawn.
pub(super) const INTERVAL: Duration = Duration::from_millis(500);

/// How long keys are waited for at a time, in milliseconds.
pub(super) const POLL_TIMEOUT_MS: u8 = 50;

/// Columns of a terminal that does not say.
const COLUMNS: u16 = 80;

/// Shows a board at the foot of a screen.
pub(crate) struct Watch<'w> {
    /// What is shown.
    pub(crate) monitor: &'w Monitor,
    /// Where.
    pub(crate) screen: &'w Screen,
    /// What is set to true by the key that asks for the end.
    pub(crate) quit: &'w AtomicBool,
}

impl Watch<'_> {
    /// Shows it until `over`.
    pub(crate) fn run(&self, over: &AtomicBool) {
        let input = io::stdin();
        // Where input comes from elsewhere, there are no keys.
        let keys = input.is_terminal().then(|| Keys::take(input.as_fd(), Taken::Singly).ok());
        let keys = keys.flatten();
        let (mut window, mut drawn_at) = (Window::new(self.monitor), None::<Instant>);
        while !over.load(Ordering::Relaxed) {
            match &keys {
                Some(keys) => {
                    if readable([keys.as_fd()], POLL_TIMEOUT_MS) == [true] {
                        self.read_keys();
                        drawn_at = None;
                    }
                }
                None => std::thread::sleep(Duration::from_millis(POLL_TIMEOUT_MS.into())),
            }
            if drawn_at.is_none_or(|at| at.elapsed() >= INTERVAL) {
                let hint = match (&keys, self.monitor.has_others()) {
                    (None, _) => "",
                    (Some(_), false) => "q quit",
                    (Some(_), true) => "n next policy, q quit",
                };
                let columns = size(io::stderr()).map_or(COLUMNS, |size| size.ws_col);
                let width = usize::from(columns).saturating_sub(1);
                self.screen.set_foot(window.line(self.monitor, hint, width));
                drawn_at = Some(Instant::now());
            }
        }
        self.screen.set_foot(String::new());
    }

    fn read_keys(&self) {
        let mut keys = [0; 64];
        let count = io::stdin().lock().read(&mut keys).unwrap_or(0);
        for wish in keys[..count].iter().filter_map(|key| Wish::from_key(*key)) {
            match wish {
                Wish::NextPolicy => self.monitor.next_policy(),
                Wish::Quit => self.quit.store(true, Ordering::Relaxed),
            }
        }
    }
}
