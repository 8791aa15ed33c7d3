//! The text of a fleet, read once to find the names of its policies and to check it with them.

use std::collections::BTreeMap;

use shortflow_files::Kind;
use shortflow_text::{Diagnostic, Diagnostics, Document, Value, plain};

use super::file::FleetFile;
use super::remarks::{Remarks, source};
use super::{Fleet, check};
use crate::bundle::{Bundle, FLEET};

/// The text of a fleet, as far as it can be read.
pub(crate) struct Written {
    named: Vec<String>,
    /// The document where one was needed.
    read: Result<(FleetFile, Option<Document>), Diagnostics>,
}

impl Written {
    /// That of a repository.
    pub(crate) fn parse(bundle: &Bundle) -> Written {
        let Some(text) = bundle.text(FLEET) else {
            let help = Some("create it: it assigns policies to machines".to_owned());
            let message = format!("the file {FLEET} is missing");
            let missing = Diagnostics::one(Diagnostic::of_whole(FLEET, message, help));
            return Written { named: Vec::new(), read: Err(missing) };
        };
        if let Some(file) = plain::<FleetFile>(text) {
            let named = file.assign.iter().map(|assign| assign.policy.clone()).collect();
            return Written { named, read: Ok((file, None)) };
        }
        match Document::parse(source(text), &[]) {
            Ok(document) => {
                let (named, file) = (named_in(&document), document.read::<FleetFile>());
                Written { named, read: file.map(|file| (file, Some(document))) }
            }
            Err(mistakes) => Written { named: Vec::new(), read: Err(mistakes) },
        }
    }

    /// The policies that it names.
    pub(crate) fn policies(&self) -> &[String] {
        &self.named
    }

    /// That these policies, which it names, are something else than files.
    pub(crate) fn names_no_files(
        self,
        bundle: &Bundle,
        no_files: &BTreeMap<String, Kind>,
    ) -> Diagnostics {
        let (file, document) = match self.read {
            Ok(read) => read,
            Err(mistakes) => return bundle.unquoted(mistakes),
        };
        let mut remarks = Remarks::new(bundle.text(FLEET).unwrap_or_default(), document);
        for (index, assign) in file.assign.iter().enumerate() {
            if let Some(kind) = no_files.get(&assign.policy) {
                let message = format!("`{}` is {kind}, not a regular file", assign.policy);
                let help = "give the file of a policy, such as policies/office.toml";
                remarks.mistake(&format!("assign.{index}.policy"), message, help);
            }
        }
        bundle.unquoted(remarks.found().0)
    }

    /// The fleet for all machines, or for one of them, with the policies of the repository from which it was read.
    ///
    /// # Errors
    /// All mistakes in it and in them, each with its place.
    pub(crate) fn check(self, bundle: &Bundle, only: Option<&str>) -> Result<Fleet, Diagnostics> {
        let (file, document) = self.read.map_err(|mistakes| bundle.unquoted(mistakes))?;
        let remarks = Remarks::new(bundle.text(FLEET).unwrap_or_default(), document);
        let checked = check::check(file, remarks, bundle, only);
        let mut fleet = checked.map_err(|mistakes| bundle.unquoted(mistakes))?;
        fleet.warnings = bundle.unquoted(std::mem::take(&mut fleet.warnings));
        Ok(fleet)
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

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: &str = "name = \"P\"\n[roles.core]\nqueue.fifo = { limit = \"100 pkt\" }\n";

    fn repository(fleet: &str) -> Bundle {
        let texts = [(FLEET, fleet), ("policies/p.toml", POLICY), ("policies/other.toml", "")];
        Bundle::new(texts.map(|(path, text)| (path.to_owned(), text.to_owned())))
    }

    #[test]
    fn the_part_of_one_machine_is_that_which_it_has_of_the_whole() {
        let fleet = "[machines.a]\ntags = [\"first\"]\ninterfaces.wan = { device = \"eth0\", rate = \"9 Mbit/s\" }\n\
                     [machines.b]\ninterfaces.wan = { device = \"eth1\", rate = \"8 Mbit/s\" }\n\
                     interfaces.lan = { device = \"eth2\", rate = \"7 Mbit/s\" }\n\
                     [[assign]]\npolicy = \"policies/p.toml\"\ninterfaces = [\"wan\"]\n\
                     [rollout]\nfirst = [\"first\"]\nafter = \"1 min\"\n";
        let bundle = repository(fleet);
        let whole = Fleet::check(&bundle).unwrap();
        let one = Written::parse(&bundle).check(&bundle, Some("b")).unwrap();
        assert_eq!(format!("{:?}", one.machines), format!("[{:?}]", whole.machine("b").unwrap()));
        assert_eq!((one.count, &one.first, &one.name), (2, &whole.first, &whole.name));
        let none = Written::parse(&bundle).check(&bundle, Some("c")).unwrap();
        assert!(none.machines.is_empty() && none.count == 2);
    }

    #[test]
    fn what_is_wrong_with_another_machine_is_refused_at_its_place() {
        let fleet = "[machines.a]\ninterfaces.wan = { device = \"eth/0\", rate = \"9 Mbit/s\" }\n\
                     [machines.b]\ninterfaces.wan = { device = \"eth1\" }\n[[assign]]\npolicy = \"policies/p.toml\"\n";
        let bundle = repository(fleet);
        let found = Written::parse(&bundle).check(&bundle, Some("b")).unwrap_err();
        let reported: Vec<(usize, &str)> =
            found.0.iter().map(|found| (found.line(), found.message.as_str())).collect();
        let rate = "this interface has no rate, and its policy has a queue without a shaper";
        assert_eq!(reported, [(2, "invalid device name \"eth/0\""), (4, rate)]);
    }

    #[test]
    fn a_policy_may_be_named_by_a_parameter() {
        let fleet = "parameters.p = \"policies/p.toml\"\n[machines.a]\n\
                     interfaces.wan = { device = \"eth0\", rate = \"9 Mbit/s\" }\n[[assign]]\npolicy = \"$p\"\n";
        let bundle = repository(fleet).needed();
        let paths: Vec<&str> = bundle.files().map(|(path, _)| path).collect();
        assert_eq!(paths, [FLEET, "policies/p.toml"]);
        assert_eq!(Fleet::check(&bundle).unwrap().machines[0].targets()["eth0"].file, paths[1]);
    }
}
