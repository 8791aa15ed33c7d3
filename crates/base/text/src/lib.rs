//! The common part of all file formats: TOML with positions, overrides, parameters, and error messages with
//! excerpts of the text.
//!
//! A text becomes a [`Document`]: a tree whose items have positions. Overrides (`--set key=value`, the points
//! of a sweep) replace items. Parameters replace `"$name"` and `"= expression"`. Then serde reads the tree
//! into plain types. Checks name a key (`links.bottleneck.rate`), and the document finds its position, so the
//! types need no positions.
//!
//! ```
//! use std::sync::Arc;
//!
//! use shortflow_text::{Document, Source};
//!
//! let text = "limit = \"40 pkt\"\n";
//! let source = Source { name: "red.toml".into(), text: text.into() };
//! let mut document = Document::parse(Arc::new(source), &[])?;
//! assert_eq!(document.names_in(""), ["limit"]);
//!
//! // An error message shows the file, the line and the text.
//! document.mistake("limit", "the limit is too small", "at least 50 packets");
//! let found = document.checked().unwrap_err().to_string();
//! assert!(found.contains("red.toml:1") && found.contains("40 pkt"));
//! # Ok::<(), shortflow_text::Diagnostics>(())
//! ```
//!
//! # What this crate does not know
//! The meaning of keys: the crate contains no key of a scenario or a policy, but for what users of other programs may
//! write instead, and no unit. Its callers bring
//! the types and the checks. It runs nothing and writes no file.

mod columns;
mod control_chars;
mod de;
mod diagnostic;
mod document;
mod elsewhere;
mod expression;
mod faults;
mod input;
mod keys;
mod named;
mod parameters;
mod plain;
mod scalar;
mod schema;
mod tree;

pub use columns::columns;
pub use diagnostic::{Diagnostic, Diagnostics, Severity, Source, Spot};
pub use document::{Document, Override, OverrideCell, is_title};
pub use input::{InputFiles, MAX_DATA, MAX_TEXT, folder_of, name_of};
pub use keys::{FormatKey, FormatKeys, WrittenKey, WrittenKeys};
pub use named::{NAME_RULE, Named, is_name, nearest, suggestion};
pub use plain::plain;
pub use scalar::{Scalar, ScalarOrList};
pub use schema::schema;
pub use shortflow_files::reason;
pub use tree::{Item, Key, Value};
