//! A TCP endpoint without I/O: state machine, recovery, timers, congestion control.
