//! A terminal with a status line at its foot, above which other output scrolls.

use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

/// Standard error, with a line that stays below what is written.
#[derive(Debug, Default)]
pub(crate) struct Screen(Mutex<Foot>);

#[derive(Debug, Default)]
struct Foot {
    line: String,
    /// Whether writers must move the cursor back to the first column.
    is_raw: bool,
}

/// Back to the first column, and what is there is gone.
const CLEAR: &str = "\r\x1b[K";

impl Screen {
    /// From now on the terminal is raw.
    pub(crate) fn set_raw(&self, is_raw: bool) {
        self.with(|foot| foot.is_raw = is_raw);
    }

    /// Writes a whole line above the foot.
    pub(crate) fn print(&self, line: &[u8]) {
        self.with(|foot| {
            let clear = if foot.line.is_empty() && !foot.is_raw { "" } else { CLEAR };
            let end = if foot.is_raw { "\r\n" } else { "\n" };
            let all = [clear.as_bytes(), line, end.as_bytes(), foot.line.as_bytes()].concat();
            write(&all);
        });
    }

    /// Shows this line at the foot; nothing when it is empty.
    pub(crate) fn set_foot(&self, line: String) {
        self.with(|foot| {
            foot.line = line;
            write(format!("{CLEAR}{}", foot.line).as_bytes());
        });
    }

    fn with(&self, act: impl FnOnce(&mut Foot)) {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

fn write(bytes: &[u8]) {
    // If standard error is gone, there is nobody left to tell.
    let mut err = io::stderr().lock();
    let _ = err.write_all(bytes).and_then(|()| err.flush());
}
