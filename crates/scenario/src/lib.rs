//! Scenario text (topology, workloads, bindings, measures), checked.
