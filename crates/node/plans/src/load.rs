//! From files to checked plans.

use std::path::Path;
use std::sync::Arc;

use shortflow_text::{
    Diagnostic, Diagnostics, Document, InputFiles, MAX_TEXT, Source, folder_of, name_of, reason,
};

use crate::check::{Draft, check};
use crate::customers;
use crate::file::PlansFile;
use crate::findings::{Findings, Located};
use crate::model::Plans;

/// The queue that customers have.
const QUEUE: &str = "fq-codel";

/// Reads and checks the plans at `path`, with the table of customers that they name.
///
/// # Errors
/// All mistakes in them, with their places.
pub fn load_from(files: &InputFiles, path: &Path) -> Result<Plans, Diagnostics> {
    let name = name_of(path);
    let text = files.read(path, MAX_TEXT).map_err(|error| {
        let message = format!("cannot read {name}: {}", reason(&error));
        Diagnostics::one(Diagnostic::of_whole(&name, message, None))
    })?;
    let mut document = Document::parse(Arc::new(Source { name, text }), &[])?;
    let mut file: PlansFile = document.read()?;
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let title = document.title(file.name.take(), stem.unwrap_or_default());
    document.checked()?;
    let mut findings = Findings::default();
    if let Some(queue) = file.queue.take().filter(|queue| queue != QUEUE) {
        let what = format!("plans do not support the queue `{queue}`");
        findings.mistake(&document.spot("queue"), what, format!("allowed: `{QUEUE}`, the default"));
    }
    let written = std::mem::take(&mut file.customer);
    let mut written = customers::in_document(&document, written, &mut findings);
    if let Some(table) = &file.customers {
        let table = Located::of_key(table.as_str(), &document, "customers");
        written.extend(of_table(files, path, &table, &mut findings));
    }
    check(Draft { title, document: &document, file, customers: written }, findings)
}

/// The customers of the table that the plans name.
fn of_table(
    files: &InputFiles,
    path: &Path,
    table: &Located<&str>,
    findings: &mut Findings,
) -> Vec<customers::Written> {
    let place = folder_of(path).join(table.value);
    let name = name_of(&place);
    match files.read(&place, MAX_TEXT) {
        Ok(text) => customers::in_table(Arc::new(Source { name, text }), findings),
        Err(error) => {
            let message = format!("cannot read the customers in {name}: {}", reason(&error));
            let help = "name a CSV file, relative to the file of plans";
            findings.mistake(&table.spot, message, help);
            Vec::new()
        }
    }
}
