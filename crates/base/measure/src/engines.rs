//! Runs of several engines: which belong together, and which are compared.

use crate::cases::distinct;
use crate::results::Run;

/// What an engine has done to a scenario, as in `simulated`, from its name, as in `simulate`.
pub fn done_by(engine: &str) -> String {
    let ending = if engine.ends_with('e') { "d" } else { "ed" };
    format!("{engine}{ending}")
}

/// The engines of these runs, in the order in which runs bring them.
pub(crate) fn engines(runs: &[Run]) -> Vec<&str> {
    distinct(runs.iter().map(|run| run.manifest.engine.as_str()))
}

/// Whether these runs are of several engines.
pub fn are_several(runs: &[Run]) -> bool {
    engines(runs).len() > 1
}

/// What was run, in the order in which runs bring it: the names of the policies, whatever the engine.
pub(crate) fn cases(runs: &[Run]) -> Vec<&str> {
    distinct(runs.iter().map(|run| run.manifest.case()))
}

/// The runs of one engine.
pub(crate) fn of_engine<'r>(runs: &'r [Run], engine: &str) -> Vec<&'r Run> {
    runs.iter().filter(|run| run.manifest.engine == engine).collect()
}

/// Which runs are compared, reference and ours, among runs of these engines and policies: each policy
/// by the first engine with the same by the others; then within each engine its first policy with the
/// others.
pub(crate) fn pairs(kinds: &[(&str, &str)]) -> Vec<(usize, usize)> {
    let Some((first, _)) = kinds.first() else { return Vec::new() };
    let numbered = || kinds.iter().enumerate();
    let by_first = |case: &str| kinds.iter().position(|kind| *kind == (*first, case));
    let across = numbered().filter(|(_, (engine, _))| engine != first);
    let mut pairs: Vec<(usize, usize)> =
        across.filter_map(|(at, (_, case))| Some((by_first(case)?, at))).collect();
    for (at, (engine, _)) in numbered() {
        let reference = kinds.iter().position(|(other, _)| other == engine);
        pairs.extend(reference.filter(|reference| *reference != at).map(|r| (r, at)));
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_done_follows_from_the_name_of_the_engine() {
        assert_eq!(
            ["simulate", "rehearse", "predict"].map(done_by),
            ["simulated", "rehearsed", "predicted"]
        );
    }

    #[test]
    fn of_one_engine_the_first_run_is_what_others_are_compared_with() {
        let kinds = [("simulate", "a"), ("simulate", "b"), ("simulate", "c")];
        assert_eq!(pairs(&kinds), [(0, 1), (0, 2)]);
        assert_eq!(pairs(&[]), []);
    }

    #[test]
    fn engines_are_compared_under_each_policy_and_policies_within_each_engine() {
        let kinds = [("simulate", "a"), ("rehearse", "a"), ("simulate", "b"), ("rehearse", "b")];
        assert_eq!(pairs(&kinds), [(0, 1), (2, 3), (0, 2), (1, 3)]);
        // A policy that the first engine has not run stands within its own engine only.
        let kinds = [("simulate", "a"), ("rehearse", "b"), ("rehearse", "c")];
        assert_eq!(pairs(&kinds), [(1, 2)]);
    }
}
