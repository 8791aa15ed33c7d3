//! A folder, watched by inotify(7).

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify, WatchDescriptor};
use nix::unistd::{Uid, User};
use shortflow_files::{Dir, write};

use super::{Fetched, NotFetched, PublishError, Source, UNKNOWN_AUTHOR};
use crate::bundle::{Bundle, FileOwners, Unreadable};
use crate::verdict::Verdict;

/// A repository in a folder of this machine.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    inotify: Inotify,
    /// What is watched; where only one name in a folder matters, that name.
    watched: BTreeMap<WatchDescriptor, Option<OsString>>,
    /// What was read last, and who had changed it.
    last: Option<(Bundle, String)>,
}

/// The folder in it in which machines say what they have found of a version.
const VERDICTS: &str = "verdicts";
/// The most of them that are read, and the most bytes of each.
const MAX_VERDICTS: usize = 5000;
const MAX_VERDICT: u64 = 4096;

/// What may change what a folder has.
const CHANGES: AddWatchFlags = AddWatchFlags::IN_CLOSE_WRITE
    .union(AddWatchFlags::IN_CREATE)
    .union(AddWatchFlags::IN_DELETE)
    .union(AddWatchFlags::IN_MOVE)
    .union(AddWatchFlags::IN_DELETE_SELF)
    .union(AddWatchFlags::IN_MOVE_SELF);

impl Folder {
    /// The repository in this folder, which need not be there yet.
    ///
    /// # Errors
    /// When the kernel lets nobody watch.
    pub fn new(path: &Path) -> std::io::Result<Folder> {
        let inotify = Inotify::init(InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC)?;
        let path = std::path::absolute(path)?;
        Ok(Folder { path, inotify, watched: BTreeMap::new(), last: None })
    }

    /// Watches a folder. One that cannot be watched is read every now and then all the same.
    fn watch(&mut self, folder: &Path, only: Option<OsString>) {
        if let Ok(watch) = self.inotify.add_watch(folder, CHANGES) {
            // A folder of which everything matters stays so.
            let known = self.watched.entry(watch).or_insert_with(|| only.clone());
            if only.is_none() {
                *known = None;
            }
        }
    }

    /// Watches the folder, the folders of its policies, and its name in the folder around it: it may be exchanged.
    fn watch_all(&mut self, bundle: &Bundle) {
        let name = self.path.file_name().map(OsString::from);
        if let (Some(around), Some(_)) = (self.path.parent().map(Path::to_owned), &name) {
            self.watch(&around, name);
        }
        let mut folders: Vec<PathBuf> = bundle
            .files()
            .filter_map(|(path, _)| Some(self.path.join(path).parent()?.to_owned()))
            .collect();
        folders.extend([self.path.clone(), self.path.join(VERDICTS)]);
        folders.dedup();
        folders.iter().for_each(|folder| self.watch(folder, None));
    }
}

impl From<Unreadable> for NotFetched {
    fn from(error: Unreadable) -> NotFetched {
        match error {
            Unreadable::Mistakes(mistakes) => mistakes.into(),
            Unreadable::Cannot { .. } => NotFetched::Unreadable(error.to_string()),
        }
    }
}

impl Source for Folder {
    fn name(&self) -> String {
        format!("folder {}", self.path.display())
    }

    fn fetch(&mut self) -> Result<Fetched, NotFetched> {
        self.watch_all(&Bundle::default());
        let seen = Bundle::read(&self.path)?;
        // What changed between reading and watching is read now.
        self.watch_all(&seen);
        let (bundle, owners) = Bundle::read_owned(&self.path)?;
        let who = who_changed(self.last.as_ref(), &bundle, &owners);
        self.last = Some((bundle.clone(), who.clone()));
        Ok(Fetched { bundle, who, verdicts: verdicts(&self.path) })
    }

    fn tell(&mut self, verdict: &Verdict) -> Result<(), PublishError> {
        let text = serde_json::to_vec(verdict).expect("a verdict is JSON");
        let name = format!("{}.json", verdict.machine);
        // Others may write into the folder, and exchange what is there for a link at any moment.
        Dir::create(&self.path)
            .and_then(|repository| repository.make_dir(VERDICTS, 0o777))
            .and_then(|folder| write(&folder, &name, 0o644, &text).and_then(|()| folder.sync()))
            .map_err(|source| {
                let path = self.path.join(VERDICTS).join(&name).display().to_string();
                PublishError::Write { path, source }
            })
    }

    fn wait(&mut self, patience: Duration) -> bool {
        let until = Instant::now() + patience;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let timeout = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
            let ready = poll(&mut [PollFd::new(self.inotify.as_fd(), PollFlags::POLLIN)], timeout);
            if !ready.is_ok_and(|ready| ready > 0) {
                return false;
            }
            // What others do in the folder around is no change, and no quiet either.
            if self.has_changed() {
                return true;
            }
        }
    }
}

impl Folder {
    /// Whether something that matters is among what has happened.
    fn has_changed(&self) -> bool {
        let events = self.inotify.read_events().unwrap_or_default();
        let matters = |event: &nix::sys::inotify::InotifyEvent| {
            if event.mask.contains(AddWatchFlags::IN_Q_OVERFLOW) {
                return true;
            }
            match self.watched.get(&event.wd) {
                Some(Some(name)) => event.name.as_ref() == Some(name),
                Some(None) => true,
                None => false,
            }
        };
        events.iter().any(matters)
    }
}

/// What machines have written into a repository. What is something else, or too long, says nothing.
fn verdicts(repository: &Path) -> Vec<Verdict> {
    let Ok(folder) = Dir::open(repository).and_then(|dir| dir.dir(VERDICTS)) else {
        return Vec::new();
    };
    let read = |name: OsString| {
        let verdict: Verdict =
            serde_json::from_slice(&folder.read(&name, MAX_VERDICT).ok()?).ok()?;
        (name == *format!("{}.json", verdict.machine)).then_some(verdict)
    };
    let names = folder.names().unwrap_or_default().into_iter().take(MAX_VERDICTS);
    names.filter_map(read).collect()
}

/// The owners of the changed files; of all files, if the earlier state is unknown. Times of files do not count, since
/// any writer can set them.
fn who_changed(last: Option<&(Bundle, String)>, bundle: &Bundle, owners: &FileOwners) -> String {
    let was = |path: &str| last.and_then(|(last, _)| last.text(path));
    let changed = bundle.files().filter(|(path, text)| was(path) != Some(text));
    let users: BTreeSet<u32> = changed.filter_map(|(path, _)| owners.get(path).copied()).collect();
    match last {
        Some((_, who)) if users.is_empty() => who.clone(),
        None if users.is_empty() => UNKNOWN_AUTHOR.to_owned(),
        _ => users.into_iter().map(user).collect::<Vec<_>>().join(", "),
    }
}

/// The name of a user of this machine, or the number if it has no name.
pub(crate) fn user(uid: u32) -> String {
    match User::from_uid(Uid::from_raw(uid)) {
        Ok(Some(user)) => user.name,
        _ => format!("uid {uid}"),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn texts(files: &[(&str, &str)]) -> Bundle {
        Bundle::new(files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())))
    }

    #[test]
    fn who_changed_something_is_who_owns_what_is_another_text_now() {
        let owners: FileOwners = [("fleet.toml", 0), ("a.toml", 4_000_001), ("b.toml", 4_000_002)]
            .map(|(path, uid)| (path.to_owned(), uid))
            .into();
        let last = texts(&[("fleet.toml", "f"), ("a.toml", "1"), ("b.toml", "1")]);
        let who = |last: Option<&Bundle>, now: &[(&str, &str)]| {
            let last = last.map(|last| (last.clone(), "bob".to_owned()));
            who_changed(last.as_ref(), &texts(now), &owners)
        };
        let same = [("fleet.toml", "f"), ("a.toml", "1"), ("b.toml", "1")];
        assert_eq!(who(Some(&last), &same), "bob", "a time that was set changes nothing");
        let one = [("fleet.toml", "f"), ("a.toml", "2"), ("b.toml", "1")];
        assert_eq!(who(Some(&last), &one), "uid 4000001");
        let two = [("fleet.toml", "f"), ("a.toml", "2"), ("b.toml", "2")];
        assert_eq!(who(Some(&last), &two), "uid 4000001, uid 4000002");
        assert_eq!(who(None, &one), "root, uid 4000001, uid 4000002", "who it was is not known");
    }

    #[test]
    fn a_word_is_written_through_no_link_and_opens_nobody_elses_file() {
        let home = tempfile::tempdir().unwrap();
        let (fleet, secret) = (home.path().join("fleet"), home.path().join("secret"));
        std::fs::create_dir_all(fleet.join("verdicts")).unwrap();
        std::fs::write(&secret, "secret").unwrap();
        std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(0o600)).unwrap();
        let verdict = Verdict {
            machine: "gw1".into(),
            digest: "0".into(),
            is_worse: true,
            why: String::new(),
        };
        let is_untouched = || {
            let mode = std::fs::metadata(&secret).unwrap().permissions().mode() & 0o777;
            mode == 0o600 && std::fs::read_to_string(&secret).unwrap() == "secret"
        };
        let mut source = Folder::new(&fleet).unwrap();
        symlink(&secret, fleet.join("verdicts/gw1.json")).unwrap();
        source.tell(&verdict).unwrap();
        assert!(is_untouched());
        assert_eq!(verdicts(&fleet), std::slice::from_ref(&verdict));
        std::fs::rename(fleet.join("verdicts"), home.path().join("elsewhere")).unwrap();
        symlink(home.path().join("elsewhere"), fleet.join("verdicts")).unwrap();
        let why = source.tell(&verdict).unwrap_err().to_string();
        assert!(why.ends_with("a symbolic link is in the way, and none is followed here"), "{why}");
        assert_eq!(verdicts(&fleet), []);
    }
}
