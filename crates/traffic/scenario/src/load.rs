//! Turns files into checked scenarios, one for each point of the sweep.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use shortflow_policy::{ClassId, Policy, PolicyText};
use shortflow_text::{
    Diagnostic, Diagnostics, Document, FormatKeys, InputFiles, Item, MAX_DATA, MAX_TEXT, Override,
    Scalar, Severity, Source, Value, folder_of, name_of, reason,
};

use crate::bind;
use crate::bound_parameters;
use crate::check;
use crate::design::Design;
use crate::file::{AxisFile, ScenarioFile};
use crate::files::{Files, digest};
use crate::loss;
use crate::model::{Inputs, Scenario};
use crate::policy_parameters;
use crate::sweep::{self, Axis};
use crate::unreachable;

/// Changes that the user makes on the command line.
#[derive(Debug, Clone, Default)]
pub struct Overrides {
    /// A policy file that replaces the scenario's policy, relative to the working folder.
    pub policy: Option<PathBuf>,
    /// Keys and values, as in `--set key=value`; a key of the policy begins with `policy.`.
    pub set: Vec<(String, String)>,
    /// A CSV file whose rows are the points, relative to the working folder: `--design`.
    pub design: Option<PathBuf>,
    /// The same for one combination of `--vary`.
    pub varied: Vec<(String, String)>,
    /// Additional bindings, as in `--bind core=east->west`. They override bindings of the scenario for the
    /// same port.
    pub bind: Vec<String>,
    /// Whether other programs send traffic, so that the scenario needs no workloads.
    pub needs_no_workload: bool,
}

/// A scenario file, read and checked: one scenario for each point of its sweep.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The scenario's name in results.
    pub name: String,
    /// The names of the sweep's axes; empty without a sweep.
    pub axes: Vec<String>,
    /// Warnings: what is allowed but probably a mistake, each once.
    pub warnings: Diagnostics,
    /// The bound classes of the policy that no packet matches at any point. The warnings describe them.
    pub unreachable: BTreeSet<ClassId>,
    /// The data files of the points, such as access logs, each once.
    pub data: Vec<DataFile>,
    points: Vec<SweepPoint>,
}

/// A data file of a scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataFile {
    /// The path from which it was read.
    pub name: String,
    /// Its length and hash, as in [`Inputs::files`].
    pub digest: String,
    /// Its whole text.
    pub text: Arc<str>,
}

/// A point of a sweep.
#[derive(Debug, Clone)]
pub struct SweepPoint {
    /// The value on each axis; empty without a sweep.
    pub values: Vec<Scalar>,
    /// The label of the point: `alpha = 0.6, threshold = 7`; empty without a sweep.
    pub label: String,
    /// The scenario at this point.
    pub scenario: Scenario,
    /// The warnings about this point, which [`Loaded::warnings`] has too.
    warnings: Diagnostics,
}

impl Loaded {
    /// The points of the sweep; the last axis changes fastest. One point without a sweep.
    pub fn points(&self) -> &[SweepPoint] {
        &self.points
    }

    /// The warnings that concern the point at this index: its own, and those of no single point.
    pub fn warnings_at(&self, point: usize) -> impl Iterator<Item = &Diagnostic> {
        let is_of = |at: &SweepPoint, found: &Diagnostic| at.warnings.0.contains(found);
        self.warnings.0.iter().filter(move |found| {
            self.points.get(point).is_some_and(|at| is_of(at, found))
                || !self.points.iter().any(|at| is_of(at, found))
        })
    }

    /// The points of the sweep, by value.
    pub fn into_points(self) -> Vec<SweepPoint> {
        self.points
    }
}

/// Reads and checks the scenario file at `path` and its policy.
///
/// # Errors
/// If a file cannot be read or is invalid: all errors that were found.
pub fn load(path: &Path, overrides: &Overrides) -> Result<Loaded, Diagnostics> {
    load_from(&InputFiles::default(), path, overrides)
}

/// As [`load`], but reads through `files`, which reads each file once. A pipe can then be a scenario for
/// several policies.
///
/// # Errors
/// As for [`load`].
pub fn load_from(
    files: &InputFiles,
    path: &Path,
    overrides: &Overrides,
) -> Result<Loaded, Diagnostics> {
    load_with(path, overrides, &|path, max| files.read(path, max))
}

/// As [`load`], from texts with names instead of files. The first text is the scenario.
///
/// # Errors
/// As for [`load`].
pub fn from_texts(texts: &[(&str, &str)], overrides: &Overrides) -> Result<Loaded, Diagnostics> {
    let read = |path: &Path, _: u64| {
        let found = texts.iter().find(|(name, _)| Path::new(name) == path);
        found.map(|(_, text)| (*text).to_owned()).ok_or_else(|| io::ErrorKind::NotFound.into())
    };
    let first = texts.first().map_or("", |(name, _)| name);
    load_with(Path::new(first), overrides, &read)
}

/// The JSON Schema of scenario files.
pub fn schema() -> schemars::Schema {
    shortflow_text::schema::<ScenarioFile>()
}

/// The keys of scenario files, by table. Tables of workloads are `workload.cbr` and so on.
pub fn format_keys() -> &'static FormatKeys {
    static KEYS: LazyLock<FormatKeys> =
        LazyLock::new(|| FormatKeys::new::<ScenarioFile>("scenario", TABLES));
    &KEYS
}

const TABLES: &[(&str, &str)] = &[
    ("HostGroup", "host"),
    ("RouterGroup", "router"),
    ("LinkFile", "link"),
    ("Loss", "loss"),
    ("BindFile", "bind"),
    ("TcpFile", "tcp"),
    ("SizesFile", "sizes"),
    ("TimesFile", "times"),
    ("CountsFile", "counts"),
    ("MeasureFile", "measure"),
    ("AxisFile", "sweep"),
    ("WorkloadFile", "workload."),
];

/// Returns the text of a file, up to a number of bytes.
type Read<'r> = &'r dyn Fn(&Path, u64) -> io::Result<String>;

fn load_with(path: &Path, overrides: &Overrides, read: Read<'_>) -> Result<Loaded, Diagnostics> {
    let name = name_of(path);
    let text = read(path, MAX_TEXT).map_err(|error| unreadable(&name, &error))?;
    let loader = Loader {
        source: Arc::new(Source { name, text }),
        folder: folder_of(path).to_owned(),
        overrides,
        read,
        data: RefCell::default(),
    };
    loader.run()
}

struct Loader<'l> {
    source: Arc<Source>,
    folder: PathBuf,
    overrides: &'l Overrides,
    read: Read<'l>,
    /// The data files that points have read so far.
    data: RefCell<Vec<DataFile>>,
}

impl Loader<'_> {
    fn run(&self) -> Result<Loaded, Diagnostics> {
        let (mut document, file) = self.read_file(&[])?;
        let is_set = |key: &str| {
            let Overrides { set, varied, .. } = self.overrides;
            set.iter().chain(varied).any(|(set, _)| set == key)
        };
        let design = self.design(&is_set)?;
        let is_given = |key: &str| {
            is_set(key) || design.as_ref().is_some_and(|one| one.keys().any(|other| other == key))
        };
        let axes = sweep::axes(&mut document, &file.sweep, is_given)?;
        let mut warnings = Diagnostics::default();
        let (axes, points) = match &design {
            None => (axes.iter().map(|axis| axis.name.clone()).collect(), self.swept(&axes)),
            Some(design) => {
                refuse_other_sweep(&mut document, &file.sweep, &axes)?;
                warnings.0.extend(design.warnings.clone());
                self.data.borrow_mut().push(design.data());
                (design.names(), design.points())
            }
        };
        let points = points
            .into_iter()
            .map(|(values, swept)| self.point(&axes, values, swept, &mut warnings))
            .collect::<Result<Vec<_>, _>>()?;
        let unreachable = self.unreachable(&points, &mut warnings);
        Ok(Loaded {
            name: points[0].scenario.name.clone(),
            unreachable,
            axes,
            warnings,
            data: self.data.take(),
            points,
        })
    }

    /// The design, if there is one.
    fn design(&self, is_set: &dyn Fn(&str) -> bool) -> Result<Option<Design>, Diagnostics> {
        let Some(path) = &self.overrides.design else { return Ok(None) };
        let name = name_of(path);
        let text = (self.read)(path, MAX_TEXT).map_err(|error| unreadable(&name, &error))?;
        let design = Design::parse(name, text)?;
        if let Some(key) = design.keys().find(|key| is_set(key)) {
            let what = format!("`{key}` is set twice: by --set and by this column");
            return Err(design.mistake_at_key(key, what, "remove one of the two".to_owned()));
        }
        Ok(Some(design))
    }

    /// The points of the sweeps: the values of each, and the overrides that set them.
    fn swept(&self, axes: &[Axis]) -> Vec<(Vec<Scalar>, Vec<Override>)> {
        let change = |key: &String, value: &Scalar| Override {
            key: key.clone(),
            value: as_toml(value),
            prefix: "",
            origin: format!("[sweep] in {}", self.source.name),
            cell: None,
        };
        let overrides = |values: &[Scalar]| {
            let keys = axes.iter().zip(values);
            keys.flat_map(|(axis, value)| axis.keys.iter().map(|key| change(key, value))).collect()
        };
        let points = sweep::combinations(axes).into_iter();
        points.map(|values| (values.clone(), overrides(&values))).collect()
    }

    /// The classes that no packet matches at any point. Adds a warning for each.
    fn unreachable(&self, points: &[SweepPoint], warnings: &mut Diagnostics) -> BTreeSet<ClassId> {
        let any_traffic = self.overrides.needs_no_workload;
        let of_points =
            points.iter().map(|point| unreachable::unreachable(&point.scenario, any_traffic));
        let common = |all: BTreeSet<ClassId>, of_point| &all & &of_point;
        let found = of_points.reduce(common).unwrap_or_default();
        warnings.0.extend(unreachable::warnings(&points[0].scenario, &found, any_traffic));
        found
    }

    fn point(
        &self,
        axes: &[String],
        values: Vec<Scalar>,
        swept: Vec<Override>,
        warnings: &mut Diagnostics,
    ) -> Result<SweepPoint, Diagnostics> {
        let (mut document, mut file) = self.read_file(&swept)?;
        if file.workloads.is_empty() && !self.overrides.needs_no_workload {
            let help =
                "add a [workloads.NAME.transfers], web, telnet, ftp, bulk, cbr or poisson table";
            document.mistake(
                "workloads",
                "the scenario has no workload, so it sends nothing",
                help,
            );
        }
        let policy = self.policy(&mut document, &mut file, &swept)?;
        let inputs = Inputs {
            scenario: (self.source.name.clone(), self.source.text.clone()),
            policy: policy.as_ref().map(|found| (found.name.clone(), found.text.clone())),
            files: Vec::new(),
            overrides: self
                .all(&swept)
                .map(|o| format!("{}={}", o.key, o.value))
                .chain(self.overrides.bind.iter().map(|binding| format!("bind {binding}")))
                .collect(),
        };
        let stem = Path::new(&self.source.name).file_stem().unwrap_or_default();
        let stem = stem.to_string_lossy().into_owned();
        let mut scenario = check::check(
            &mut document,
            file,
            stem,
            policy.map(|found| Arc::new(found.policy)),
            inputs,
            Files::new(&|name| self.read_beside(name)),
            self.overrides.bind.len(),
        )?;
        if self.overrides.design.is_some()
            && let Some(design) = self.data.borrow().first()
        {
            scenario.inputs.files.push((design.name.clone(), design.digest.clone()));
        }
        if !self.overrides.needs_no_workload {
            loss::warn_of_unsent(&mut document, &scenario);
        }
        let of_policy = scenario.policy.iter().flat_map(|policy| policy.warnings.0.clone());
        let found = Diagnostics(of_policy.chain(document.warnings().0).collect());
        for one in &found.0 {
            if !warnings.0.contains(one) {
                warnings.0.push(one.clone());
            }
        }
        let label = axes.iter().zip(&values).map(|(axis, value)| format!("{axis} = {value}"));
        let label = label.collect::<Vec<_>>().join(", ");
        Ok(SweepPoint { label, values, scenario, warnings: found })
    }

    /// The path and the text of a file, relative to this one.
    fn read_beside(&self, name: &str) -> Result<(String, String), String> {
        let path = self.folder.join(name);
        let tidied = tidy(&path);
        let read = |path: &Path| (self.read)(path, MAX_DATA);
        let text = read(&path).or_else(|_| read(Path::new(&tidied)));
        let text = text.map_err(|error| reason(&error))?;
        let mut data = self.data.borrow_mut();
        if !data.iter().any(|one| one.name == tidied) {
            let digest = digest(&text);
            data.push(DataFile { name: tidied.clone(), digest, text: text.as_str().into() });
        }
        Ok((tidied, text))
    }

    fn read_file(&self, swept: &[Override]) -> Result<(Document, ScenarioFile), Diagnostics> {
        let own: Vec<_> = self.all(swept).filter(|o| !o.key.starts_with(POLICY)).collect();
        let mut document = Document::parse(self.source.clone(), &own)
            .map_err(|mistakes| self.with_policy_parameters(mistakes))?;
        sweep::normalize(&mut document);
        for binding in &self.overrides.bind {
            let source = Source { name: BIND.to_owned(), text: binding.clone() };
            match bind::entry(binding) {
                Ok(entry) => document.append("bind", source, entry),
                Err((span, message)) => return Err(misread(source, span, message)),
            }
        }
        let file = document.read()?;
        Ok((document, file))
    }

    /// The same mistakes; an unknown parameter of an option may be one of the policy.
    fn with_policy_parameters(&self, mistakes: Diagnostics) -> Diagnostics {
        let Ok(document) = Document::parse(self.source.clone(), &[]) else { return mistakes };
        let path = match (&self.overrides.policy, document.root().get("policy")) {
            (Some(path), _) => path.clone(),
            (None, Some(Item { value: Value::Text(path), .. })) => self.folder.join(path),
            (None, _) => return mistakes,
        };
        let name = tidy(&path);
        let read = |path: &Path| (self.read)(path, MAX_TEXT);
        let Ok(text) = read(&path).or_else(|_| read(Path::new(&name))) else { return mistakes };
        let policy = Document::parse(Arc::new(Source { name, text }), &[]);
        let of_policy = policy.map_or_else(|_| Vec::new(), |one| one.names_in("parameters"));
        policy_parameters::add_help(mistakes, &document.names_in("parameters"), &of_policy)
    }

    /// All overrides: those of the command line, then those of the sweep.
    fn all(&self, swept: &[Override]) -> impl Iterator<Item = Override> {
        let all = |set: &[(String, String)], origin: &str| {
            let one = |(key, value): &(String, String)| Override {
                key: key.trim().to_owned(),
                value: value.trim().to_owned(),
                prefix: "",
                origin: origin.to_owned(),
                cell: None,
            };
            set.iter().map(one).collect::<Vec<_>>()
        };
        let Overrides { set, varied, .. } = self.overrides;
        all(set, "--set").into_iter().chain(all(varied, "--vary")).chain(swept.iter().cloned())
    }

    /// The policy with the roles, if there is one.
    fn policy(
        &self,
        document: &mut Document,
        file: &mut ScenarioFile,
        swept: &[Override],
    ) -> Result<Option<FoundPolicy>, Diagnostics> {
        let own = self.all(swept).filter(|o| o.key.starts_with(POLICY));
        let own: Vec<_> = own
            .map(|o| Override { key: o.key[POLICY.len()..].to_owned(), prefix: POLICY, ..o })
            .collect();
        let path = match (&self.overrides.policy, &file.policy) {
            (Some(path), _) => path.clone(),
            (None, Some(path)) => self.folder.join(path),
            (None, None) => {
                if let Some(change) = own.first() {
                    let message =
                        format!("cannot set `{}`: the scenario has no policy", change.key);
                    document.mistake("policy", message, "add `policy = \"FILE\"`");
                }
                document.checked()?;
                return Ok(None);
            }
        };
        let name = name_of(Path::new(&tidy(&path)));
        let read = |path: &Path| (self.read)(path, MAX_TEXT);
        let text = match read(&path).or_else(|why| read(Path::new(&name)).map_err(|_| why)) {
            Ok(text) => text,
            Err(error) if self.overrides.policy.is_some() => return Err(unreadable(&name, &error)),
            Err(error) => {
                let message = format!("cannot read the policy {name}: {}", reason(&error));
                let help = match error.kind() {
                    io::ErrorKind::NotFound => "the path is relative to the folder of this file",
                    _ => "",
                };
                document.mistake("policy", message, help);
                document.checked()?;
                return Ok(None);
            }
        };
        let PolicyText { text, warnings } = PolicyText::new(&path, text, &read)?;
        let mut policy = shortflow_policy::from_text(&name, &text, &own)?;
        policy.warnings.0.splice(..0, warnings.0);
        let read = |at_port: Vec<Override>| {
            let all: Vec<Override> = own.iter().cloned().chain(at_port).collect();
            shortflow_policy::from_text(&name, &text, &all)
        };
        if self.overrides.policy.is_some() {
            bound_parameters::drop_missing(document, &mut file.bind, &policy);
        }
        bound_parameters::add_roles(&self.source.name, &mut file.bind, &mut policy, &read)?;
        Ok(Some(FoundPolicy { policy, name, text }))
    }
}

/// Refuses sweeps of the file over keys that the design does not have: each row of a design is one point.
fn refuse_other_sweep(
    document: &mut Document,
    files: &[AxisFile],
    axes: &[Axis],
) -> Result<(), Diagnostics> {
    let Some(axis) = axes.first() else { return Ok(()) };
    let at = files.iter().position(|file| {
        file.key.as_ref().into_iter().chain(file.keys.iter().flatten()).eq(&axis.keys)
    });
    let message = format!("the design has no column for `{}`, which is swept here", axis.keys[0]);
    let help = "add a column with this key to the design, or set it with --set";
    document.mistake(&format!("sweep.{}", at.unwrap_or(0)), message, help);
    document.checked()
}

/// A policy, and its text.
struct FoundPolicy {
    policy: Policy,
    name: String,
    text: String,
}

/// The value as TOML, in which a string that looks like a number stays a string.
pub(crate) fn as_toml(value: &Scalar) -> String {
    match value {
        Scalar::Text(text) => {
            format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
        }
        other => other.to_string(),
    }
}

/// The path without `x/..`, for messages.
fn tidy(path: &Path) -> String {
    let mut tidy = PathBuf::new();
    for part in path.components() {
        let is_back = part == std::path::Component::ParentDir;
        match tidy.components().next_back() {
            Some(std::path::Component::Normal(_)) if is_back => {
                tidy.pop();
            }
            _ => tidy.push(part),
        }
    }
    tidy.display().to_string()
}

fn unreadable(name: &str, error: &io::Error) -> Diagnostics {
    let message = format!("cannot read {name}: {}", reason(error));
    Diagnostics::one(Diagnostic::of_whole(name, message, None))
}

fn misread(source: Source, span: Range<usize>, message: String) -> Diagnostics {
    Diagnostics::one(Diagnostic {
        severity: Severity::Error,
        source: Arc::new(source),
        span,
        message,
        label: None,
        help: Some(bind::HOW_TO_BIND.to_owned()),
    })
}

const POLICY: &str = "policy.";

/// The name of command-line bindings in messages.
const BIND: &str = "--bind";
