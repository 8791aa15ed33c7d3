//! All tables in a folder.

use shortflow_measure::Run;
use shortflow_measure::results::{self, Ended, Folder, Record as _};

use crate::error::Error;
use crate::format::{Format, write};
use crate::table::{Table, read};
use crate::transfers::Transfers;

/// Writes all tables about `runs` into a folder. The files of rows of each run lie in its folder of `rows`. The table of transfers
/// is omitted if no run has files of transfers.
///
/// # Errors
/// When a file of rows is invalid, or a table cannot be written.
pub fn write_all(
    runs: &[Run],
    rows: &[Folder],
    format: Format,
    into: &Folder,
) -> Result<(), results::Error> {
    let has_transfers = runs.iter().zip(rows).any(|(run, folder)| has_transfers(run, folder));
    let tables = Table::ALL.into_iter().filter(|one| *one != Table::Transfers || has_transfers);
    for table in tables {
        let mut file = into.create_file(&format!("{}.{}", table.name(), format.name()))?;
        let written = read(table, runs, Transfers::In(rows.to_vec()))
            .and_then(|reader| write(reader, format, &mut file));
        match written {
            Ok(()) => file.finish()?,
            Err(Error::Results(error)) => return Err(error),
            Err(Error::Write(error)) => return Err(file.failed(error)),
        }
    }
    Ok(())
}

fn has_transfers(run: &Run, folder: &Folder) -> bool {
    let points = run.points.iter().enumerate();
    let mut replicas =
        points.flat_map(|(at, point)| point.replicas.iter().map(move |one| (at, one.number)));
    replicas.any(|(point, replica)| folder.has(&Ended::file(point, replica)))
}
