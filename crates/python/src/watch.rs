//! Runs without the interpreter's lock, while this thread listens for Ctrl-C and reports progress.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;
use shortflow_run::Progress;

use crate::failure::Failure;

/// How often Ctrl-C is looked for, and progress reported.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Stops runs of other threads.
#[pyclass(frozen, module = "shortflow._core")]
#[derive(Default)]
pub(crate) struct Stop(pub(crate) Arc<AtomicBool>);

#[pymethods]
impl Stop {
    #[new]
    fn new() -> Stop {
        Stop::default()
    }

    /// Stops the runs that have this object.
    fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether they are stopped.
    fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// How far a run is.
#[derive(Default)]
struct Count {
    /// Replicas, of all parts so far.
    all: AtomicUsize,
    completed: AtomicUsize,
    /// Completed shares of replicas, in millionths.
    share: AtomicU64,
}

impl Progress for Count {
    fn begins(&self, replicas: usize, kept: usize) {
        self.all.fetch_add(replicas + kept, Ordering::Relaxed);
        self.completed.fetch_add(kept, Ordering::Relaxed);
        self.share.fetch_add(kept as u64 * 1_000_000, Ordering::Relaxed);
    }

    fn advanced(&self, share: f64) {
        self.share.fetch_add((share * 1e6).round() as u64, Ordering::Relaxed);
    }

    fn completed(&self) {
        self.completed.fetch_add(1, Ordering::Relaxed);
    }
}

impl Count {
    fn report(&self, py: Python<'_>, shown: &Py<PyAny>) -> PyResult<()> {
        let all = self.all.load(Ordering::Relaxed);
        let completed = self.completed.load(Ordering::Relaxed);
        let replicas = self.share.load(Ordering::Relaxed) as f64 / 1e6;
        shown.call1(py, (replicas.min(all as f64), completed, all)).map(|_| ())
    }
}

/// Does `work` without the interpreter's lock. On Ctrl-C, or when `shown` raises, it sets `stop` and waits for the end.
/// `shown` is called with completed replicas (with fractions), complete ones, and all.
pub(crate) fn watched<R: Send>(
    py: Python<'_>,
    stop: &AtomicBool,
    shown: Option<&Py<PyAny>>,
    work: impl FnOnce(&dyn Progress) -> R + Send,
) -> Result<R, Failure> {
    let count = Count::default();
    let counted = &count;
    py.detach(|| {
        thread::scope(|scope| {
            let (ended, end) = channel::<()>();
            let running = scope.spawn(move || {
                let found = work(counted);
                drop(ended);
                found
            });
            let mut raised = None;
            while end.recv_timeout(POLL_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                if raised.is_none()
                    && let Err(error) = look(&count, shown)
                {
                    stop.store(true, Ordering::Relaxed);
                    raised = Some(error);
                }
            }
            let found = running.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            if let (None, Some(shown)) = (&raised, shown) {
                raised = Python::attach(|py| count.report(py, shown)).err();
            }
            raised.map_or(Ok(found), |error| Err(Failure::Raised(error)))
        })
    })
}

/// Raises what Ctrl-C or the report of progress raises.
fn look(count: &Count, shown: Option<&Py<PyAny>>) -> PyResult<()> {
    Python::attach(|py| {
        py.check_signals()?;
        shown.map_or(Ok(()), |shown| count.report(py, shown))
    })
}
