//! The discrete-event simulator: event queue, links, nodes, run loop, replicas.
