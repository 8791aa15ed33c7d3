//! What to do where the system does not start a program.

use std::io::{Error, ErrorKind};

/// What to do where the system does not start a program, one of iproute2.
pub fn start_remedy(error: &Error) -> &'static str {
    const EMFILE: i32 = 24;
    const ENFILE: i32 = 23;
    match (error.kind(), error.raw_os_error()) {
        (ErrorKind::NotFound, _) => "install iproute2 (Debian: apt-get install iproute2)",
        (ErrorKind::PermissionDenied, _) => "make it executable for this user, or correct PATH",
        (_, Some(EMFILE)) => "raise the limit: ulimit -n 4096, or LimitNOFILE=4096 for a service",
        (_, Some(ENFILE)) => "raise the limit of the machine: sysctl fs.file-max=1000000",
        (ErrorKind::WouldBlock, _) => {
            "the limit of processes is reached: raise it (ulimit -u, or TasksMax= for a service)"
        }
        (ErrorKind::OutOfMemory, _) => {
            "end other programs, or raise the memory limit of the service"
        }
        _ => "start it again",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_missing_program_is_to_be_installed() {
        let remedy = |error: Error| start_remedy(&error);
        assert!(remedy(ErrorKind::NotFound.into()).starts_with("install iproute2"));
        for (number, expected) in [(24, "ulimit -n"), (23, "fs.file-max")] {
            let remedy = remedy(Error::from_raw_os_error(number));
            assert!(remedy.contains(expected), "{remedy}");
        }
        assert!(remedy(ErrorKind::WouldBlock.into()).contains("limit of processes"));
        assert!(remedy(ErrorKind::PermissionDenied.into()).contains("executable"));
    }
}
