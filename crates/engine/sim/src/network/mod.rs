//! The network between hosts: ports and their queues, links, routes, and packets in transit.

pub(crate) mod ends;
pub(crate) mod fabric;
pub(crate) mod index;
pub(crate) mod key;
pub(crate) mod layout;
pub(crate) mod line;
pub(crate) mod pool;
pub(crate) mod port;
pub(crate) mod prefetch;
pub(crate) mod routes;
pub(crate) mod through;
pub(crate) mod waiting;
pub(crate) mod withheld;
