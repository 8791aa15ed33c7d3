//! Events: the event queue, the entities with events, the timers of connections.

pub(crate) mod calendar;
pub(crate) mod entities;
pub(crate) mod timers;
