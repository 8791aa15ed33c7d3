//! Profiles of network namespaces that are gone: the kernel keeps their programs, and no command finds them from within.

use std::path::PathBuf;

use shortflow_ebpf::profile::TcpProfile;
use shortflow_files::Dir;

use super::record::Record;
use super::{LOCK_TIMEOUT, LOCKED, TcpDeployment, clear_left_over};
use crate::device_lock::DeviceLock;
use crate::error::Error;
use crate::namespace::is_in_use;
use crate::run_folder::folders;

/// A profile whose network namespace is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TcpAbandoned {
    /// The policy.
    pub policy: String,
    /// What the profile says, in a line.
    pub profile: String,
    /// The name of the congestion control.
    pub control: String,
}

/// A record of another network namespace, and where it is kept.
struct Kept {
    record: Record,
    folder: PathBuf,
    name: String,
}

/// Profiles in namespaces that no process has and that are mounted nowhere.
pub fn abandoned_in_tcp() -> Vec<TcpAbandoned> {
    let gone = elsewhere().into_iter().filter(|kept| !is_in_use(kept.record.namespace));
    let abandoned = gone.map(|Kept { record: Record { policy, profile, control, .. }, .. }| {
        TcpAbandoned { policy, profile, control }
    });
    abandoned.collect()
}

/// Removes the profile with this congestion control, and says of which policy it was.
///
/// # Errors
/// If there is none, its network namespace is in use, or the kernel refuses to remove it.
pub fn remove_abandoned_in_tcp(control: &str) -> Result<String, Error> {
    let _lock = DeviceLock::take(LOCKED, LOCK_TIMEOUT)?;
    let found = elsewhere().into_iter().find(|kept| kept.record.control == control);
    let Some(Kept { record, folder, name }) = found else {
        return Err(Error::TcpNoSuchControl { control: control.to_owned() });
    };
    if is_in_use(record.namespace) {
        return Err(Error::TcpInUse { control: control.to_owned(), namespace: record.namespace });
    }
    let policy = record.policy.clone();
    let parts = record.parts.as_ref();
    let profile = parts.map(|parts| TcpProfile::find(&record.control, &record.filter, parts));
    match profile.transpose()?.flatten() {
        Some(profile) => TcpDeployment { record, profile }.take_away().map(|_| ())?,
        None => clear_left_over(&record)?,
    }
    // One that stays names parts that the kernel no longer has.
    let _ = Dir::open(&folder).and_then(|folder| folder.remove_file(&name));
    Ok(policy)
}

/// What is kept of other network namespaces.
fn elsewhere() -> Vec<Kept> {
    let own = Record::file().ok();
    let mut all = Vec::new();
    for path in folders() {
        let Ok(folder) = Dir::open(&path) else { continue };
        for name in folder.names().into_iter().flatten() {
            let Some(name) = name.to_str().filter(|name| Record::is_file(name)) else { continue };
            let record = Record::read_from(&folder, name);
            if let Some(record) = record.filter(|_| own.as_deref() != Some(name)) {
                all.push(Kept { record, folder: path.clone(), name: name.to_owned() });
            }
        }
    }
    all
}
