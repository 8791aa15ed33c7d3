//! A folder, watched by inotify(7).

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{File, Permissions};
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::libc::{O_NOFOLLOW, O_NONBLOCK};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify, WatchDescriptor};
use nix::unistd::{Uid, User};

use super::{Fetched, NOBODY, NotFetched, Source};
use crate::bundle::{Bundle, Unreadable};
use crate::verdict::Verdict;
use crate::whole::write_whole;

/// A repository in a folder of this machine.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    inotify: Inotify,
    /// What is watched; where only one name in a folder matters, that name.
    watched: BTreeMap<WatchDescriptor, Option<OsString>>,
}

/// The folder in it in which machines say what they have found of a version.
const VERDICTS: &str = "verdicts";
/// The most of them that are read, and the most bytes of each.
const MOST_VERDICTS: usize = 5000;
const MOST_VERDICT: u64 = 4096;

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
        Ok(Folder { path, inotify, watched: BTreeMap::new() })
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
        let bundle = Bundle::read(&self.path)?;
        let who = owner_of_newest(&self.path, &bundle);
        Ok(Fetched { bundle, who, verdicts: verdicts(&self.path.join(VERDICTS)) })
    }

    fn tell(&mut self, verdict: &Verdict) -> Result<(), String> {
        let folder = self.path.join(VERDICTS);
        let text = serde_json::to_vec(verdict).map_err(|error| error.to_string())?;
        let file = folder.join(format!("{}.json", verdict.machine));
        std::fs::create_dir_all(&folder)
            .and_then(|()| write_whole(&file, &text))
            .and_then(|()| std::fs::set_permissions(&file, Permissions::from_mode(0o644)))
            .map_err(|error| format!("{}: {error}", file.display()))
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

/// What machines have written into a folder. What is something else, or too long, says nothing.
fn verdicts(folder: &Path) -> Vec<Verdict> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().take(MOST_VERDICTS);
    let read = |entry: std::fs::DirEntry| {
        let verdict: Verdict = serde_json::from_slice(&small_file(&entry.path())?).ok()?;
        (entry.file_name() == *format!("{}.json", verdict.machine)).then_some(verdict)
    };
    entries.filter_map(read).collect()
}

/// The bytes of a plain file that is not too long. Others may write into its folder: a link is not followed, and a pipe is not
/// waited for.
fn small_file(path: &Path) -> Option<Vec<u8>> {
    let flags = O_NOFOLLOW | O_NONBLOCK;
    let file = File::options().read(true).custom_flags(flags).open(path).ok()?;
    let found = file.metadata().ok().filter(|found| found.is_file() && found.len() < MOST_VERDICT);
    let mut bytes = Vec::new();
    file.take(found?.len()).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Who owns the file that was changed last.
fn owner_of_newest(folder: &Path, bundle: &Bundle) -> String {
    let files = bundle.files().filter_map(|(path, _)| std::fs::metadata(folder.join(path)).ok());
    let newest = files.max_by_key(|found| (found.mtime(), found.mtime_nsec()));
    newest.map_or(NOBODY.to_owned(), |found| user(found.uid()))
}

/// The name of a user of this machine, or the number where there is none.
pub(crate) fn user(uid: u32) -> String {
    match User::from_uid(Uid::from_raw(uid)) {
        Ok(Some(user)) => user.name,
        _ => format!("uid {uid}"),
    }
}
