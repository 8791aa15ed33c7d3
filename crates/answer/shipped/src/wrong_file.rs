//! Refuses a file that a command cannot use, and says what to type instead.

use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use shortflow_policy::explain::schemes;
use shortflow_run::shell_word;
use shortflow_scenario::FileKind;
use shortflow_text::{
    Diagnostic, Diagnostics, Document, InputFiles, MAX_TEXT, Source, Value, folder_of, name_of,
    nearest, reason,
};

use crate as shipped;

/// How a file is given to a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Given {
    /// As the scenario, beside an option that takes policies.
    Scenario {
        /// The name of that option.
        policies: &'static str,
    },
    /// As the policy of an option.
    PolicyOf(&'static str),
    /// As the policy itself, as `deploy` takes it.
    Policy,
    /// As plans of customers.
    Plans,
    /// As a file to check: a policy or a scenario.
    Any,
}

/// A file that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrongFile {
    /// The file.
    name: String,
    /// What was found.
    what: String,
    /// What to type instead.
    help: String,
}

impl fmt::Display for WrongFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        if self.help.is_empty() { Ok(()) } else { write!(f, "\n{}", self.help) }
    }
}

impl std::error::Error for WrongFile {}

impl From<WrongFile> for Diagnostics {
    fn from(WrongFile { name, what, help }: WrongFile) -> Diagnostics {
        let help = (!help.is_empty()).then_some(help);
        Diagnostics::one(Diagnostic::of_whole(&name, what, help))
    }
}

/// Refuses a file that cannot be read, is empty, or is of another kind. Other mistakes are reported, with their
/// places, when the file is read.
pub fn refuse(inputs: &InputFiles, path: &Path, given: Given) -> Result<(), WrongFile> {
    let name = name_of(path);
    let wrong = |what: String, help: String| Err(WrongFile { name: name.clone(), what, help });
    let text = match inputs.read(path, MAX_TEXT) {
        Ok(text) => text,
        Err(error) => {
            let help = match error.kind() {
                ErrorKind::NotFound => instead_of_missing(path, given),
                ErrorKind::IsADirectory => instead_of_folder(path, given),
                _ => String::new(),
            };
            return wrong(format!("cannot read {name}: {}", reason(&error)), help);
        }
    };
    let is_blank = |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#');
    if text.lines().all(is_blank) {
        let what = if text.trim().is_empty() { "is empty" } else { "has comments alone" };
        return wrong(format!("{name} {what}"), needed(given).to_owned());
    }
    let Ok(found) = FileKind::detect(inputs, path) else { return Ok(()) };
    let (is_wanted, wanted) = match given {
        Given::Scenario { .. } => (found == FileKind::Scenario, "not a scenario"),
        // Plans of customers become a policy.
        Given::PolicyOf(_) | Given::Policy => {
            (matches!(found, FileKind::Policy | FileKind::Plans), "not a policy")
        }
        Given::Plans => (found == FileKind::Plans, "not plans of customers"),
        Given::Any => (found != FileKind::Fleet, "neither a policy nor a scenario"),
    };
    if is_wanted {
        return Ok(());
    }
    let help = match (found, given) {
        (FileKind::Fleet, _) => {
            let folder = Some(folder_of(path)).filter(|folder| !folder.as_os_str().is_empty());
            let folder = shell_word(folder.unwrap_or(Path::new(".")).as_os_str());
            format!("`shortflow agent plan {folder}` checks a fleet with its policies")
        }
        (FileKind::Plans, _) => {
            let file = shell_word(path.as_os_str());
            format!(
                "`shortflow check {file}` checks plans, `shortflow plans scenario {file}` writes a scenario with them, and \
                 `shortflow deploy {file} --down DEVICE --up DEVICE` deploys them"
            )
        }
        (_, Given::Plans) => {
            "plans have a [line] table and customers, as docs/plans.md shows".to_owned()
        }
        (_, Given::Scenario { policies }) => {
            format!("name the scenario first, and the policy with {policies}")
        }
        _ => match policy_of(&name, &text, path) {
            Some(own) => format!("its policy is {}: give that file", own.display()),
            None => "a policy has [roles]; `shortflow init` writes examples".to_owned(),
        },
    };
    wrong(format!("{name} is a {}, {wanted}", found.noun()), help)
}

/// What a file of this use needs.
fn needed(given: Given) -> &'static str {
    match given {
        Given::Scenario { .. } => {
            "a scenario needs `duration`, [hosts], [links] and [workloads]; `shortflow init` writes examples to start \
             from"
        }
        Given::PolicyOf(_) | Given::Policy => {
            "a policy needs a [roles.NAME] table; `shortflow init` writes examples to start from"
        }
        Given::Plans => "plans need a [line] table and customers, as docs/plans.md shows",
        Given::Any => {
            "a policy needs a [roles.NAME] table; a scenario needs `duration`, [hosts], [links] and [workloads]; \
             `shortflow init` writes examples to start from"
        }
    }
}

/// The policy that a scenario names, if it is there.
fn policy_of(name: &str, text: &str, path: &Path) -> Option<PathBuf> {
    let source = Source { name: name.to_owned(), text: text.to_owned() };
    let document = Document::parse(Arc::new(source), &[]).ok()?;
    let Value::Text(policy) = &document.root().get("policy")?.value else { return None };
    let policy = folder_of(path).join(policy);
    // `scenarios/../policies/red.toml` reads worse than `policies/red.toml`.
    let parts: Vec<_> = policy.components().collect();
    let short = match &parts[..] {
        [std::path::Component::Normal(_), std::path::Component::ParentDir, rest @ ..] => {
            rest.iter().collect()
        }
        _ => policy.clone(),
    };
    [short, policy].into_iter().find(|path| path.is_file())
}

/// The help for a file that does not exist: a file of a similar name, a shipped file, or what a scheme is.
fn instead_of_missing(path: &Path, given: Given) -> String {
    if let Some(near) = nearest_file(path) {
        return format!("did you mean {}?", near.display());
    }
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let shipped: Vec<&'static str> = shipped_for(given).collect();
    let of = |stem: &str| shipped.iter().copied().find(|path| shipped::stem(path) == stem);
    // Files of plans are called like the scheme that they become.
    let may_be_scheme = !matches!(given, Given::Scenario { .. }) && !path.ends_with("plans.toml");
    let scheme = what_a_scheme_is(&stem).filter(|_| may_be_scheme);
    let near = || nearest(&stem, shipped.iter().map(|path| shipped::stem(path))).and_then(of);
    match of(&stem).or_else(|| if scheme.is_some() { None } else { near() }) {
        Some(found) if Path::new(found).is_file() => format!("did you mean {found}?"),
        Some(found) if shipped::policy(found).is_some() => {
            format!("did you mean the shipped policy `{}`?", shipped::stem(found))
        }
        Some(found) => format!("did you mean {found}? `shortflow init` writes it here"),
        None => scheme.unwrap_or_default(),
    }
}

/// What to do with the name of a scheme where a policy is wanted; `None` if it is not that of a scheme.
pub fn what_a_scheme_is(name: &str) -> Option<String> {
    let is_scheme = schemes().iter().any(|scheme| scheme.name == name);
    is_scheme.then(|| {
        format!(
            "`{name}` is a scheme, not a policy: a policy uses it in a role, as `shortflow explain {name}` shows"
        )
    })
}

/// The shipped files that may be meant.
fn shipped_for(given: Given) -> impl Iterator<Item = &'static str> {
    let (policies, scenarios) = match given {
        Given::Scenario { .. } => (false, true),
        Given::PolicyOf(_) | Given::Policy => (true, false),
        Given::Plans => (false, false),
        Given::Any => (true, true),
    };
    shipped::FILES.iter().map(|(path, _)| *path).filter(move |path| {
        path.ends_with(".toml")
            && (policies && path.starts_with("policies/")
                || scenarios && path.starts_with("scenarios/"))
    })
}

/// The file in the same folder whose name is similar. The ending that all names have does not make them similar.
fn nearest_file(path: &Path) -> Option<PathBuf> {
    let stem = |path: &Path| Some(path.file_stem()?.to_string_lossy().into_owned());
    let all = files_in(folder_of(path));
    let stems: Vec<String> = all.iter().filter_map(|path| stem(path)).collect();
    let found = nearest(&stem(path)?, stems.iter().map(String::as_str))?;
    all.iter().find(|path| stem(path).is_some_and(|stem| stem == found)).cloned()
}

const TOML: &str = ".toml";

/// The files in a folder whose names end in `.toml`, in alphabetical order.
fn files_in(folder: &Path) -> Vec<PathBuf> {
    let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let Ok(entries) = std::fs::read_dir(here) else { return Vec::new() };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut all: Vec<PathBuf> =
        names.filter(|name| name.ends_with(TOML)).map(|name| folder.join(name)).collect();
    all.sort();
    all
}

/// The help for a folder in place of a file.
fn instead_of_folder(path: &Path, given: Given) -> String {
    let files = files_in(path);
    let names: Vec<String> =
        files.iter().take(2).map(|path| shell_word(path.as_os_str())).collect();
    match (&names[..], given) {
        ([], _) => String::new(),
        ([_, _], Given::PolicyOf(POLICIES)) => {
            format!("give its files, separated by commas: {POLICIES} {}", names.join(","))
        }
        ([first, ..], Given::PolicyOf(option)) => {
            format!("give a file in it, such as {option} {first}")
        }
        ([first, ..], _) => format!("give a file in it, such as {first}"),
    }
}

/// The option that takes several policies.
pub const POLICIES: &str = "--policies";

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const SCENARIO: Given = Given::Scenario { policies: "--policy" };

    /// What is refused of files in a folder, with `DIR` for the folder.
    fn refused(file: &str, text: Option<&str>, given: Given) -> (String, String) {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join(file);
        if let Some(text) = text {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
        }
        let dir = home.path().display().to_string();
        let WrongFile { what, help, .. } =
            refuse(&InputFiles::default(), &path, given).unwrap_err();
        (what.replace(&dir, "DIR"), help.replace(&dir, "DIR"))
    }

    #[test]
    fn an_empty_file_is_refused_with_what_is_needed() {
        let (what, help) = refused("a.toml", Some(" \n"), SCENARIO);
        assert_eq!(what, "DIR/a.toml is empty");
        assert!(help.starts_with("a scenario needs `duration`") && help.contains("shortflow init"));
        let (what, help) = refused("a.toml", Some("# later\n"), Given::Policy);
        assert_eq!(what, "DIR/a.toml has comments alone");
        assert!(help.starts_with("a policy needs a [roles.NAME] table"), "{help}");
    }

    #[test]
    fn a_file_of_another_kind_is_refused_with_what_to_type() {
        let policy = "[roles.core]\nqueue.fifo = { limit = \"9 pkt\" }\n";
        let scenario = "duration = \"1 s\"\n[hosts]\na = {}\n";
        let fleet = "[machines.a]\n[[assign]]\npolicy = \"a.toml\"\n";
        let (what, help) = refused("a.toml", Some(policy), SCENARIO);
        assert_eq!(what, "DIR/a.toml is a policy, not a scenario");
        assert_eq!(help, "name the scenario first, and the policy with --policy");
        let (what, help) = refused("a.toml", Some(scenario), Given::Policy);
        assert_eq!(what, "DIR/a.toml is a scenario, not a policy");
        assert!(help.starts_with("a policy has [roles]"), "{help}");
        let (what, help) = refused("fleet.toml", Some(fleet), Given::Any);
        assert_eq!(what, "DIR/fleet.toml is a fleet, neither a policy nor a scenario");
        assert_eq!(help, "`shortflow agent plan DIR` checks a fleet with its policies");
    }

    #[test]
    fn the_policy_of_a_scenario_is_named_where_a_policy_is_wanted() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        fs::write(at("q.toml"), "[roles.core]\n").unwrap();
        fs::write(at("s.toml"), "duration = \"1 s\"\npolicy = \"q.toml\"\n[hosts]\n").unwrap();
        let wrong = refuse(&InputFiles::default(), &at("s.toml"), Given::Policy).unwrap_err();
        assert_eq!(wrong.help, format!("its policy is {}: give that file", at("q.toml").display()));
    }

    #[test]
    fn a_missing_file_is_refused_with_a_name_that_exists() {
        let help = |file: &str, given: Given| refused(file, None, given).1;
        let policy = Given::PolicyOf("--policy");
        // Tests run in the folder of the crate, where no shipped file lies.
        let red = "did you mean the shipped policy `red`?";
        assert_eq!(help("red", policy), red);
        assert_eq!(help("red.toml", policy), red);
        assert_eq!(help("fqcodel", policy), "did you mean the shipped policy `fq-codel`?");
        assert!(help("pie", policy).contains("as `shortflow explain pie` shows"));
        assert!(help("office", SCENARIO).starts_with("did you mean scenarios/office.toml?"));
        assert_eq!(help("red", SCENARIO), "");
        assert_eq!(help("something-else", Given::Any), "");
    }

    #[test]
    fn a_misspelt_file_finds_its_neighbour() {
        let home = tempfile::tempdir().unwrap();
        for name in ["my-line.toml", "fleet.toml"] {
            fs::write(home.path().join(name), "").unwrap();
        }
        let other = refuse(&InputFiles::default(), &home.path().join("fqcodel"), Given::Policy);
        assert_eq!(other.unwrap_err().help, "did you mean the shipped policy `fq-codel`?");
        let wrong = refuse(&InputFiles::default(), &home.path().join("my-lime.toml"), SCENARIO);
        let expected = format!("did you mean {}/my-line.toml?", home.path().display());
        assert_eq!(wrong.unwrap_err().help, expected);
    }

    #[test]
    fn a_folder_is_refused_with_its_files() {
        let home = tempfile::tempdir().unwrap();
        let help = |given| refuse(&InputFiles::default(), home.path(), given).unwrap_err().help;
        assert_eq!(help(Given::Policy), "");
        for name in ["b.toml", "a.toml", "c.md"] {
            fs::write(home.path().join(name), "").unwrap();
        }
        let dir = home.path().display();
        assert_eq!(help(Given::Policy), format!("give a file in it, such as {dir}/a.toml"));
        assert_eq!(
            help(Given::PolicyOf(POLICIES)),
            format!("give its files, separated by commas: --policies {dir}/a.toml,{dir}/b.toml")
        );
    }
}
