//! Distributes snapshots to the connected pages.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::model::{About, Snapshot};

/// The most bytes of snapshots that are kept for those who come later, as JSON.
const MAX_KEPT: usize = 4_000_000;

/// Keeps the last snapshots, and wakes the connected pages.
#[derive(Debug)]
pub struct Hub {
    state: Mutex<State>,
    news: Condvar,
}

#[derive(Debug)]
struct State {
    about: About,
    /// The number of changes of `about`.
    revision: u64,
    /// The number of the first snapshot that is kept.
    first: u64,
    kept: VecDeque<Arc<str>>,
    kept_bytes: usize,
    watchers: usize,
}

/// The position of a connected page.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Seen {
    revision: u64,
    next: u64,
}

/// The news for a connected page.
#[derive(Debug, Default)]
pub(crate) struct News {
    pub(crate) about: Option<String>,
    pub(crate) snapshots: Vec<Arc<str>>,
}

impl Hub {
    /// A hub for this source, without snapshots.
    pub fn new(about: About) -> Hub {
        let state = State {
            about,
            revision: 1,
            first: 0,
            kept: VecDeque::new(),
            kept_bytes: 0,
            watchers: 0,
        };
        Hub { state: Mutex::new(state), news: Condvar::new() }
    }

    /// Tells how places stood.
    pub fn tell(&self, snapshot: &Snapshot) {
        let text: Arc<str> = serde_json::to_string(snapshot).expect("it has no maps").into();
        let mut state = self.state();
        state.kept_bytes += text.len();
        state.kept.push_back(text);
        while state.kept_bytes > MAX_KEPT && state.kept.len() > 1 {
            let oldest = state.kept.pop_front().expect("there are several");
            state.kept_bytes -= oldest.len();
            state.first += 1;
        }
        drop(state);
        self.news.notify_all();
    }

    /// Changes the description of the source. If the run changes, its snapshots restart.
    pub fn change(&self, change: impl FnOnce(&mut About)) {
        let mut state = self.state();
        let before = state.about.clone();
        change(&mut state.about);
        if state.about.run != before.run {
            state.first += state.kept.len() as u64;
            state.kept.clear();
            state.kept_bytes = 0;
        }
        if state.about != before {
            state.revision += 1;
        }
        drop(state);
        self.news.notify_all();
    }

    /// What is looked at.
    pub fn about(&self) -> About {
        self.state().about.clone()
    }

    /// Whether anybody looks.
    pub fn is_watched(&self) -> bool {
        self.state().watchers > 0
    }

    /// Registers a page until the returned value is dropped.
    pub(crate) fn watch(&self) -> Watcher<'_> {
        self.state().watchers += 1;
        Watcher(self)
    }

    /// What is new since `seen`; waits for it so long at most.
    pub(crate) fn news(&self, seen: &mut Seen, max: Duration) -> News {
        let state = self.state();
        let is_old = |state: &mut State| {
            seen.revision == state.revision && seen.next >= state.first + state.kept.len() as u64
        };
        let waited = self.news.wait_timeout_while(state, max, is_old);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let about = (seen.revision != state.revision)
            .then(|| serde_json::to_string(&state.about).expect("it has no maps"));
        let skip = seen.next.saturating_sub(state.first) as usize;
        let snapshots = state.kept.iter().skip(skip).cloned().collect();
        *seen = Seen { revision: state.revision, next: state.first + state.kept.len() as u64 };
        News { about, snapshots }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connected page.
#[derive(Debug)]
pub(crate) struct Watcher<'h>(&'h Hub);

impl Drop for Watcher<'_> {
    fn drop(&mut self) {
        self.0.state().watchers -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Kind, Place};

    fn hub() -> Hub {
        Hub::new(About {
            kind: Kind::Replay,
            title: String::new(),
            run: 1,
            interval_s: 1.0,
            delay: String::new(),
            notes: Vec::new(),
            choices: Vec::new(),
            pace: None,
        })
    }

    fn at(at_s: f64) -> Snapshot {
        Snapshot { at_s, places: Vec::new() }
    }

    #[test]
    fn who_comes_later_gets_what_was_told_and_then_what_is_new() {
        let hub = hub();
        hub.tell(&at(1.0));
        let mut seen = Seen::default();
        let news = hub.news(&mut seen, Duration::ZERO);
        assert_eq!((news.about.is_some(), news.snapshots.len()), (true, 1));
        assert!(hub.news(&mut seen, Duration::ZERO).snapshots.is_empty());
        hub.tell(&at(2.0));
        let news = hub.news(&mut seen, Duration::ZERO);
        assert_eq!(&*news.snapshots[0], "{\"at_s\":2.0,\"places\":[]}");
        assert!(news.about.is_none());
    }

    #[test]
    fn another_run_begins_without_the_snapshots_of_the_one_before() {
        let hub = hub();
        let mut seen = Seen::default();
        hub.tell(&at(1.0));
        hub.news(&mut seen, Duration::ZERO);
        hub.tell(&at(2.0));
        hub.change(|about| about.run += 1);
        hub.tell(&at(0.5));
        let news = hub.news(&mut seen, Duration::ZERO);
        assert!(news.about.unwrap().contains("\"run\":2"));
        assert_eq!(news.snapshots.len(), 1);
    }

    #[test]
    fn what_is_kept_has_a_bound_and_who_is_slow_goes_on_with_what_is_left() {
        let hub = hub();
        let mut seen = Seen::default();
        let name = "x".repeat(MAX_KEPT / 8);
        let big = Snapshot { at_s: 0.0, places: vec![Place { name, ..Place::default() }] };
        (0..20).for_each(|_| hub.tell(&big));
        let news = hub.news(&mut seen, Duration::ZERO);
        assert_eq!(news.snapshots.len(), 7);
        assert!(hub.news(&mut seen, Duration::ZERO).snapshots.is_empty());
    }

    #[test]
    fn one_is_watched_as_long_as_somebody_looks() {
        let hub = hub();
        let watcher = hub.watch();
        assert!(hub.is_watched());
        drop(watcher);
        assert!(!hub.is_watched());
    }
}
