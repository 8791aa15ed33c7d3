//! `--format`: results as tables for other programs.

use clap::ValueEnum;
use shortflow_measure::Run;
use shortflow_measure::results;
use shortflow_run::OutputFolder;

use crate::failure::Failure;

/// The format of tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TableFormat {
    /// Apache Parquet.
    Parquet,
    /// Values separated by commas.
    Csv,
    /// Apache Arrow, also called Feather.
    Arrow,
}

impl TableFormat {
    /// The format of the tables of a run that was read from its folder.
    pub(crate) fn of_run(run: &Run) -> Option<TableFormat> {
        TableFormat::from_str(run.manifest.tables.as_ref()?, false).ok()
    }

    /// Its name in manifests.
    pub(crate) fn name(self) -> String {
        self.to_possible_value().map_or(String::new(), |value| value.get_name().to_owned())
    }
}

/// Refuses tables if this program cannot write them.
pub(crate) fn refuse_unbuilt(format: Option<TableFormat>) -> Result<(), Failure> {
    if cfg!(feature = "tables") || format.is_none() {
        return Ok(());
    }
    let what = "this build cannot write tables\nbuild with `make build`, or omit --format";
    Err(Failure::Machine(what.to_owned()))
}

/// Writes the tables of `runs`, whose rows are in these folders of the output.
#[cfg(feature = "tables")]
pub(crate) fn write(
    output: &OutputFolder,
    folders: &[Option<String>],
    runs: &[Run],
    format: Option<TableFormat>,
) -> Result<(), results::Error> {
    let Some(format) = format else { return Ok(()) };
    let rows = folders.iter().map(|folder| output.folder(folder.as_deref()));
    let rows = rows.collect::<Result<Vec<_>, _>>()?;
    let into = output.folder(Some(results::TABLES))?;
    let format = match format {
        TableFormat::Parquet => shortflow_tables::Format::Parquet,
        TableFormat::Csv => shortflow_tables::Format::Csv,
        TableFormat::Arrow => shortflow_tables::Format::Arrow,
    };
    shortflow_tables::write_all(runs, &rows, format, &into)
}

/// Writes nothing: a format was refused before the run.
#[cfg(not(feature = "tables"))]
pub(crate) fn write(
    _: &OutputFolder,
    _: &[Option<String>],
    _: &[Run],
    _: Option<TableFormat>,
) -> Result<(), results::Error> {
    Ok(())
}
