//! Work in a thread that ends with other work.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Builder;

use crate::failure::Failure;

/// Runs `act` while `beside` runs in another thread; the flag given to `beside` is set when `act` has ended.
///
/// # Errors
/// [`Failure::Machine`] if the machine has no thread left; `act` does not run then.
pub(crate) fn with_background<T, B: Send>(
    beside: impl FnOnce(&AtomicBool) -> B + Send,
    act: impl FnOnce() -> T,
) -> Result<T, Failure> {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let started = Builder::new().spawn_scoped(scope, || beside(&over));
        started.map_err(|error| Failure::Machine(format!("cannot start a thread: {error}")))?;
        let _over = Over(&over);
        Ok(act())
    })
}

/// Sets the flag when it is dropped, even during a panic.
struct Over<'o>(&'o AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
