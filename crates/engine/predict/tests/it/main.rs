//! Predictions against simulations of the same scenarios, against hand computations, and what is refused.

mod acknowledgements;
mod against_simulations;
mod behind_windows;
mod beside_long_flows;
mod bounds;
mod invariants;
mod laws;
mod ranges;
mod refusals;
mod schemes;
mod shipped;
mod slower_links;
