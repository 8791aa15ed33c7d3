//! The source of `agent run`.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use shortflow_agent::{FLEET, Folder, Source, Subprocess, confine, serve};
use shortflow_run::shell_word;
use shortflow_text::reason;

use crate::agent_args::{From, Given};
use crate::failure::Failure;

#[cfg(feature = "network")]
use network::server;

/// The source that is meant, read by this program in a process of its own: a server may send what harms who reads it, and a
/// folder may be one of another machine that does not answer. What was given is looked at here first.
pub(crate) fn source(from: &From, stop: &'static AtomicBool) -> Result<Box<dyn Source>, Failure> {
    let name = here(from)?.name();
    refuse_file(&from.source)?;
    let mut command = Command::new("/proc/self/exe");
    command.args(["agent", "read"]).arg(format!("--source={}", from.source));
    for (option, value) in [from.directory.given(), from.server.given()].concat() {
        command.arg(option).args(value);
    }
    // The reader's answers reach users, so it inherits no environment but the paths of certificates.
    command.env_clear().envs(std::env::vars_os().filter(|(name, _)| is_for_certificates(name)));
    // Ctrl-C is for the agent, with which it ends.
    command.process_group(0);
    Ok(Box::new(Subprocess::new(name, command, stop)))
}

/// Refuses a file in place of a folder. A folder that does not exist may appear later.
fn refuse_file(source: &str) -> Result<(), Failure> {
    if source.contains("://") {
        return Ok(());
    }
    let path = PathBuf::from(source);
    let (found, answer) = mpsc::channel();
    let is_file = move || path.metadata().is_ok_and(|found| !found.is_dir());
    // One of another machine that does not answer is left to the reader, which is stopped when it hangs.
    thread::spawn(move || found.send(is_file()));
    if !answer.recv_timeout(MAX_LOOK).unwrap_or(false) {
        return Ok(());
    }
    let path = Path::new(source);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let help = match path.file_name().is_some_and(|name| name == FLEET) {
        true => {
            let folder = shell_word(folder.unwrap_or(Path::new(".")).as_os_str());
            format!("give its folder: --source {folder}")
        }
        false => format!("give a folder with a {FLEET}, or a URL such as https://… or ldaps://…"),
    };
    Err(Failure::Input(format!(
        "--source {source} is a file, but a source is a folder or a server\n{help}"
    )))
}

/// How long a file system may take to say what a path is.
const MAX_LOOK: Duration = Duration::from_secs(2);

/// Whether an environment variable selects the trusted CAs.
fn is_for_certificates(name: &OsStr) -> bool {
    name == "SSL_CERT_FILE" || name == "SSL_CERT_DIR"
}

/// `shortflow agent read`.
pub(crate) fn read(from: &From) -> Result<(), Failure> {
    let failed = |error| Failure::Machine(format!("cannot read the source for the agent: {error}"));
    confine().map_err(failed)?;
    let mut source = here(from)?;
    serve(source.as_mut(), std::io::stdin().lock(), std::io::stdout().lock()).map_err(failed)
}

/// A server where a URL is given, else a folder; read by this process.
fn here(from: &From) -> Result<Box<dyn Source>, Failure> {
    if from.source.contains("://") {
        return server(from);
    }
    let given = [from.directory.given(), from.server.given()].concat();
    refuse(&given, &from.source, "a server", "ldaps://… or https://…")?;
    let folder = Folder::new(Path::new(&from.source));
    let folder = folder.map_err(|error| {
        Failure::Machine(format!("cannot watch files for changes: {}", reason(&error)))
    })?;
    Ok(Box::new(folder))
}

/// Refuses an option that has no effect on this source.
fn refuse(given: &[Given], source: &str, kind: &str, such: &str) -> Result<(), Failure> {
    match given.first() {
        None => Ok(()),
        Some((option, _)) => Err(Failure::Input(format!(
            "{option} requires {kind}, but --source is {source}\nuse a source such as --source {such}"
        ))),
    }
}

#[cfg(not(feature = "network"))]
fn server(_: &From) -> Result<Box<dyn Source>, Failure> {
    let what = "this build does not support servers as sources\nbuild it with the feature `network`: make build";
    Err(Failure::Machine(what.to_owned()))
}

#[cfg(feature = "network")]
mod network {
    use shortflow_agent::{
        Bind, Directory, DirectoryOptions, Https, HttpsError, HttpsOptions, OptionsError, Source,
        Transport,
    };

    use shortflow_text::{InputFiles, reason};

    use super::refuse;
    use crate::agent_args::From;
    use crate::failure::Failure;

    /// The most bytes of a file with a password.
    const MAX_SECRET: u64 = 64_000;

    /// A server.
    pub(super) fn server(from: &From) -> Result<Box<dyn Source>, Failure> {
        let (scheme, _) = from.source.split_once("://").unwrap_or_default();
        match scheme {
            "https" | "http" => Ok(Box::new(https(from)?)),
            "ldaps" | "ldap" | "ldapi" => Ok(Box::new(directory(from)?)),
            _ => Err(Failure::Input(format!(
                "invalid source URL `{}`\nuse https://, ldaps://, ldap:// or ldapi://",
                from.source
            ))),
        }
    }

    fn https(from: &From) -> Result<Https, Failure> {
        let given = &from.server;
        refuse(&from.directory.given(), &from.source, "a directory", "ldaps://…")?;
        let identity = given.certificate.as_deref().zip(given.key.as_deref());
        let (authorities, token) = (given.ca.as_deref(), given.token_file.as_deref());
        let options = HttpsOptions::new(&from.source, authorities, identity, token);
        let options = options.map_err(|error: HttpsError| Failure::Input(error.to_string()))?;
        Ok(Https::new(options))
    }

    fn directory(from: &From) -> Result<Directory, Failure> {
        let given = &from.directory;
        let mut tokens = from.server.given();
        tokens.retain(|(option, _)| *option == "--token-file");
        refuse(&tokens, &from.source, "a web server", "https://…")?;
        let Some(base) = &given.base else {
            let what = "the base DN of the LDAP directory is missing\ngive it: --base ou=shortflow,dc=example,dc=org";
            return Err(Failure::Input(what.to_owned()));
        };
        let server = &from.server;
        let identity = server.certificate.as_deref().zip(server.key.as_deref());
        let transport = match (given.starttls, given.allow_plaintext) {
            (true, _) => Transport::StartTls,
            (_, true) => Transport::Plaintext,
            _ => Transport::AsUrl,
        };
        let options = DirectoryOptions::new(
            &from.source,
            base,
            bind(from)?,
            transport,
            server.ca.as_deref(),
            identity,
        );
        let options = options.map_err(|error: OptionsError| Failure::Input(error.to_string()))?;
        Directory::new(options).map_err(|error| {
            Failure::Machine(format!("cannot wait for a network: {}", reason(&error)))
        })
    }

    fn bind(from: &From) -> Result<Bind, Failure> {
        let given = &from.directory;
        let (Some(dn), Some(file)) = (&given.bind_dn, &given.password_file) else {
            return Ok(if given.external { Bind::External } else { Bind::Anonymous });
        };
        let read = InputFiles::default().read(file, MAX_SECRET);
        let read = read.map_err(|error| {
            let why = reason(&error);
            Failure::Input(format!("cannot read the password in {}: {why}", file.display()))
        })?;
        let password = read.lines().next().unwrap_or_default().to_owned();
        if password.is_empty() {
            // RFC 4513, §5.1.2: a name with an empty password is nobody, and looks like somebody.
            let what =
                format!("no password in the first line of {}\nwrite it there", file.display());
            return Err(Failure::Input(what));
        }
        Ok(Bind::Simple { dn: dn.clone(), password })
    }
}
