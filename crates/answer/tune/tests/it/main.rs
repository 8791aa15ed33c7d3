//! What is said to be measured, against what the simulator measures.

mod codel;
mod offered;
mod policy_warnings;
