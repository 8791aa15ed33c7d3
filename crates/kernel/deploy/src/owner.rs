//! The owners of labels: a socket's mark or priority, or a cgroup.

use std::fmt;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use shortflow_ebpf::edge::{Owner, PRIORITIES};
use shortflow_packet::Label;
use shortflow_policy::Policy;

use crate::cgroup::{self, MOUNTS};

/// Which connections of a host have a label, of each that is given one.
#[derive(Debug, Clone, Default)]
pub struct Owners(Vec<(Label, Labelled)>);

/// A label, and who owns the connections that have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Labelled {
    /// As the policy writes it.
    pub name: String,
    /// Who owns them.
    pub owned_by: OwnedBy,
}

/// Who owns connections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OwnedBy {
    /// Sockets with this mark.
    Mark(u32),
    /// Sockets with this priority.
    Priority(u8),
    /// A group of processes.
    Group {
        /// Its folder below the root of all groups.
        path: String,
        /// Its number, which another group of the same name has not.
        id: u64,
    },
}

/// How the group of processes stands by whose number a label's connections are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupState {
    /// It is there.
    There,
    /// A cgroup of this name does not exist.
    Gone,
    /// There is one of its name, which is another one.
    MadeAnew,
    /// This process sees no groups.
    Unseen,
}

/// The longest path of a group that is taken, in bytes.
const MAX_PATH: usize = 1024;

impl Owners {
    /// None has any.
    pub fn new() -> Owners {
        Owners::default()
    }

    /// Those of labels of these names.
    #[must_use]
    pub fn of_labels(self, is_meant: impl Fn(&str) -> bool) -> Owners {
        Owners(self.0.into_iter().filter(|(_, labelled)| is_meant(&labelled.name)).collect())
    }

    /// The label's owner.
    pub(crate) fn find(&self, label: Label) -> Option<&Labelled> {
        self.0.iter().find(|(known, _)| *known == label).map(|(_, labelled)| labelled)
    }

    /// Those of these labels.
    pub(crate) fn only(&self, labels: &[Label]) -> Vec<(Label, &Labelled)> {
        let asked = self.0.iter().filter(|(label, _)| labels.contains(label));
        asked.map(|(label, labelled)| (*label, labelled)).collect()
    }
}

impl OwnedBy {
    /// By what the program knows them.
    pub(crate) fn owner(&self) -> Owner {
        match self {
            OwnedBy::Mark(mark) => Owner::Mark(*mark),
            OwnedBy::Priority(priority) => Owner::Priority(*priority),
            OwnedBy::Group { path, id } => {
                let level = Path::new(path).components().count() as u8;
                Owner::Group { id: *id, level }
            }
        }
    }

    /// The state of its cgroup; `None` for a mark or a priority.
    pub fn group(&self) -> Option<GroupState> {
        let OwnedBy::Group { path, id } = self else { return None };
        let root = cgroup::root().unwrap_or_default();
        Some(root.map_or(GroupState::Unseen, |root| state_at(&root.join(path), *id)))
    }
}

/// As `--label NAME=` is given it.
impl fmt::Display for OwnedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OwnedBy::Mark(mark) => write!(f, "mark:{mark}"),
            OwnedBy::Priority(priority) => write!(f, "priority:{priority}"),
            OwnedBy::Group { path, .. } => write!(f, "cgroup:{path}"),
        }
    }
}

impl fmt::Display for GroupState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            GroupState::There => "there",
            GroupState::Gone => "gone",
            GroupState::MadeAnew => "recreated",
            GroupState::Unseen => "not visible from here",
        })
    }
}

fn state_at(folder: &Path, id: u64) -> GroupState {
    match std::fs::metadata(folder) {
        Ok(found) if found.ino() == id => GroupState::There,
        Ok(_) => GroupState::MadeAnew,
        Err(error) if error.kind() == ErrorKind::NotFound => GroupState::Gone,
        Err(_) => GroupState::Unseen,
    }
}

/// Why the owner of a label is refused.
#[derive(Debug, thiserror::Error)]
pub enum OwnerError {
    /// Neither a mark, a priority nor a cgroup.
    #[error("an owner must be `mark:NUMBER`, `priority:NUMBER` or `cgroup:PATH`; found {0:?}")]
    Unknown(String),
    /// No socket can have the mark.
    #[error(
        "a mark must be a number from 1 to 4294967295; found {0:?}\nsockets without a mark have 0"
    )]
    Mark(String),
    /// No label can have the priority.
    #[error(
        "a priority must be a number from 1 to {max}; found {0:?}\nsockets without a priority have 0, and only privileged \
         programs set more than 6", max = PRIORITIES - 1
    )]
    Priority(String),
    /// No cgroup below the root can have the path.
    #[error("a cgroup must be below the root, such as `system.slice/ssh.service`; found {0:?}")]
    NotBelowRoot(String),
    /// The path has too many bytes, or control characters.
    #[error(
        "a cgroup path must have at most {MAX_PATH} bytes and no control characters; found {0:?}"
    )]
    GroupPath(String),
    /// The cgroup does not exist.
    #[error(
        "unknown cgroup {}\n`systemd-cgls` lists them; the cgroup of a service exists while the \
            service runs", .0.display()
    )]
    NoGroup(PathBuf),
    /// This machine has no cgroups of the second version.
    #[error("no cgroup2 file system is mounted\nmount it: mount -t cgroup2 none /sys/fs/cgroup")]
    NotMounted,
    /// The list of mounts cannot be read.
    #[error("cannot read {MOUNTS}: {0}")]
    Mounts(#[source] io::Error),
}

/// Why the labels of a policy cannot have some owners. The message follows on `--label`.
#[derive(Debug, thiserror::Error)]
pub enum LabelError {
    /// The policy does not have the label.
    #[error("{label}: the policy {policy:?} does not match this label\n{}", match &known[..] {
        [] => "it matches no labels".to_owned(),
        known => format!("its labels are `{}`", known.join("`, `")),
    })]
    Unknown {
        /// The label.
        label: String,
        /// The name of the policy.
        policy: String,
        /// The labels of the policy.
        known: Vec<String>,
    },
    /// The label has two owners.
    #[error("{0}: the label is given twice")]
    Twice(String),
    /// The owner is refused.
    #[error("{label}: {source}")]
    Owner {
        /// The label.
        label: String,
        /// Why.
        source: OwnerError,
    },
    /// Two labels have the same owner.
    #[error("{label}: the label {other} already uses {owner}; a connection can have one label")]
    Shared {
        /// The label.
        label: String,
        /// The label that already has the owner.
        other: String,
        /// The owner.
        owner: String,
    },
}

/// The owners of the connections that have labels of a policy, from pairs of a label and its owner as text.
///
/// # Errors
/// When the policy lacks a label, an owner is refused, or two labels have the same one.
pub fn owners(policy: &Policy, given: &[(String, String)]) -> Result<Owners, LabelError> {
    let mut owners = Owners::new();
    for (name, text) in given {
        let label = policy.label(name);
        let given = || name.clone();
        if label == Label::NONE {
            let (policy, known) = (policy.name.clone(), policy.labels().to_vec());
            return Err(LabelError::Unknown { label: given(), policy, known });
        }
        if owners.find(label).is_some() {
            return Err(LabelError::Twice(given()));
        }
        let owned_by =
            owner(text).map_err(|source| LabelError::Owner { label: given(), source })?;
        if let Some((_, other)) = owners.0.iter().find(|(_, known)| known.owned_by == owned_by) {
            let (other, owner) = (other.name.clone(), text.clone());
            return Err(LabelError::Shared { label: given(), other, owner });
        }
        owners.0.push((label, Labelled { name: name.clone(), owned_by }));
    }
    Ok(owners)
}

/// Some owner for each label of a policy, where it does not matter which.
pub fn any_owners(policy: &Policy) -> Owners {
    let any = |name: &String| Labelled { name: name.clone(), owned_by: OwnedBy::Mark(1) };
    Owners(policy.labels().iter().map(|name| (policy.label(name), any(name))).collect())
}

/// Who owns connections, by what is written: whether this machine has the group of processes is not looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OwnerText<'t> {
    /// Sockets with this mark (SO_MARK).
    Mark(u32),
    /// Sockets with this priority (SO_PRIORITY).
    Priority(u8),
    /// A group of processes, from the root of them all or by the path of its folder.
    Group(&'t str),
}

/// Reads `mark:7`, `mark:0x7`, `priority:5` or `cgroup:system.slice/backup.service`.
///
/// # Errors
/// When it is none of these, or no socket or cgroup can be so.
pub fn owner_text(text: &str) -> Result<OwnerText<'_>, OwnerError> {
    match text.split_once(':') {
        Some(("mark", mark)) => {
            let found = match mark.strip_prefix("0x") {
                Some(digits) => u32::from_str_radix(digits, 16),
                None => mark.parse(),
            };
            match found {
                Ok(mark) if mark > 0 => Ok(OwnerText::Mark(mark)),
                _ => Err(OwnerError::Mark(mark.to_owned())),
            }
        }
        Some(("priority", priority)) => match priority.parse() {
            Ok(found @ 1..PRIORITIES) => Ok(OwnerText::Priority(found)),
            _ => Err(OwnerError::Priority(priority.to_owned())),
        },
        Some(("cgroup", group)) => {
            let is_plain = |part| matches!(part, Component::Normal(_) | Component::RootDir);
            let has_name = Path::new(group).file_name().is_some();
            match has_name && Path::new(group).components().all(is_plain) {
                true => Ok(OwnerText::Group(group)),
                false => Err(OwnerError::NotBelowRoot(group.to_owned())),
            }
        }
        _ => Err(OwnerError::Unknown(text.to_owned())),
    }
}

/// The owner, whose cgroup must exist.
fn owner(text: &str) -> Result<OwnedBy, OwnerError> {
    match owner_text(text)? {
        OwnerText::Mark(mark) => Ok(OwnedBy::Mark(mark)),
        OwnerText::Priority(priority) => Ok(OwnedBy::Priority(priority)),
        OwnerText::Group(group) => {
            let root = cgroup::root().map_err(OwnerError::Mounts)?.ok_or(OwnerError::NotMounted)?;
            group_at(&root, group)
        }
    }
}

fn group_at(root: &Path, group: &str) -> Result<OwnedBy, OwnerError> {
    let given = Path::new(group);
    let below = given.strip_prefix(root).ok();
    let below = below.or_else(|| given.strip_prefix("/").ok()).unwrap_or(given);
    let is_plain = below.components().all(|part| matches!(part, Component::Normal(_)));
    let levels = 1..=usize::from(u8::MAX);
    if !is_plain || !levels.contains(&below.components().count()) {
        return Err(OwnerError::NotBelowRoot(group.to_owned()));
    }
    let path: PathBuf = below.components().collect();
    let path = path.display().to_string();
    if path.len() > MAX_PATH || path.chars().any(char::is_control) {
        return Err(OwnerError::GroupPath(group.to_owned()));
    }
    let folder = root.join(&path);
    match std::fs::metadata(&folder) {
        Ok(found) if found.is_dir() => Ok(OwnedBy::Group { path, id: found.ino() }),
        _ => Err(OwnerError::NoGroup(folder)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_a_number_above_zero_in_tens_or_sixteens() {
        assert_eq!(owner("mark:7").unwrap(), OwnedBy::Mark(7));
        assert_eq!(owner("mark:0x1f").unwrap(), OwnedBy::Mark(31));
        for wrong in ["mark:0", "mark:", "mark:-1", "mark:4294967296", "mark:0x"] {
            let message = owner(wrong).unwrap_err().to_string();
            assert!(
                message.starts_with("a mark must be a number from 1 to 4294967295"),
                "{message}"
            );
        }
        assert_eq!(
            owner("port:80").unwrap_err().to_string(),
            "an owner must be `mark:NUMBER`, `priority:NUMBER` or `cgroup:PATH`; found \"port:80\""
        );
    }

    #[test]
    fn a_priority_is_a_number_that_a_socket_can_have_and_most_do_not() {
        assert_eq!(owner("priority:5").unwrap(), OwnedBy::Priority(5));
        assert_eq!(owner("priority:15").unwrap().to_string(), "priority:15");
        for wrong in ["priority:0", "priority:16", "priority:", "priority:-1", "priority:0x5"] {
            let message = owner(wrong).unwrap_err().to_string();
            assert!(message.starts_with("a priority must be a number from 1 to 15"), "{message}");
        }
    }

    #[test]
    fn what_tells_of_two_labels_tells_of_none() {
        let rule = |label| {
            format!("match = {{ label = \"{label}\" }}\nmarker.fixed = {{ dscp = \"AF11\" }}\n")
        };
        let text = format!(
            "name = \"two\"\n[[roles.source.classes]]\nname = \"a\"\n{}[[roles.source.classes]]\nname = \"b\"\n{}",
            rule("shell"),
            rule("backup")
        );
        let policy = shortflow_policy::from_text("two.toml", &text, &[]).unwrap();
        let given = |one: &str, other: &str| {
            owners(&policy, &[("shell".into(), one.into()), ("backup".into(), other.into())])
        };
        assert!(given("mark:7", "mark:8").is_ok());
        assert_eq!(
            given("mark:7", "mark:0x7").unwrap_err().to_string(),
            "backup: the label shell already uses mark:0x7; a connection can have one label"
        );
    }

    #[test]
    fn a_group_is_found_below_the_root_however_it_is_named() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("system.slice/ssh.service");
        std::fs::create_dir_all(&folder).unwrap();
        let id = std::fs::metadata(&folder).unwrap().ino();
        let named = [
            "system.slice/ssh.service",
            "/system.slice/ssh.service/",
            folder.to_str().expect("it is one of a test"),
        ];
        for name in named {
            let found = group_at(root.path(), name).unwrap();
            assert_eq!(found.to_string(), "cgroup:system.slice/ssh.service", "{name}");
            assert_eq!(found.owner(), Owner::Group { id, level: 2 }, "{name}");
        }
        for wrong in ["", "/", "..", "system.slice/../system.slice"] {
            let message = group_at(root.path(), wrong).unwrap_err().to_string();
            assert!(message.contains("below the root"), "{wrong}: {message}");
        }
        let message = group_at(root.path(), "system.slice/none.service").unwrap_err().to_string();
        assert!(message.contains("unknown cgroup"), "{message}");
        let odd = group_at(root.path(), "system.slice/a\nclass b").unwrap_err().to_string();
        assert!(odd.contains("no control characters"), "{odd}");
    }

    #[test]
    fn a_group_that_is_gone_or_made_anew_is_not_taken_for_the_one_before() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("web.service");
        std::fs::create_dir(&folder).unwrap();
        let Ok(OwnedBy::Group { id, .. }) = group_at(root.path(), "web.service") else { panic!() };
        assert_eq!(state_at(&folder, id), GroupState::There);
        assert_eq!(state_at(&folder, id + 1), GroupState::MadeAnew);
        std::fs::remove_dir(&folder).unwrap();
        assert_eq!(state_at(&folder, id), GroupState::Gone);
    }
}
