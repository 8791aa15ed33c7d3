//! A part of a study that is judged anew in its committed ledger.

use shortflow_text::suggestion;

use crate::calibration::Readings;
use crate::error::Error;
use crate::ledger::{Judging, Ledger};
use crate::options::{Options, Part};
use crate::runs::{Bench, Wanted};
use crate::spec::{Claims, StudyFiles, names};

/// The committed ledger, in which a part of the study is judged anew; `None` for the whole study.
pub(crate) fn committed(
    files: &StudyFiles,
    claims: &Claims,
    readings: &Readings,
    part: &Part,
) -> Result<Option<Ledger>, Error> {
    let mistake = |message: String| Error::Study { file: files.place(names::LEDGER), message };
    if let Part::Claims(ids) = part
        && let Some(unknown) = ids.iter().find(|id| claims.claims.iter().all(|c| c.id != **id))
    {
        let known: Vec<&str> = claims.claims.iter().map(|claim| claim.id.as_str()).collect();
        let file = files.place(names::CLAIMS);
        let help = suggestion(unknown, "there are", &known);
        let message = format!("no claim `{unknown}` about runs; {help}");
        return Err(Error::Study { file, message });
    }
    if *part == Part::All {
        return Ok(None);
    }
    let text = files.text(names::LEDGER).ok_or_else(|| {
        mistake("the study has no committed ledger; run it as a whole first".to_owned())
    })?;
    let ledger: Ledger = serde_json::from_str(text).map_err(|error| mistake(error.to_string()))?;
    if ledger.reading != readings.best.name() {
        let (was, is) = (&ledger.reading, readings.best.name());
        return Err(mistake(format!(
            "it is judged at the reading `{was}`, the best is now `{is}`; run the whole study"
        )));
    }
    Ok(Some(ledger))
}

/// Judges a part of the study anew in its committed ledger. False when it was interrupted.
pub(crate) fn judge_part(
    judging: &Judging<'_>,
    readings: &Readings,
    ledger: &mut Ledger,
    options: &Options<'_>,
    bench: &mut Bench<'_>,
) -> Result<bool, Error> {
    if options.part == Part::Changes {
        return judging.try_more_changes(ledger, &readings.best, bench);
    }
    let judged = judging.judge(readings, &Wanted::default(), bench)?;
    let is_complete = judged.is_some();
    for claim in judged.into_iter().flat_map(|judged| judged.claims) {
        match ledger.claims.iter_mut().find(|old| old.id == claim.id) {
            Some(old) => *old = claim,
            None => ledger.claims.push(claim),
        }
    }
    Ok(is_complete)
}
