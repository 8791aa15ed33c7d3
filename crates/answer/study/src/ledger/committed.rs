//! The ledgers of the studies that come with the program.

use super::entries::Ledger;
use super::{models, rehearsed};
use crate::spec::{StudyFiles, names};

impl StudyFiles {
    /// The ledgers of all studies that come with the program, as they are committed.
    ///
    /// # Panics
    /// When one is not a ledger, which a test would see.
    pub fn committed() -> Vec<Ledger> {
        let ledger = |files: &StudyFiles| {
            let text = files.text(names::LEDGER)?;
            let mut ledger = serde_json::from_str(text).expect("a committed ledger is one");
            rehearsed::write_beside(&mut ledger, files);
            models::join(&mut ledger, files);
            Some(ledger)
        };
        StudyFiles::built_in().filter_map(ledger).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibration::Calibration;

    #[test]
    fn a_committed_ledger_says_when_its_reading_misses_a_figure_of_the_paper() {
        let ledgers = StudyFiles::committed();
        let missing = ledgers.iter().filter(|ledger| ledger.reading_misses);
        let missing: Vec<&str> = missing.map(|ledger| &*ledger.study).collect();
        let best = |files: &&'static StudyFiles| {
            let outcome = files.text(names::CALIBRATED)?;
            let outcome: Calibration = serde_json::from_str(outcome).unwrap();
            Some(outcome.grid.first()?.passes)
        };
        let expected = StudyFiles::built_in().filter(|files| best(files) == Some(false));
        let expected: Vec<&str> = expected.map(|files| &*files.id).collect();
        assert_eq!(missing, expected);
        assert_eq!(missing, ["nt02"]);
    }
}
