//! Claims ledgers, sweeps, and comparisons across policies.
