//! Where a crate is: in `crates/LAYER/NAME`, or in `crates/NAME` if its layer has no other.

/// What a folder of a crate may hold, so that a path shows where the crate ends.
const PARTS: [&str; 7] =
    ["src", "tests", "examples", "programs", "build", "Cargo.toml", "build.rs"];

/// A path in a crate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place<'a> {
    /// The crate's folder, such as `crates/node/tcp`.
    pub(crate) folder: &'a str,
    /// The folder of its layer below `crates`, such as `node`. A crate of its own folder is its own layer.
    pub(crate) layer: &'a str,
    /// The crate's name: its folder's.
    pub(crate) name: &'a str,
    /// The path inside the crate.
    pub(crate) inside: &'a str,
}

/// The crate of a file, or `None` if the path is in none.
pub(crate) fn place(path: &str) -> Option<Place<'_>> {
    let below = path.strip_prefix("crates/")?;
    let parts: Vec<&str> = below.split('/').collect();
    let depth = parts.iter().position(|part| is_part(part))?;
    let (layer, name) = match parts[..depth] {
        [name] => (name, name),
        [layer, name] => (layer, name),
        _ => return None,
    };
    let inside: usize = parts[..depth].iter().map(|part| part.len() + 1).sum();
    let folder = &path[.."crates/".len() + inside - 1];
    Some(Place { folder, layer, name, inside: &below[inside..] })
}

/// Whether a name in a crate's folder is one of a crate's parts, and not a crate's own.
pub(crate) fn is_part(name: &str) -> bool {
    PARTS.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_belongs_to_the_crate_whose_folder_it_is_in() {
        let found = |path| place(path).map(|it| (it.folder, it.layer, it.name, it.inside));
        assert_eq!(
            found("crates/node/tcp/src/rtt.rs"),
            Some(("crates/node/tcp", "node", "tcp", "src/rtt.rs"))
        );
        assert_eq!(
            found("crates/cli/tests/it/main.rs"),
            Some(("crates/cli", "cli", "cli", "tests/it/main.rs"))
        );
        assert_eq!(found("crates/node/README.md"), None);
        assert_eq!(found("xtask/src/main.rs"), None);
    }
}
