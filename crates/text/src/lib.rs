//! What the two file formats share: TOML with places, overrides, parameters, and error messages
//! that show the offending text.
//!
//! A text becomes a [`Document`]: a tree whose every item knows where it was written. Overrides
//! (`--set key=value`, the points of a sweep) replace items, parameters fill in `"$name"` and
//! `"= expression"`, then serde reads the tree into plain types. Checks name a key
//! (`links.bottleneck.rate`), and the document finds its place: so no type carries places.

mod de;
mod diagnostic;
mod document;
mod expression;
mod faults;
mod input;
mod named;
mod parameters;
mod scalar;
mod schema;
mod tree;

pub use diagnostic::{Diagnostic, Diagnostics, Severity, Source};
pub use document::{Document, Override};
pub use input::{InputFiles, MOST_DATA, MOST_TEXT, folder_of, name_of};
pub use named::{NAME_RULE, Named, is_name, nearest, suggestion};
pub use scalar::Scalar;
pub use schema::schema;
pub use tree::{Item, Key, Value};
