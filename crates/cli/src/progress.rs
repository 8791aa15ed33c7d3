//! The progress of replicas, drawn on a terminal.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use shortflow_run::Progress;

use crate::console::Console;

/// A bar over all replicas of a command, which is drawn once it is known how many they are, and
/// vanishes at the end.
#[derive(Debug)]
pub(crate) struct Bar<'c> {
    console: &'c Console,
    /// The part of the whole that is under way, where it has parts.
    stage: RwLock<String>,
    drawn: RwLock<Option<Drawn>>,
}

#[derive(Debug)]
struct Drawn {
    bar: ProgressBar,
    /// The part of the whole.
    stage: String,
    replicas: usize,
    /// Replicas that were complete before the command began; they are not among the others.
    kept: usize,
    complete: AtomicUsize,
    /// Shares of replicas in billionths, so that threads can add them up.
    done: AtomicU64,
}

impl Bar<'_> {
    pub(crate) fn new(console: &Console) -> Bar<'_> {
        Bar { console, stage: RwLock::default(), drawn: RwLock::default() }
    }

    /// Takes the bar away.
    pub(crate) fn end(&self) {
        if let Some(drawn) = written(&self.drawn).take() {
            drawn.bar.finish_and_clear();
        }
    }
}

impl Progress for Bar<'_> {
    fn stage(&self, name: &str) {
        name.clone_into(&mut written(&self.stage));
    }

    fn begins(&self, replicas: usize, kept: usize) {
        self.end();
        let stage = written(&self.stage).clone();
        *written(&self.drawn) = Some(Drawn::new(self.console, stage, replicas, kept));
    }

    fn advanced(&self, share: f64) {
        if let Some(drawn) = &*read(&self.drawn) {
            let step = (share * BILLION as f64) as u64;
            let done = drawn.done.fetch_add(step, Ordering::Relaxed) + step;
            drawn.bar.set_position(done / (BILLION / STEPS));
        }
    }

    fn completed(&self) {
        if let Some(drawn) = &*read(&self.drawn) {
            drawn.count(drawn.complete.fetch_add(1, Ordering::Relaxed) + 1);
        }
    }
}

/// A line that says what is done now, where that is not made of replicas.
#[derive(Debug)]
pub(crate) struct Spinner(ProgressBar);

impl Spinner {
    pub(crate) fn new(console: &Console) -> Spinner {
        Spinner(match console.shows_progress() {
            true => ProgressBar::new_spinner(),
            false => ProgressBar::hidden(),
        })
    }

    /// Shows what is done now.
    pub(crate) fn at(&self, what: &str) {
        self.0.set_message(what.to_owned());
        tick(&self.0);
    }

    pub(crate) fn end(&self) {
        self.0.finish_and_clear();
    }
}

/// What is shown is whole after a panic too.
fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

fn written<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

/// Draws it again from time to time, which takes a thread, if anybody sees it.
fn tick(bar: &ProgressBar) {
    if !bar.is_hidden() {
        bar.enable_steady_tick(Duration::from_millis(200));
    }
}

impl Drawn {
    fn new(console: &Console, stage: String, replicas: usize, kept: usize) -> Drawn {
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
        let drawn = Drawn { bar, stage, replicas, kept, complete, done };
        drawn.count(0);
        tick(&drawn.bar);
        drawn
    }

    fn count(&self, complete: usize) {
        let kept = match self.kept {
            0 => String::new(),
            kept => format!(", {kept} kept from an earlier run"),
        };
        let stage = if self.stage.is_empty() { String::new() } else { format!("{}: ", self.stage) };
        self.bar.set_message(format!("{stage}{complete} of {} replicas{kept}", self.replicas));
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
