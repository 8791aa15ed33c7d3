//! How far the replicas are, drawn on a terminal.

use std::fmt::Write;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use shortflow_run::Progress;

use crate::console::Console;

/// A bar over all replicas of a command, which is drawn once it is known how many they are, and
/// vanishes at the end.
#[derive(Debug)]
pub(crate) struct Bar<'c> {
    console: &'c Console,
    drawn: OnceLock<Drawn>,
}

#[derive(Debug)]
struct Drawn {
    bar: ProgressBar,
    replicas: usize,
    /// Replicas that were complete before the command began; they are not among the others.
    kept: usize,
    complete: AtomicUsize,
    /// Shares of replicas in billionths, so that threads can add them up.
    done: AtomicU64,
}

impl Bar<'_> {
    pub(crate) fn new(console: &Console) -> Bar<'_> {
        Bar { console, drawn: OnceLock::new() }
    }

    /// Takes the bar away.
    pub(crate) fn end(&self) {
        if let Some(drawn) = self.drawn.get() {
            drawn.bar.finish_and_clear();
        }
    }
}

impl Progress for Bar<'_> {
    fn begins(&self, replicas: usize, kept: usize) {
        let _ = self.drawn.set(Drawn::new(self.console, replicas, kept));
    }

    fn advanced(&self, share: f64) {
        if let Some(drawn) = self.drawn.get() {
            let step = (share * BILLION as f64) as u64;
            let done = drawn.done.fetch_add(step, Ordering::Relaxed) + step;
            drawn.bar.set_position(done / (BILLION / STEPS));
        }
    }

    fn completed(&self) {
        if let Some(drawn) = self.drawn.get() {
            drawn.count(drawn.complete.fetch_add(1, Ordering::Relaxed) + 1);
        }
    }
}

impl Drawn {
    fn new(console: &Console, replicas: usize, kept: usize) -> Drawn {
        let target = if console.shows_progress() {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(Some(replicas as u64 * STEPS), target);
        let template = if console.color_err { COLORED } else { PLAIN };
        let style = ProgressStyle::with_template(template)
            .expect("the template is right")
            .progress_chars("━╸─")
            .with_key("left", write_time_left);
        bar.set_style(style);
        let (complete, done) = (AtomicUsize::new(0), AtomicU64::new(0));
        let drawn = Drawn { bar, replicas, kept, complete, done };
        drawn.count(0);
        drawn.bar.enable_steady_tick(Duration::from_millis(200));
        drawn
    }

    fn count(&self, complete: usize) {
        let kept = match self.kept {
            0 => String::new(),
            kept => format!(", {kept} kept from before"),
        };
        self.bar.set_message(format!("{complete} of {} replicas{kept}", self.replicas));
    }
}

/// The time left, once there is something to judge by.
fn write_time_left(state: &ProgressState, text: &mut dyn Write) {
    let seconds = state.eta().as_secs();
    let _ = match seconds {
        _ if state.pos() < STEPS / 20 => Ok(()),
        s @ 0..60 => write!(text, "{s} s left"),
        s @ 60..3600 => write!(text, "{} min {} s left", s / 60, s % 60),
        s => write!(text, "{} h {} min left", s / 3600, s / 60 % 60),
    };
}

const COLORED: &str = "{bar:32.cyan/dim} {percent:>3} %  {msg}  {left}";
const PLAIN: &str = "{bar:32} {percent:>3} %  {msg}  {left}";
const BILLION: u64 = 1_000_000_000;
/// Steps of the bar per replica.
const STEPS: u64 = 1000;
