//! What is said to be measured, against what the simulator measures.

mod offered;
mod policy_warnings;
