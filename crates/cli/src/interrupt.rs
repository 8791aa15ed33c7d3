//! Ctrl-C, and requests to terminate.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::failure::Failure;

/// A flag that Ctrl-C and a request to terminate set.
pub(crate) fn stop_on_interrupt() -> Result<&'static AtomicBool, Failure> {
    static STOP: AtomicBool = AtomicBool::new(false);
    ctrlc::set_handler(|| STOP.store(true, Ordering::Relaxed))
        .map_err(|error| Failure::Machine(format!("cannot listen for Ctrl-C: {error}")))?;
    Ok(&STOP)
}
