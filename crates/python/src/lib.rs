//! The extension module `shortflow._core` of the Python package.
//!
//! ```text
//! texts ─▶ Case ─▶ run ─▶ Runs ─▶ tables, JSON, folders of results
//! ```
//!
//! Functions take and return texts, numbers and JSON; the modules in `python/shortflow` make classes of them.
//!
//! # What this crate does not know
//!
//! How runs are computed, compared or laid out: it calls the crates that the command line calls. Sweeps: their designs,
//! storage and executors are Python.

mod advise;
mod case;
mod failure;
mod row;
mod run;
mod runs;
mod search;
mod stats;
mod text;
mod watch;

use pyo3::prelude::*;

/// Colours of curves that Python gets.
const COLORS: usize = 32;

/// The extension module.
#[pymodule]
mod _core {
    use pyo3::prelude::*;

    use super::COLORS;
    #[pymodule_export]
    use crate::advise::advise;
    #[pymodule_export]
    use crate::case::{Case, check};
    #[pymodule_export]
    use crate::run::run;
    #[pymodule_export]
    use crate::runs::Runs;
    #[pymodule_export]
    use crate::search::{reproduce, studies, tune};
    #[pymodule_export]
    use crate::stats::{estimate, gain, measures};
    #[pymodule_export]
    use crate::text::{kind, read, set_keys, shipped, to_toml, write};
    #[pymodule_export]
    use crate::watch::Stop;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("VERSION", shortflow_version::VERSION)?;
        let colors: Vec<String> = (0..COLORS).map(shortflow_report::color).collect();
        module.add("STYLE", (shortflow_report::INK, shortflow_report::GRID, colors))
    }
}
