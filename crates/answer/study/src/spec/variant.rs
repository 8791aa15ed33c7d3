//! The changes under which the runs of a study are run.

use super::{ChangeSpec, RunSpec};

/// The changes under which runs are run: readings of what the paper leaves open, one for each open
/// parameter, and perhaps one more that is tried because a check fails.
#[derive(Debug, Clone, Default)]
pub(crate) struct Variant {
    changes: Vec<ChangeSpec>,
}

impl Variant {
    /// Under these readings.
    pub(crate) fn new(readings: Vec<ChangeSpec>) -> Variant {
        Variant { changes: readings }
    }

    /// With one more change.
    pub(crate) fn with(&self, change: &ChangeSpec) -> Variant {
        let changes = self.changes.iter().chain([change]).cloned().collect();
        Variant { changes }
    }

    /// Its name: those of its changes; empty without any.
    pub(crate) fn name(&self) -> String {
        name(self.changes.iter())
    }

    /// The name of what it changes of `runs`: two variants that change the same of them have the same.
    pub(crate) fn name_for(&self, runs: &[&RunSpec]) -> String {
        name(self.changes.iter().filter(|change| runs.iter().any(|run| change.changes(run))))
    }

    /// The settings of `run`: its own, then those of the changes.
    pub(crate) fn settings<'a>(&'a self, run: &'a RunSpec) -> impl Iterator<Item = &'a String> {
        let changed = self.changes.iter().filter(|change| change.changes(run));
        run.set.iter().chain(changed.flat_map(|change| &change.set))
    }

    /// The policy file of `run`.
    pub(crate) fn policy<'a>(&'a self, run: &'a RunSpec) -> &'a str {
        let changed = self.changes.iter().filter(|change| change.changes(run));
        changed
            .filter_map(|change| change.policies.get(&run.policy))
            .next_back()
            .unwrap_or(&run.policy)
    }
}

fn name<'c>(changes: impl Iterator<Item = &'c ChangeSpec>) -> String {
    changes.map(|change| change.name.as_str()).collect::<Vec<_>>().join("+")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(scenario: &str) -> RunSpec {
        let text = format!(
            "name = \"a\"\nscenario = \"{scenario}\"\npolicy = \"red.toml\"\nset = [\"seed=1\"]\n\
             sweep = []\nvalues = [1]"
        );
        toml::from_str(&text).unwrap()
    }

    fn change(text: &str) -> ChangeSpec {
        toml::from_str(&format!("says = \"\"\n{text}")).unwrap()
    }

    #[test]
    fn a_later_change_wins_over_an_earlier_one_and_over_the_run() {
        let heavy = change("name = \"heavy\"\nset = [\"load=2\"]\nscenarios = [\"tree.toml\"]");
        let other = change("name = \"pie\"\npolicies = { \"red.toml\" = \"pie.toml\" }");
        let variant = Variant::new(vec![heavy]).with(&other);
        let (tree, chain) = (run("tree.toml"), run("chain.toml"));
        assert_eq!(variant.name(), "heavy+pie");
        assert_eq!(
            (variant.name_for(&[&tree]), variant.name_for(&[&chain])),
            ("heavy+pie".into(), "pie".into())
        );
        assert_eq!(variant.settings(&tree).collect::<Vec<_>>(), ["seed=1", "load=2"]);
        assert_eq!(variant.settings(&chain).collect::<Vec<_>>(), ["seed=1"]);
        assert_eq!(variant.policy(&tree), "pie.toml");
    }

    #[test]
    fn a_change_that_changes_nothing_of_a_run_leaves_it_its_place() {
        let elsewhere = change("name = \"x\"\nset = [\"a=1\"]\nscenarios = [\"tree.toml\"]");
        assert_eq!(Variant::default().with(&elsewhere).name_for(&[&run("chain.toml")]), "");
    }
}
