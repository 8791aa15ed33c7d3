//! When things happen: the event queue, who has events, the timers of connections.

pub(crate) mod calendar;
pub(crate) mod entities;
pub(crate) mod timers;
