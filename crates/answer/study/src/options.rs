//! How a study is run.

use std::path::Path;

/// How a study is run.
#[derive(Debug, Clone)]
pub struct Options<'a> {
    /// The short variant, for a first look and for continuous integration.
    pub quick: bool,
    /// Threads; 0 is one per core.
    pub threads: usize,
    /// Where finished replicas are kept, so that an interrupted study can continue.
    pub folder: &'a Path,
}
