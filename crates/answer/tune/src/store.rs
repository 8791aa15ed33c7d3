//! Finished replicas on disk, so that an interrupted search continues and runs nothing twice.

use std::path::Path;

use serde::{Deserialize, Serialize};
use shortflow_measure::Replica;
use shortflow_measure::results::{Error, Folder};
use shortflow_run::{ClassUse, Engine, Task, fingerprint};

/// A folder with a file for each finished replica, beside the results of a search while it runs.
#[derive(Debug)]
pub struct Store {
    target: Folder,
    folder: Folder,
    /// What tells the engine's results from those of another.
    engine: String,
}

/// A hidden file, so that it does not count as a foreign file.
const NAME: &str = ".shortflow-search";

#[derive(Serialize, Deserialize)]
struct Entry {
    /// What the replica was made from.
    fingerprint: String,
    replica: Replica,
    classes: Option<ClassUse>,
}

/// A finished replica.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Finished {
    pub(crate) replica: Replica,
    /// Packets per class of the policy; `None` if the engine does not count them.
    pub(crate) classes: Option<ClassUse>,
}

impl Store {
    /// The replicas that an engine gave for searches whose results go into `target`.
    pub fn beside(target: &Path, engine: &dyn Engine) -> Store {
        let target = Folder::open(target);
        Store { folder: target.inside(NAME), target, engine: engine.identity().to_owned() }
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// How many replicas are kept, of this search and of others.
    pub fn kept(&self) -> usize {
        self.folder.files().iter().filter(|name| name.ends_with(".json")).count()
    }

    /// Removes it with all that it keeps: the search is over.
    pub fn remove(self) {
        // Where this fails, what is kept is found by the next search.
        let _ = self.target.dir().and_then(|target| target.remove_tree(NAME));
    }

    /// The replica of this task, if it was made from the same inputs.
    pub(crate) fn read(&self, task: &Task<'_>) -> Option<Finished> {
        let of = fingerprint(task.scenario, &self.engine);
        let entry: Entry = self.folder.read_json(&name(&of, task.replica)).ok()?;
        // A copy under another name would count twice.
        let is_it = entry.replica.number == task.replica && entry.fingerprint == of;
        is_it.then_some(Finished { replica: entry.replica, classes: entry.classes })
    }

    /// Keeps a finished replica.
    pub(crate) fn write(
        &self,
        task: &Task<'_>,
        replica: &Replica,
        classes: Option<&ClassUse>,
    ) -> Result<(), Error> {
        let fingerprint = fingerprint(task.scenario, &self.engine);
        let name = name(&fingerprint, task.replica);
        let entry = Entry { fingerprint, replica: replica.clone(), classes: classes.cloned() };
        self.target.create_inside(NAME)?.write_json(&name, &entry)
    }
}

fn name(fingerprint: &str, number: u32) -> String {
    format!("{fingerprint}-{number}.json")
}

#[cfg(test)]
mod tests {
    use shortflow_scenario::{Overrides, Scenario, from_texts};
    use shortflow_sim::Simulator;

    use super::*;

    fn scenario(seed: &str) -> Scenario {
        let text = r#"
duration = "2 s"
hosts = { a = {}, b = {} }
links.line = { between = ["a", "b"], rate = "1 Mbit/s", delay = "5 ms" }
workloads.calls.cbr = { from = "a", to = "b", rate = "80 kbit/s", packet = "200 B" }
workloads.web.transfers = { client = "a", server = "b", rate = "5 /s", request.constant = "300 B", reply.constant = "9 KB" }
"#;
        let set = vec![("seed".to_owned(), seed.to_owned())];
        let overrides = Overrides { set, ..Overrides::default() };
        from_texts(&[("line.toml", text)], &overrides).unwrap().points()[0].scenario.clone()
    }

    #[test]
    fn what_is_kept_says_the_same_of_every_measure_and_not_of_other_inputs() {
        use shortflow_measure::{Measure, Subject};
        let home = tempfile::tempdir().unwrap();
        let store = Store::beside(home.path(), &Simulator);
        let (one, other) = (scenario("1"), scenario("2"));
        let task = Task { scenario: &one, replica: 3 };
        let run = shortflow_sim::run_replica(&one, 3, None, |_| true).unwrap();
        let (found, classes) = (run.replica, run.classes);
        assert_eq!((store.read(&task), store.kept()), (None, 0));
        store.write(&task, &found, Some(&classes)).unwrap();
        let Finished { replica: kept, classes: counted } = store.read(&task).unwrap();
        assert_eq!(counted, Some(classes));
        for workload in ["calls", "web"] {
            let what = Subject { workload, ..Subject::default() };
            for measure in Measure::ALL {
                assert_eq!(measure.read(&kept, &what), measure.read(&found, &what), "{measure:?}");
            }
        }
        assert_eq!(store.read(&Task { replica: 4, ..task }), None, "another replica");
        assert_eq!(store.read(&Task { scenario: &other, ..task }), None, "another input");
        assert_eq!(store.kept(), 1);
        store.remove();
        assert!(std::fs::read_dir(home.path()).unwrap().next().is_none());
    }
}
