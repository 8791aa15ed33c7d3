//! The limit of open files: each host and each connection needs some.

use nix::errno::Errno;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use shortflow_run::Error;

/// As many as any scenario needs that can be rehearsed.
const MAX_OPEN_FILES: u64 = 65_536;

/// Lets the process open as many files as it may allow itself.
pub(crate) fn allow_many() {
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE)
        && soft < hard.min(MAX_OPEN_FILES)
    {
        // Where it is not allowed, what is opened too much is refused with what to do.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard.min(MAX_OPEN_FILES), hard);
    }
}

/// What the kernel refused, with what to do where that is known.
pub(crate) fn refused(errno: Errno) -> Error {
    let hint = match errno {
        Errno::EMFILE | Errno::ENFILE => {
            "\nraise the limit of open files with `ulimit -n 65536`, or use fewer hosts"
        }
        _ => "",
    };
    Error::Machine(format!(
        "the kernel refused a resource of the rehearsal: {}{hint}",
        errno.desc()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_too_many_open_files_it_is_told_what_to_do() {
        let message = refused(Errno::EMFILE).to_string();
        assert!(
            message.contains("Too many open files") && message.contains("ulimit -n"),
            "{message}"
        );
    }

    #[test]
    fn the_limit_is_as_high_as_it_may_be() {
        allow_many();
        let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
        assert!(soft >= hard.min(MAX_OPEN_FILES), "{soft} of {hard}");
    }
}
