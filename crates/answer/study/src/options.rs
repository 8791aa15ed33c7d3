//! How a study is run.

use std::path::Path;

/// How much of a study is judged anew; the rest stays as in its committed ledger.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Part {
    /// All claims, with figures and tables.
    #[default]
    All,
    /// The claims with these numbers.
    Claims(Vec<String>),
    /// No claim: the changes that its claims name for checks that fail, where the ledger does not have them.
    Changes,
}

/// How a study is run.
#[derive(Debug, Clone)]
pub struct Options<'a> {
    /// How much of it is judged anew.
    pub part: Part,
    /// The short variant, for a first look and for continuous integration.
    pub quick: bool,
    /// Threads; 0 is one per core.
    pub threads: usize,
    /// Where finished replicas are kept, so that an interrupted study can continue.
    pub folder: &'a Path,
}
