//! The user of programs.

use std::ffi::CString;
use std::io;
use std::path::PathBuf;
use std::process::Command;

use nix::unistd::{self, Gid, Uid, getgrouplist, setgid, setgroups, setuid};

/// A user of the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    uid: Uid,
    gid: Gid,
    groups: Vec<Gid>,
    name: String,
    home: PathBuf,
    /// The shell that the user has chosen.
    pub shell: PathBuf,
}

/// The variables by which sudo(8) tells who has called it.
const OF_SUDO: [&str; 4] = ["SUDO_UID", "SUDO_GID", "SUDO_USER", "SUDO_COMMAND"];

impl User {
    /// The user who called this process through sudo, if it is root and the user is not.
    pub fn behind_sudo() -> Option<User> {
        let uid = std::env::var("SUDO_UID").ok()?.parse().ok().map(Uid::from_raw)?;
        if !unistd::geteuid().is_root() || uid.is_root() {
            return None;
        }
        User::from_uid(uid)
    }

    /// The user of this process.
    pub fn own() -> Option<User> {
        User::from_uid(unistd::geteuid())
    }

    fn from_uid(uid: Uid) -> Option<User> {
        let Some(known) = unistd::User::from_uid(uid).ok()? else {
            return Some(User::unknown(uid));
        };
        let unistd::User { name, gid, dir, shell, .. } = known;
        let groups = getgrouplist(&CString::new(name.as_str()).ok()?, gid).ok()?;
        Some(User { uid, gid, groups, name, home: dir, shell })
    }

    /// A number of which the machine knows no name: it has the group of the same number, and no home.
    fn unknown(uid: Uid) -> User {
        let gid = Gid::from_raw(uid.as_raw());
        let (home, shell) = (PathBuf::from("/"), PathBuf::from("/bin/sh"));
        User { uid, gid, groups: vec![gid], name: uid.to_string(), home, shell }
    }

    /// Tells a command who the user is.
    pub(super) fn describe_to(&self, command: &mut Command) {
        OF_SUDO.iter().for_each(|variable| {
            command.env_remove(variable);
        });
        command.env("HOME", &self.home).env("SHELL", &self.shell);
        command.env("USER", &self.name).env("LOGNAME", &self.name);
    }

    /// Makes this process one of the user's. Between fork and exec.
    pub(super) fn become_it(&self) -> io::Result<()> {
        setgroups(&self.groups)?;
        setgid(self.gid)?;
        setuid(self.uid)?;
        Ok(())
    }
}
