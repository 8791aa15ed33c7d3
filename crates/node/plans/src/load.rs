//! From files to checked plans.

use std::io;
use std::path::Path;
use std::sync::Arc;

use shortflow_text::{
    Diagnostic, Diagnostics, Document, InputFiles, MAX_TEXT, Source, folder_of, name_of, reason,
    suggestion,
};

use crate::check::{Draft, check};
use crate::customers;
use crate::file::PlansFile;
use crate::findings::{Findings, Located};
use crate::model::{CustomerQueue, Plans};

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
    from_text(path, text, &|path| files.read(path, MAX_TEXT))
}

/// Checks the plans `text`, which was read from `path`. `read` reads the table of customers that they name.
///
/// # Errors
/// All mistakes in them, with their places.
pub fn from_text(
    path: &Path,
    text: String,
    read: &dyn Fn(&Path) -> io::Result<String>,
) -> Result<Plans, Diagnostics> {
    let name = name_of(path);
    let mut document = Document::parse(Arc::new(Source { name, text }), &[])?;
    let mut file: PlansFile = document.read()?;
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let title = document.title(file.name.take(), stem.unwrap_or_default());
    document.checked()?;
    let mut findings = Findings::default();
    let named = |queue: &String| CustomerQueue::ALL.into_iter().find(|one| one.name() == queue);
    let queue = match &file.queue {
        None => CustomerQueue::default(),
        Some(written) => named(written).unwrap_or_else(|| {
            let what = format!("plans do not support the queue `{written}`");
            let allowed = CustomerQueue::ALL.map(CustomerQueue::name);
            let help = suggestion(written, "queues", &allowed);
            findings.mistake(&document.spot("queue"), what, help);
            CustomerQueue::default()
        }),
    };
    let written = std::mem::take(&mut file.customer);
    let mut written = customers::in_document(&document, written, &mut findings);
    if let Some(table) = &file.customers {
        let table = Located::of_key(table.as_str(), &document, "customers");
        written.extend(of_table(read, path, &table, &mut findings));
    }
    check(Draft { title, document: &document, file, queue, customers: written }, findings)
}

/// The JSON Schema of files of plans.
pub fn schema() -> schemars::Schema {
    shortflow_text::schema::<PlansFile>()
}

/// The customers of the table that the plans name.
fn of_table(
    read: &dyn Fn(&Path) -> io::Result<String>,
    path: &Path,
    table: &Located<&str>,
    findings: &mut Findings,
) -> Vec<customers::Written> {
    let place = folder_of(path).join(table.value);
    let name = name_of(&place);
    match read(&place) {
        Ok(text) => customers::in_table(Arc::new(Source { name, text }), findings),
        Err(error) => {
            let message = format!("cannot read the customers in {name}: {}", reason(&error));
            let help = "name a CSV file, relative to the file of plans";
            findings.mistake(&table.spot, message, help);
            Vec::new()
        }
    }
}
