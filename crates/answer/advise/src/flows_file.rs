//! Flows in a file: a list, or a capture.

use std::io;
use std::path::Path;

use shortflow_text::{InputFiles, MAX_TEXT, reason};

use crate::capture::read_capture;
use crate::error::FlowsError;
use crate::flows::{Flows, read_csv};

/// Why the flows of a file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FlowsFileError {
    /// The file cannot be read.
    #[error(
        "cannot read {path}: {why}\ngive CSV with the columns start_s, bytes and direction, or a capture, pcap or pcapng"
    )]
    Unreadable {
        /// The file.
        path: String,
        /// The reason.
        why: String,
    },
    /// Its content is invalid.
    #[error(transparent)]
    Invalid(#[from] FlowsError),
}

/// Reads the flows of a CSV file or a capture.
///
/// # Errors
/// When the file cannot be read, or has invalid or too few flows.
pub fn read_flows(path: &Path) -> Result<Flows, FlowsFileError> {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let unreadable = |error: io::Error| FlowsFileError::Unreadable {
        path: path.display().to_string(),
        why: reason(&error).to_string(),
    };
    if is_capture(path).map_err(unreadable)? {
        let file = shortflow_files::open(path).map_err(|error| unreadable(error.into()))?;
        return Ok(read_capture(&name, file)?);
    }
    let text = InputFiles::default().read(path, MAX_TEXT).map_err(unreadable)?;
    Ok(read_csv(&name, &text)?)
}

/// Whether a file begins as captures do: in pcapng with a section header, in pcap with one of four numbers.
fn is_capture(path: &Path) -> io::Result<bool> {
    if !path.metadata()?.is_file() {
        return Ok(false);
    }
    let head = shortflow_files::head(path, 4)?;
    let Ok(head) = <[u8; 4]>::try_from(head) else { return Ok(false) };
    let number = u32::from_le_bytes(head);
    const PCAP: [u32; 2] = [0xa1b2_c3d4, 0xa1b2_3c4d];
    let is_pcap = PCAP.contains(&number) || PCAP.contains(&number.swap_bytes());
    Ok(number == 0x0a0d_0d0a || is_pcap)
}
