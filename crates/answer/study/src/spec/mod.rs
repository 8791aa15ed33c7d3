//! The files of a study: where they are, their formats, and the mistakes in them.
//!
//! The formats are those of `papers/<id>/study.toml`, `claims.toml` and `calibration.toml`.

mod built_in;
mod calibration;
mod claims;
mod find;
mod looks;
pub(crate) mod mistakes;
mod quantity;
mod rehearsed;
mod runs;
mod shown;
mod study;
mod study_files;
mod variant;

pub use shortflow_measure::Measure;

pub use calibration::{AboveSpec, CalibrationSpec, KeepSpec, ParameterSpec, TargetSpec};
pub use claims::{CheckSpec, ClaimSpec, Claims, ObservationSpec, Points, Rule};
pub use find::find;
pub use looks::{ERROR, InvalidLooks, Looks, MAX_REPLICAS};
pub(crate) use quantity::ALL;
pub use quantity::{Form, Quantity};
pub use rehearsed::RehearsedSpec;
pub(crate) use runs::is_same;
pub use runs::{AccessesSpec, BusySpec, ChangeSpec, RunSpec};
pub use shown::{ColumnSpec, Curve, FigureKind, FigureSpec, RowSpec, TableSpec};
pub use study::{Effort, Study};
pub use study_files::StudyFiles;
pub(crate) use study_files::names;
pub(crate) use variant::Variant;
