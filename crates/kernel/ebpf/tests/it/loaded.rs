//! What the kernel has taken.

use shortflow_ebpf::Error;

/// A program; none, and a word on what is lacking, where there can be none; on CI there must.
pub(crate) fn loaded<P>(load: Result<P, Error>) -> Option<P> {
    match load {
        Ok(program) => Some(program),
        Err(
            lacking @ (Error::LeftOut(_)
            | Error::NotAllowed(_)
            | Error::NoEbpf(_)
            | Error::NoTypes(_)),
        ) if std::env::var_os("CI").is_none() => {
            eprintln!("skipped: needs eBPF: {lacking}");
            None
        }
        Err(lacking) => panic!("needs eBPF: {lacking}"),
    }
}
