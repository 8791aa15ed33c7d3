//! Policy text, checked, and built into elements; the only place that knows names of schemes.

pub mod text;
