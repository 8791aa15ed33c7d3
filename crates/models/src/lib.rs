//! Closed forms: one file per paper's formulae.
