//! What every model keeps to, whatever its inputs.

mod laws;
