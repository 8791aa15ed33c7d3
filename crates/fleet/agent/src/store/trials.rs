//! The state of versions on trial, and of versions that were found worse.

use std::collections::BTreeSet;
use std::ffi::OsStr;

use serde::Serialize;
use serde::de::DeserializeOwned;
use shortflow_files::Kind;

use super::numbers::Numbers;
use super::{ANY, MAX_STATE, Repair, Store, StoreError, io};
use crate::atomic_file::write_atomically;
use crate::trial::Trial;
use crate::verdict::Verdict;

/// The most versions found worse of which one knows; older ones are forgotten.
const MAX_WORSE: usize = 100;

impl Store {
    /// The version on trial, if one is.
    pub(crate) fn trial(&self) -> Option<Trial> {
        self.read("trial.json")
    }

    /// Writes down that a version is on trial, or that none is.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn set_trial(&self, trial: Option<&Trial>) -> Result<(), StoreError> {
        self.set("trial.json", trial)
    }

    /// The last verdict of this machine on a version.
    pub(crate) fn verdict(&self) -> Option<Verdict> {
        self.read("verdict.json")
    }

    /// Stores its verdict.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn set_verdict(&self, verdict: &Verdict) -> Result<(), StoreError> {
        self.set("verdict.json", Some(verdict))
    }

    /// The digests of versions that were found to be worse, the last one last, and why.
    pub(crate) fn worse(&self) -> Vec<(String, String)> {
        self.read("worse.json").unwrap_or_default()
    }

    /// Stores why a version is worse, or removes it from the list.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn set_worse(&self, digest: &str, why: Option<&str>) -> Result<(), StoreError> {
        let mut worse = self.worse();
        if why.is_none() && !worse.iter().any(|(known, _)| known == digest) {
            return Ok(());
        }
        worse.retain(|(known, _)| known != digest);
        worse.extend(why.map(|why| (digest.to_owned(), why.to_owned())));
        let forgotten = worse.len().saturating_sub(MAX_WORSE);
        self.set("worse.json", Some(&worse[forgotten..]))
    }

    /// Damaged files, and the consequences.
    pub(super) fn damaged(&self) -> Vec<Repair> {
        let known = [
            (
                "held.json",
                "the record of rolled-back versions is lost, so the agent takes no version from \
                    the source",
            ),
            (
                "devices.json",
                "devices that the fleet no longer names keep their policies; to remove one, run \
                    `shortflow undeploy --dev DEVICE`",
            ),
            ("numbers.json", "devices that were renamed meanwhile keep their policies"),
            ("trial.json", "no version is on trial"),
            ("worse.json", "the record of versions found worse is lost"),
            ("verdict.json", "the last verdict that this machine reported is lost"),
        ];
        let is_damaged = |name: &str| match name {
            "held.json" => self.held().contains(ANY),
            "devices.json" => self.is_no::<BTreeSet<String>>(name),
            "numbers.json" => self.is_no::<Numbers>(name),
            "trial.json" => self.is_no::<Trial>(name),
            "worse.json" => self.is_no::<Vec<(String, String)>>(name),
            _ => self.is_no::<Verdict>(name),
        };
        let damaged = known.into_iter().filter(|(name, _)| is_damaged(name));
        let repair = |(name, then): (&str, &str)| Repair {
            what: format!("{name} cannot be read: {then}"),
            needs_release: name == "held.json",
        };
        damaged.map(repair).collect()
    }

    fn is_no<T: DeserializeOwned>(&self, name: &str) -> bool {
        self.dir.kind(name).is_some() && self.read::<T>(name).is_none()
    }

    pub(super) fn read<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        serde_json::from_slice(&self.dir.read(name, MAX_STATE).ok()?).ok()
    }

    pub(super) fn set<T: Serialize + ?Sized>(
        &self,
        name: &str,
        value: Option<&T>,
    ) -> Result<(), StoreError> {
        let path = self.folder.join(name);
        if self.dir.kind(name) == Some(Kind::Folder) {
            // Nothing of ours, in whose place nothing can be written.
            let mut names = (1..).map(|number| format!("{name}.{number}"));
            let aside = names.find(|name| self.dir.kind(name).is_none()).expect("one is free");
            let aside = self.dir.rename(OsStr::new(name), &self.dir, OsStr::new(&aside));
            aside.map_err(|error| io(&path, error))?;
        }
        let done = match value {
            Some(value) => {
                write_atomically(&path, &serde_json::to_vec(value).expect("what is kept is JSON"))
            }
            None => match self.dir.remove_file(name) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            },
        };
        done.map_err(|error| io(&path, error))
    }
}
