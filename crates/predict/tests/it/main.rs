//! Predictions against simulations of the same scenarios.

mod against_simulations;
mod refusals;
