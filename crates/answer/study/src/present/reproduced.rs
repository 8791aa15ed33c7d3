//! What comes of a study as a whole.

use super::figure::Figure;
use super::table::Table;
use crate::ledger::Ledger;

/// What came of a study.
#[derive(Debug)]
pub struct Reproduced {
    /// What was reproduced.
    pub title: String,
    /// Which study that was, and how much of it, in sentences.
    pub about: String,
    /// The verdicts; `None` when the study was interrupted.
    pub ledger: Option<Ledger>,
    /// The figures that have something to show; none when the study was interrupted.
    pub figures: Vec<Figure>,
    /// The tables; none when the study was interrupted.
    pub tables: Vec<Table>,
    /// Whether only a part was judged anew, without figures and tables.
    pub is_part: bool,
    /// Replicas that are finished; how many it takes is not known before the claims are settled.
    pub finished: usize,
    /// Replicas that were kept from before and not used, since the program or the study's files have
    /// changed.
    pub stale: usize,
}
