//! Something that goes on beside something else, and ends with it.

use std::sync::atomic::{AtomicBool, Ordering};

/// Does something while `beside` goes on, which is told when it is over.
pub(crate) fn while_over<T, B: Send>(
    beside: impl FnOnce(&AtomicBool) -> B + Send,
    act: impl FnOnce() -> T,
) -> T {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| beside(&over));
        let _over = Over(&over);
        act()
    })
}

/// Tells that something is over when it is dropped, however that comes about.
struct Over<'o>(&'o AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
