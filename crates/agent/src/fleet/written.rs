//! The text of a fleet, read once: for the policies that it names, and to be checked with them.

use std::sync::Arc;

use shortflow_text::{Diagnostic, Diagnostics, Document, Source, Value, plain};

use super::file::FleetFile;
use super::remarks::Remarks;
use super::{Fleet, check};
use crate::bundle::{Bundle, FLEET};

/// The text of a fleet, as far as it can be read.
pub(crate) struct Written {
    named: Vec<String>,
    read: Result<(FleetFile, Remarks), Diagnostics>,
}

impl Written {
    /// That of a repository.
    pub(crate) fn of(bundle: &Bundle) -> Written {
        let Some(text) = bundle.text(FLEET) else {
            let help = Some("it says which machine gets which policy".to_owned());
            let message = format!("there is no {FLEET}");
            let missing = Diagnostics::one(Diagnostic::of_whole(FLEET, message, help));
            return Written { named: Vec::new(), read: Err(missing) };
        };
        let source = Arc::new(Source { name: FLEET.to_owned(), text: text.to_owned() });
        if let Some(file) = plain::<FleetFile>(&source.text) {
            let named = file.assign.iter().map(|assign| assign.policy.clone()).collect();
            return Written { named, read: Ok((file, Remarks::later(source))) };
        }
        match Document::parse(source.clone(), &[]) {
            Ok(document) => {
                let named = named_in(&document);
                let file = document.read::<FleetFile>();
                Written { named, read: file.map(|file| (file, Remarks::of(source, document))) }
            }
            Err(mistakes) => Written { named: Vec::new(), read: Err(mistakes) },
        }
    }

    /// The policies that it names.
    pub(crate) fn policies(&self) -> &[String] {
        &self.named
    }

    /// What it comes to for all machines, or for one of them, with the policies of the repository that it was read from.
    ///
    /// # Errors
    /// All mistakes in it and in them, each with its place.
    pub(crate) fn check(self, bundle: &Bundle, only: Option<&str>) -> Result<Fleet, Diagnostics> {
        let (file, remarks) = self.read?;
        check::check(file, remarks, bundle, only)
    }
}

/// The policies that a text names which may be no fleet.
fn named_in(document: &Document) -> Vec<String> {
    let assign = document.root().get("assign").map(|item| &item.value);
    let Some(Value::List(assign)) = assign else { return Vec::new() };
    let named = assign.iter().filter_map(|one| match &one.get("policy")?.value {
        Value::Text(policy) => Some(policy.clone()),
        _ => None,
    });
    named.collect()
}
