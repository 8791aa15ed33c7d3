//! The record of a deployment without queues: a file in addition to the kernel's own record.
//!
//! Markers without queues are at `clsact` only, and so is their record: removing `clsact` removes both. The file is
//! in a folder that the machine empties at boot, as the kernel forgets devices then. It is valid only for a device
//! with the same number in the same network namespace.

use shortflow_files::{Dir, write};

use crate::deployed::Deployed;
use crate::device::link;
use crate::error::Error;
use crate::run_folder::{file_name, folders, own_folder};

/// How the name of its file ends.
const KIND: &str = "deployed";
/// The most bytes of it.
const MAX_BYTES: u64 = 64 << 10;

/// Keeps what was deployed on a device.
pub(crate) fn save_deployed(device: &str, deployed: &Deployed) -> Result<(), Error> {
    let text = format!("device {}\n{}", link(device)?.index, deployed.text());
    let folder = own_folder(&folders())?;
    let name = file_name(device, KIND);
    name.and_then(|name| write(&folder, name, 0o600, text.as_bytes())).map_err(|source| {
        Error::Machine { what: "cannot save the state of the deployment", source }
    })
}

/// Forgets what was deployed on a device, where it is kept.
pub fn forget_deployed(device: &str) {
    let Ok(name) = file_name(device, KIND) else { return };
    for folder in folders() {
        // One that stays is of a device that has lost its markers, and `undeploy` says so.
        let _ = Dir::open(&folder).and_then(|folder| folder.remove_file(&name));
    }
}

/// The deployment on a device with this name and number; `None` if nothing is kept, or this user may not read it.
pub fn read_deployed(device: &str) -> Option<Deployed> {
    let name = file_name(device, KIND).ok()?;
    let mut texts = folders()
        .into_iter()
        .filter_map(|folder| Dir::open(&folder).ok()?.read_text(&name, MAX_BYTES).ok());
    let text = texts.next()?;
    let (device_line, record) = text.split_once('\n')?;
    let index: u32 = device_line.strip_prefix("device ")?.parse().ok()?;
    let is_same = link(device).is_ok_and(|link| link.index == index);
    Deployed::parse(record).filter(|_| is_same)
}
