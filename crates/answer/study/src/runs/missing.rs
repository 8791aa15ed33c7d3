//! Why a quantity has no number.

/// Why replicas give no number for a quantity.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Missing {
    /// The run was not run at this point.
    #[error("run {run} has no point {x}")]
    Point {
        /// The run.
        run: String,
        /// The point of its sweep.
        x: f64,
    },
    /// Some replica has nothing of this kind.
    #[error("run {run} at {x} measured no {quantity}")]
    Measurement {
        /// The run.
        run: String,
        /// The point of its sweep.
        x: f64,
        /// The quantity, in words.
        quantity: String,
    },
    /// No replica has a counter of this name.
    #[error("run {run} at {x} has no counter `{counter}`; {known}")]
    Counter {
        /// The run.
        run: String,
        /// The point of its sweep.
        x: f64,
        /// Its name.
        counter: String,
        /// Those that there are, and which may be meant.
        known: String,
    },
    /// The quantity by which it is divided is zero in some replica.
    #[error("run {run} at {x} has no {quantity} to divide by")]
    Divisor {
        /// The run.
        run: String,
        /// The point of its sweep.
        x: f64,
        /// The divisor, in words.
        quantity: String,
    },
    /// Some replicas know only a bound of it.
    #[error(
        "in {bounds} of {replicas} replicas of {run} too many transfers were incomplete at the end; it \
         is at least {at_least:.3}"
    )]
    Bounded {
        /// The run.
        run: String,
        /// The replicas that know only a bound.
        bounds: usize,
        /// All replicas.
        replicas: usize,
        /// A lower bound of the mean.
        at_least: f64,
    },
    /// There is no replica.
    #[error("no replica")]
    Replica,
}
