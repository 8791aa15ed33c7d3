//! Where cgroups of version 2 are mounted.

use std::io;
use std::path::PathBuf;

/// The mounts that this process sees.
pub(crate) const MOUNTS: &str = "/proc/self/mounts";
/// The folder of the root of all cgroups; `None` if no file system with cgroups of version 2 is mounted.
///
/// # Errors
/// When the mounts cannot be read.
pub(crate) fn root() -> io::Result<Option<PathBuf>> {
    Ok(root_of(&std::fs::read_to_string(MOUNTS)?))
}

fn root_of(mounts: &str) -> Option<PathBuf> {
    let mut fields = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let found = fields.find(|fields| fields.get(2) == Some(&"cgroup2"))?;
    Some(PathBuf::from(found[1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_is_where_the_second_version_is_mounted() {
        let mounts = "cgroup /sys/fs/cgroup/cpu cgroup rw 0 0\ncgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n";
        assert_eq!(root_of(mounts), Some(PathBuf::from("/sys/fs/cgroup/unified")));
        assert_eq!(root_of("tmpfs / tmpfs rw 0 0"), None);
    }
}
