//! The name of this machine in a fleet.

use shortflow_text::is_name;

/// The host name up to the first dot.
pub fn this_machine() -> String {
    let name = nix::unistd::gethostname().unwrap_or_default();
    name.to_string_lossy().split('.').next().unwrap_or_default().to_owned()
}

/// Whether a machine may have this name in a fleet.
pub fn is_machine(name: &str) -> bool {
    is_name(name)
}
