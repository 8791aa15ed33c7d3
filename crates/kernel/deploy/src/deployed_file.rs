//! What was deployed on a device: a file beside the kernel's own records.
//!
//! The kernel keeps its records at the queues and at `clsact`: whoever removes both removes the records, too. The file
//! then says what is missing. It is in a folder that the machine empties when it starts, as the kernel forgets devices
//! then. Its name has the network namespace and the index of the device, which a device keeps when it is renamed.

use std::collections::BTreeSet;
use std::ffi::OsStr;

use shortflow_files::{Dir, write};

use crate::deployed::Deployed;
use crate::device::{index_of, indexes, link};
use crate::error::Error;
use crate::namespace::namespace_id;
use crate::run_folder::{file_name, folders, own_folder};

/// How the name of its file ends, for what the device sends.
const SENT: &str = "deployed";
/// The same, for what it receives.
const RECEIVED: &str = "received";
/// How its first line begins, which has the name that the device had.
const NAME: &str = "name ";
/// The most bytes of it.
const MAX_BYTES: u64 = 64 << 10;

/// Keeps what was deployed on a device, and removes the records of devices that are gone.
pub(crate) fn save_deployed(device: &str, deployed: &Deployed) -> Result<(), Error> {
    save(device, deployed, SENT)
}

/// Keeps what was deployed on the packets that a device receives.
pub(crate) fn save_received(device: &str, deployed: &Deployed) -> Result<(), Error> {
    save(device, deployed, RECEIVED)
}

fn save(device: &str, deployed: &Deployed, kind: &str) -> Result<(), Error> {
    let failed = |source| Error::Machine { what: "what is deployed could not be kept", source };
    let text = format!("{NAME}{device}\n{}", deployed.text());
    let folder = own_folder(&folders())?;
    let index = index_of(device).map_or_else(|| link(device).map(|link| link.index), Ok)?;
    let name = name_of(index, kind).map_err(failed)?;
    // Another user who may read a file may also lock it.
    write(&folder, name, 0o600, text.as_bytes()).map_err(failed)?;
    remove_stale(&folder, &indexes()?);
    Ok(())
}

/// Forgets what was deployed on a device, where it is kept.
pub fn forget_deployed(device: &str) {
    forget(device, SENT);
}

/// Forgets what was deployed on the packets that a device receives, where it is kept.
pub fn forget_received(device: &str) {
    forget(device, RECEIVED);
}

fn forget(device: &str, kind: &str) {
    let index = index_of(device);
    let Some(name) = index.and_then(|index| name_of(index, kind).ok()) else { return };
    for folder in folders() {
        // One that stays is of a device that has lost its queues and markers, and `undeploy` says so.
        let _ = Dir::open(&folder).and_then(|folder| folder.remove_file(&name));
    }
}

/// What was deployed on a device of this index; none where nothing is kept, or this user may not read it.
pub(crate) fn read_deployed(device: &str) -> Option<Deployed> {
    read(device, SENT)
}

/// The same, of the packets that a device receives.
pub(crate) fn read_received(device: &str) -> Option<Deployed> {
    read(device, RECEIVED)
}

fn read(device: &str, kind: &str) -> Option<Deployed> {
    let folders = folders().into_iter().filter_map(|folder| Dir::open(&folder).ok());
    let name = name_of(index_of(device)?, kind).ok()?;
    let mut texts = folders.filter_map(|folder| folder.read_text(&name, MAX_BYTES).ok());
    let text = texts.next()?;
    let (first, record) = text.split_once('\n')?;
    first.strip_prefix(NAME)?;
    Deployed::parse(record)
}

fn name_of(index: u32, kind: &str) -> std::io::Result<String> {
    file_name(&index.to_string(), kind)
}

/// The names of the records of this network namespace in a folder, each with what stands for the device in it.
fn records(folder: &Dir) -> Vec<(String, String)> {
    let Ok(id) = namespace_id() else { return Vec::new() };
    let record = |name: &OsStr| {
        let name = name.to_str()?;
        let rest = name.strip_prefix(&id)?.strip_prefix('-')?;
        let (of, kind) = rest.rsplit_once('.')?;
        [SENT, RECEIVED].contains(&kind).then(|| (name.to_owned(), of.to_owned()))
    };
    folder.names().unwrap_or_default().iter().filter_map(|name| record(name)).collect()
}

/// Removes the records of this network namespace whose devices are gone. Others belong to namespaces that may still exist.
fn remove_stale(folder: &Dir, there: &BTreeSet<u32>) {
    let is_there = |of: &str| of.parse().is_ok_and(|index| there.contains(&index));
    for (name, _) in records(folder).into_iter().filter(|(_, of)| !is_there(of)) {
        // One that stays is not read: no device has its index.
        let _ = folder.remove_file(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_devices_that_are_gone_are_removed_and_those_of_other_namespaces_are_not() {
        let home = tempfile::tempdir().unwrap();
        let folder = Dir::open(home.path()).unwrap();
        let [three, seven] = [3, 7].map(|index| name_of(index, SENT).unwrap());
        let [received, gone] = [3, 7].map(|index| name_of(index, RECEIVED).unwrap());
        let of_name = file_name("eth0", SENT).unwrap();
        let lock = file_name("7", "lock").unwrap();
        let other = format!("x{seven}");
        for name in [&three, &seven, &received, &gone, &of_name, &lock, &other] {
            write(&folder, name, 0o600, b"").unwrap();
        }
        remove_stale(&folder, &[1, 3].into());
        let mut left: Vec<_> = folder.names().unwrap();
        left.sort();
        let mut expected = [three, received, lock, other].map(std::ffi::OsString::from);
        expected.sort();
        assert_eq!(left, expected);
    }
}
