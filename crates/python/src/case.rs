//! Checked scenarios.

use std::path::{Path, PathBuf};

use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::json;
use shortflow_run::{Case as RunCase, Engine};
use shortflow_scenario::{FileKind, Loaded, Overrides, load_from};
use shortflow_shipped::{FILES, wrong_file};
use shortflow_text::{InputFiles, Override};

use crate::failure::{Failure, findings};
use crate::text::given;

/// A scenario under a policy, checked: it can run.
#[pyclass(frozen, module = "shortflow._core")]
pub(crate) struct Case {
    pub(crate) loaded: Loaded,
    pub(crate) overrides: Overrides,
}

/// Keys and values, as in `--set`.
type Settings = Vec<(String, String)>;

#[pymethods]
impl Case {
    /// Reads and checks a scenario by its name and text, under its own policy or another one.
    #[new]
    #[pyo3(signature = (scenario, policy=None, set=Vec::new(), bind=Vec::new()))]
    fn new(
        py: Python<'_>,
        scenario: (String, String),
        policy: Option<(String, String)>,
        set: Settings,
        bind: Vec<String>,
    ) -> Result<Case, Failure> {
        py.detach(|| Case::load(&scenario, policy.as_ref(), set, bind))
    }

    /// The name of the scenario.
    #[getter]
    fn name(&self) -> &str {
        &self.loaded.name
    }

    /// The name of the policy; `None` without one.
    #[getter]
    fn policy(&self) -> Option<String> {
        self.loaded.points()[0].scenario.policy.as_ref().map(|policy| policy.name.clone())
    }

    /// How many points the sweep of the scenario has.
    #[getter]
    fn points(&self) -> usize {
        self.loaded.points().len()
    }

    /// How many replicas it asks for.
    #[getter]
    fn replicas(&self) -> u32 {
        self.loaded.points()[0].scenario.replicas
    }

    /// Its seed.
    #[getter]
    fn seed(&self) -> u64 {
        self.loaded.points()[0].scenario.seed
    }

    /// The names of its workloads.
    #[getter]
    fn workloads(&self) -> Vec<String> {
        let workloads = self.loaded.points()[0].scenario.workloads.iter();
        workloads.map(|workload| workload.name.clone()).collect()
    }

    /// A line that describes it.
    #[getter]
    fn summary(&self) -> String {
        self.loaded.summary()
    }

    /// The load that is offered to each link, as JSON.
    #[getter]
    fn loads(&self) -> String {
        json!(self.loaded.loads()).to_string()
    }

    /// Warnings about it.
    #[getter]
    fn warnings<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        findings(py, &self.loaded.warnings)
    }
}

impl Case {
    fn load(
        (name, text): &(String, String),
        policy: Option<&(String, String)>,
        set: Settings,
        bind: Vec<String>,
    ) -> Result<Case, Failure> {
        let inputs = InputFiles::default();
        let path = Path::new(name);
        if FILES.iter().any(|(shipped, shipped_text)| shipped == name && shipped_text == text) {
            // A shipped scenario names shipped policies.
            FILES.iter().for_each(|(path, text)| inputs.give(Path::new(path), text));
        }
        inputs.give(path, text);
        wrong_file::refuse(&inputs, path, given("scenario"))?;
        let mut overrides = Overrides { set, bind, ..Overrides::default() };
        if let Some((name, text)) = policy {
            inputs.give(Path::new(name), text);
            wrong_file::refuse(&inputs, Path::new(name), given("policy"))?;
            overrides.policy = Some(PathBuf::from(name));
        }
        let loaded = load_from(&inputs, path, &overrides)?;
        Ok(Case { loaded, overrides })
    }

    /// The same for an engine.
    pub(crate) fn with<'e>(&self, engine: &'e dyn Engine) -> RunCase<'e> {
        RunCase::new(engine, self.loaded.clone(), &self.overrides)
    }
}

/// Checks a policy by its name and text, and describes it: a line, and warnings.
#[pyfunction]
#[pyo3(signature = (policy, set=Vec::new()))]
pub(crate) fn check<'py>(
    py: Python<'py>,
    policy: (String, String),
    set: Settings,
) -> Result<(String, String, Vec<Bound<'py, PyDict>>), Failure> {
    let (name, text) = policy;
    let inputs = InputFiles::default();
    let path = Path::new(&name);
    inputs.give(path, &text);
    wrong_file::refuse(&inputs, path, given("policy"))?;
    FileKind::detect(&inputs, path)?;
    let one = |(key, value): (String, String)| Override {
        key,
        value,
        prefix: "policy.",
        origin: "set".to_owned(),
        cell: None,
    };
    let set: Vec<Override> = set.into_iter().map(one).collect();
    let policy = shortflow_policy::load_from(&inputs, path, &set)?;
    Ok((policy.name.clone(), policy.summary(), findings(py, &policy.warnings)?))
}
