//! What a study shows: its ledger as text and pages, its figures and tables.

mod claims_table;
mod figure;
pub mod files;
mod reproduced;
mod table;
mod text;

pub use claims_table::claims_table;
pub use figure::{Figure, FigureCurve, figure};
pub use reproduced::Reproduced;
pub use table::{Table, table};
pub use text::{overview, text};
