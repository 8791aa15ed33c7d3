//! Finished runs: tables, JSON and text.

use std::path::PathBuf;
use std::sync::Mutex;

use arrow_array::RecordBatchReader;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use shortflow_measure::results::{Ended, Kept};
use shortflow_measure::{Run, View};
use shortflow_report as report;
use shortflow_run::read_runs;
use shortflow_tables::{Reader, Table, Transfers, read};

use crate::failure::Failure;
use crate::row::RowReader;

/// Finished runs.
#[pyclass(frozen, module = "shortflow._core")]
pub(crate) struct Runs {
    runs: Vec<Run>,
    /// The transfers of runs in memory, until they are taken.
    transfers: Mutex<Option<Vec<Vec<Kept<Ended>>>>>,
    /// Whether transfers are in folders.
    is_in_folders: bool,
    failed: usize,
}

impl Runs {
    /// Runs, and their transfers unless they are in folders.
    pub(crate) fn new(
        runs: Vec<Run>,
        transfers: Option<Vec<Vec<Kept<Ended>>>>,
        failed: usize,
    ) -> Runs {
        let is_in_folders = transfers.is_none();
        Runs { runs, transfers: Mutex::new(transfers), is_in_folders, failed }
    }
}

#[pymethods]
impl Runs {
    /// The runs in folders of results.
    #[staticmethod]
    fn open(py: Python<'_>, folders: Vec<PathBuf>) -> Result<Runs, Failure> {
        let runs = py.detach(|| read_runs(&folders));
        let runs = runs.map_err(|error| Failure::Input(error.to_string()))?;
        let points = runs.iter().flat_map(|run| &run.points);
        let failed = points.filter(|point| point.has_failed()).count();
        Ok(Runs::new(runs, None, failed))
    }

    /// The labels of the runs.
    #[getter]
    fn labels(&self) -> Vec<&str> {
        self.runs.iter().map(|run| run.label.as_str()).collect()
    }

    /// How many points failed.
    #[getter]
    fn failed(&self) -> usize {
        self.failed
    }

    /// Everything, as `--json` prints it.
    fn json(&self, py: Python<'_>) -> String {
        py.detach(|| report::json(&View::new(&self.runs)).to_string())
    }

    /// What the terminal shows, with all tables or in brief.
    fn text(&self, columns: usize, is_brief: bool) -> String {
        let view = View::new(&self.runs);
        match is_brief {
            true => report::brief(&view, false, columns),
            false => report::text(&view, false, columns),
        }
    }

    /// The table of this name, as a stream of the Arrow C interface. Transfers in memory can be taken once.
    fn table<'py>(&self, py: Python<'py>, name: &str) -> Result<Bound<'py, PyCapsule>, Failure> {
        let reader = self.reader(py, name)?;
        stream(py, Box::new(reader))
    }

    /// The same of runs of a sweep: with the row of the design, and the policy by its name there.
    #[pyo3(signature = (name, row, policy=None))]
    fn row_table<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        row: i64,
        policy: Option<String>,
    ) -> Result<Bound<'py, PyCapsule>, Failure> {
        let reader = self.reader(py, name)?;
        stream(py, Box::new(RowReader::new(reader, row, policy)))
    }
}

impl Runs {
    fn reader(&self, py: Python<'_>, name: &str) -> Result<Reader, Failure> {
        let found = Table::ALL.into_iter().find(|table| table.name() == name);
        let table = found.ok_or_else(|| {
            let names: Vec<&str> = Table::ALL.iter().map(|table| table.name()).collect();
            Failure::Input(format!("unknown table `{name}`: use {}", names.join(", ")))
        })?;
        let transfers = match (table, self.is_in_folders) {
            (Table::Transfers, false) => {
                let kept =
                    self.transfers.lock().unwrap_or_else(|poison| poison.into_inner()).take();
                Transfers::InMemory(kept.unwrap_or_default())
            }
            (_, true) => Transfers::InFolders,
            (_, false) => Transfers::InMemory(Vec::new()),
        };
        let reader = py.detach(|| read(table, &self.runs, transfers));
        reader.map_err(|error| Failure::Input(error.to_string()))
    }
}

fn stream<'py>(
    py: Python<'py>,
    reader: Box<dyn RecordBatchReader + Send>,
) -> Result<Bound<'py, PyCapsule>, Failure> {
    let stream = FFI_ArrowArrayStream::new(reader);
    Ok(PyCapsule::new_with_value(py, stream, c"arrow_array_stream")?)
}
