//! Where `agent run` reads its repository.

use std::path::Path;

use shortflow_agent::{Folder, Source};

use crate::agent_args::Run;
use crate::failure::Failure;

/// The source that is meant: a directory where a URL is given, else a folder.
pub(crate) fn source(args: &Run) -> Result<Box<dyn Source>, Failure> {
    if args.source.contains("://") {
        return directory(args);
    }
    if let Some(option) = args.directory.given().first() {
        let what = format!(
            "{option} is for a directory, and {} is a folder\nname one: --source ldaps://…",
            args.source
        );
        return Err(Failure::Input(what));
    }
    let folder = Folder::new(Path::new(&args.source));
    let folder = folder.map_err(|error| {
        Failure::Machine(format!("changes of files cannot be watched: {error}"))
    })?;
    Ok(Box::new(folder))
}

#[cfg(not(feature = "ldap"))]
fn directory(_: &Run) -> Result<Box<dyn Source>, Failure> {
    let what =
        "this build leaves out LDAP directories\nbuild it with the feature `ldap`: make build";
    Err(Failure::Machine(what.to_owned()))
}

#[cfg(feature = "ldap")]
fn directory(args: &Run) -> Result<Box<dyn Source>, Failure> {
    use shortflow_agent::{Bind, Directory, DirectoryOptions};

    let given = &args.directory;
    let Some(base) = &given.base else {
        let what = "the entry below which the repository is must be named\ngive it: --base ou=shortflow,dc=example,dc=org";
        return Err(Failure::Input(what.to_owned()));
    };
    let bind = match (&given.bind_dn, &given.password_file) {
        (Some(dn), Some(file)) => {
            let read = std::fs::read_to_string(file);
            let read = read.map_err(|error| {
                Failure::Input(format!("cannot read {}: {error}", file.display()))
            })?;
            let password = read.lines().next().unwrap_or_default().to_owned();
            if password.is_empty() {
                // RFC 4513, §5.1.2: a name with an empty password is nobody, and looks like somebody.
                let what =
                    format!("{} has no password in its first line\nwrite it there", file.display());
                return Err(Failure::Input(what));
            }
            Bind::Simple { dn: dn.clone(), password }
        }
        _ if given.external => Bind::External,
        _ => Bind::Anonymous,
    };
    let identity = given.certificate.as_deref().zip(given.key.as_deref());
    let options = DirectoryOptions::new(
        &args.source,
        base,
        bind,
        given.starttls,
        given.ca.as_deref(),
        identity,
    );
    let options = options.map_err(|error| Failure::Input(error.to_string()))?;
    let directory = Directory::new(options);
    let directory = directory
        .map_err(|error| Failure::Machine(format!("cannot wait for a network: {error}")))?;
    Ok(Box::new(directory))
}
