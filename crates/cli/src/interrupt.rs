//! Ctrl-C, and requests to terminate.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::failure::Failure;

static STOP: AtomicBool = AtomicBool::new(false);

/// The flag that Ctrl-C and a request to terminate set from the first [`stop_on_interrupt`] on, which starts a thread.
#[cfg(live)]
pub(crate) fn stop_flag() -> &'static AtomicBool {
    &STOP
}

/// The flag that Ctrl-C and a request to terminate set.
pub(crate) fn stop_on_interrupt() -> Result<&'static AtomicBool, Failure> {
    static LISTENS: OnceLock<Result<(), String>> = OnceLock::new();
    let listen = || {
        let listens = ctrlc::set_handler(|| STOP.store(true, Ordering::Relaxed));
        listens.map_err(|error| format!("cannot listen for Ctrl-C: {error}"))
    };
    LISTENS.get_or_init(listen).clone().map_err(Failure::Machine)?;
    Ok(&STOP)
}
