//! Where `agent run` reads its repository.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use shortflow_agent::{Folder, Source};

use crate::agent_args::From;
use crate::failure::Failure;

#[cfg(feature = "ldap")]
use directory::apart;
#[cfg(feature = "ldap")]
pub(crate) use directory::read;

/// The source that is meant: a directory where a URL is given, else a folder.
pub(crate) fn source(from: &From, stop: &'static AtomicBool) -> Result<Box<dyn Source>, Failure> {
    if from.source.contains("://") {
        return apart(from, stop);
    }
    if let Some((option, _)) = from.directory.given().first() {
        let what = format!(
            "{option} is for a directory, and {} is a folder\nname one: --source ldaps://…",
            from.source
        );
        return Err(Failure::Input(what));
    }
    let folder = Folder::new(Path::new(&from.source));
    let folder = folder.map_err(|error| {
        Failure::Machine(format!("changes of files cannot be watched: {error}"))
    })?;
    Ok(Box::new(folder))
}

#[cfg(not(feature = "ldap"))]
fn apart(_: &From, _: &'static AtomicBool) -> Result<Box<dyn Source>, Failure> {
    let what =
        "this build leaves out LDAP directories\nbuild it with the feature `ldap`: make build";
    Err(Failure::Machine(what.to_owned()))
}

#[cfg(feature = "ldap")]
mod directory {
    use std::os::unix::process::CommandExt;
    use std::process::Command;
    use std::sync::atomic::AtomicBool;

    use shortflow_agent::{
        Apart, Bind, Directory, DirectoryOptions, OptionsError, Source, confine, serve,
    };

    use crate::agent_args::From;
    use crate::failure::Failure;

    /// A directory, read by this program in a process of its own. What was given is looked at here first.
    pub(crate) fn apart(
        from: &From,
        stop: &'static AtomicBool,
    ) -> Result<Box<dyn Source>, Failure> {
        let name = directory(from)?.name();
        let mut command = Command::new("/proc/self/exe");
        command.args(["agent", "read", "--source", &from.source]);
        for (option, value) in from.directory.given() {
            command.arg(option).args(value);
        }
        // Ctrl-C is for the agent, with which it ends.
        command.process_group(0);
        Ok(Box::new(Apart::new(name, command, stop)))
    }

    /// `shortflow agent read`.
    pub(crate) fn read(from: &From) -> Result<(), Failure> {
        let failed = |error| Failure::Machine(format!("cannot read for an agent: {error}"));
        confine().map_err(failed)?;
        let mut source = directory(from)?;
        serve(&mut source, std::io::stdin().lock(), std::io::stdout().lock()).map_err(failed)
    }

    fn directory(from: &From) -> Result<Directory, Failure> {
        let given = &from.directory;
        let Some(base) = &given.base else {
            let what = "the entry below which the repository is must be named\ngive it: --base ou=shortflow,dc=example,dc=org";
            return Err(Failure::Input(what.to_owned()));
        };
        let identity = given.certificate.as_deref().zip(given.key.as_deref());
        let authorities = given.ca.as_deref();
        let options = DirectoryOptions::new(
            &from.source,
            base,
            bind(from)?,
            given.starttls,
            authorities,
            identity,
        );
        let options = options.map_err(|error: OptionsError| Failure::Input(error.to_string()))?;
        Directory::new(options)
            .map_err(|error| Failure::Machine(format!("cannot wait for a network: {error}")))
    }

    fn bind(from: &From) -> Result<Bind, Failure> {
        let given = &from.directory;
        let (Some(dn), Some(file)) = (&given.bind_dn, &given.password_file) else {
            return Ok(if given.external { Bind::External } else { Bind::Anonymous });
        };
        let read = std::fs::read_to_string(file);
        let read = read
            .map_err(|error| Failure::Input(format!("cannot read {}: {error}", file.display())))?;
        let password = read.lines().next().unwrap_or_default().to_owned();
        if password.is_empty() {
            // RFC 4513, §5.1.2: a name with an empty password is nobody, and looks like somebody.
            let what =
                format!("{} has no password in its first line\nwrite it there", file.display());
            return Err(Failure::Input(what));
        }
        Ok(Bind::Simple { dn: dn.clone(), password })
    }
}
