//! What the two file formats share: TOML with places, overrides, parameters, and error messages
//! that show the offending text.
//!
//! A text becomes a [`Document`]: a tree whose every item knows where it was written. Overrides
//! (`--set key=value`, the points of a sweep) replace items, parameters fill in `"$name"` and
//! `"= expression"`, then serde reads the tree into plain types. Checks name a key
//! (`links.bottleneck.rate`), and the document finds its place: so no type carries places.
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
//! // A mistake in a key is shown with the file, the line and the offending text.
//! document.mistake("limit", "the limit is too small", "at least 50 packets");
//! let found = document.checked().unwrap_err().to_string();
//! assert!(found.contains("red.toml:1") && found.contains("40 pkt"));
//! # Ok::<(), shortflow_text::Diagnostics>(())
//! ```
//!
//! # What this crate does not know
//!
//! What a key means: no name of a scenario's or a policy's keys stands here, and no unit. Those who read a
//! document bring the types and the checks. It runs nothing and writes no file.

mod control_chars;
mod de;
mod diagnostic;
mod document;
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

pub use diagnostic::{Diagnostic, Diagnostics, Severity, Source, Spot};
pub use document::{Document, Override, is_title};
pub use input::{InputFiles, MAX_DATA, MAX_TEXT, folder_of, name_of};
pub use keys::{FormatKey, FormatKeys, WrittenKey, WrittenKeys};
pub use named::{NAME_RULE, Named, is_name, nearest, suggestion};
pub use plain::plain;
pub use scalar::{Scalar, ScalarOrList};
pub use schema::schema;
pub use tree::{Item, Key, Value};
