//! The command line of the policy agent.

#[cfg(live)]
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};
#[cfg(live)]
use shortflow_agent::DEFAULT_SOCKET as SOCKET;

use crate::console_args::{CONSOLE, TokenFile};

pub(crate) const AGENT: &str = "\
Examples:
  shortflow agent plan fleet                       # what each machine would get
  shortflow agent plan fleet --from fleet-before   # what would change
  sudo shortflow agent run --source /srv/fleet
  sudo shortflow agent run --source ldaps://ldap.example.org \\
      --base ou=shortflow,dc=example,dc=org
  sudo shortflow agent run --source https://policy.example.org/fleet.ldif
  sudo shortflow agent status
  sudo shortflow agent rollback
  sudo shortflow agent resume
  sudo shortflow agent run --source /srv/fleet --console \\
      --console-token-file /etc/shortflow/console-token
  shortflow agent export fleet --base ou=shortflow,dc=example,dc=org > all.ldif
  shortflow agent import all.ldif --into fleet";

const PLAN: &str = "\
Examples:
  shortflow agent plan fleet                       # the folder with fleet.toml
  shortflow agent plan fleet --from fleet-before   # what would change
  shortflow agent plan fleet --machine gw1 --json";

/// The default control socket of an agent.
#[cfg(not(live))]
const SOCKET: &str = "/run/shortflow/agent.sock";
/// Where it keeps its state.
const STATE: &str = "/var/lib/shortflow";

/// `agent`.
#[derive(Debug, Args)]
pub(crate) struct Agent {
    /// What to do.
    #[command(subcommand)]
    pub(crate) what: What,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum What {
    /// Show how the machines of a fleet would change, and change nothing.
    ///
    /// Reads and checks the repository and compares it with an earlier one (--from), or with machines that have
    /// nothing. It contacts no machine, so it runs anywhere.
    #[command(after_help = PLAN)]
    Plan(Plan),
    /// Keep the devices of this machine as the repository says, until SIGTERM or Ctrl-C.
    ///
    /// Deployments stay when the agent exits; routers (--inline) end. A repository with an error is refused as a whole, and the last good
    /// version stays. Each event is a line on standard error and in the log.
    Run(Box<Run>),
    /// Show the version that this machine's agent has applied, and the state of its devices.
    Status(Status),
    /// Make the agent read its source now; it also does so by itself.
    Reload(Socket),
    /// Make the agent return to an earlier version, until the repository changes.
    Rollback(Rollback),
    /// Make the agent apply a version that it holds back: rolled back, found worse, or waiting.
    ///
    /// The version is applied without a trial. On a machine that goes first, the machines that wait for its verdict
    /// get this decision.
    Resume(Socket),
    /// Print the state of the agent and its devices as metrics, in the Prometheus text format.
    Metrics(Socket),
    /// Show the agent's events as they happen, until Ctrl-C.
    Watch(Watch),
    /// Show one or more agents on the live console in the browser, until Ctrl-C
    ///
    /// Each agent is queried over its control socket; forward the sockets of other machines with `ssh -L`.
    Console(Overview),
    /// Show what an agent has done: time, action and user.
    Log(Log),
    /// Print a repository as LDAP entries (LDIF), for `ldapadd`.
    ///
    /// Files are kept byte for byte. The directory needs the schema: docs/ldap/shortflow.schema or .ldif.
    Export(Export),
    /// Write the repository from LDAP entries (LDIF) into a new folder.
    Import(Import),
    /// Read a source for the agent that started this process, and exit with it.
    #[cfg(live)]
    #[command(hide = true)]
    Read(Box<Read>),
}

/// `agent plan`.
#[derive(Debug, Args)]
pub(crate) struct Plan {
    /// The folder of the repository, with `fleet.toml` in it.
    #[arg(value_hint = ValueHint::DirPath)]
    pub(crate) folder: PathBuf,
    /// The repository to compare with: what the machines have now.
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub(crate) from: Option<PathBuf>,
    /// Show this machine only.
    #[arg(long, value_name = "NAME")]
    pub(crate) machine: Option<String>,
    /// Print one JSON object instead.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `agent run`.
#[derive(Debug, Args)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) from: From,
    /// The folder for versions and the log; created if it does not exist.
    #[arg(long, value_name = "FOLDER", default_value = STATE, value_hint = ValueHint::DirPath)]
    pub(crate) state: PathBuf,
    /// The control socket.
    #[arg(long, value_name = "PATH", default_value = SOCKET, value_hint = ValueHint::FilePath)]
    pub(crate) socket: PathBuf,
    /// Allow members of this group to use the control socket; default: only the user that the agent runs as.
    #[arg(long, value_name = "GROUP")]
    pub(crate) socket_group: Option<String>,
    /// Serve Prometheus metrics at this loopback address, such as 127.0.0.1:9855; default: off.
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) metrics: Option<SocketAddr>,
    /// Show the live console in the browser, at 127.0.0.1:9856 or at `--console=ADDRESS:PORT`. At addresses that
    /// other machines can reach it requires the token.
    #[arg(long, value_name = "ADDRESS:PORT", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = CONSOLE)]
    pub(crate) console: Option<SocketAddr>,
    #[command(flatten)]
    pub(crate) console_token: TokenFile,
    /// Route packets between two devices where the repository says so (`between`). The agent then keeps three more
    /// capabilities: CAP_NET_RAW, CAP_IPC_LOCK and CAP_SYS_NICE.
    #[arg(long)]
    pub(crate) inline: bool,
    /// The name of this machine in the fleet; default: its host name up to the first dot.
    #[arg(long, value_name = "NAME")]
    pub(crate) machine: Option<String>,
}

/// Where a repository is.
#[derive(Debug, Args)]
pub(crate) struct From {
    /// The repository: a folder with `fleet.toml`; the URL of an LDAP directory (ldaps://, ldap://, ldapi://); or
    /// the https:// URL of a file that `agent export` wrote.
    #[arg(long, value_name = "FOLDER|URL", value_hint = ValueHint::DirPath)]
    pub(crate) source: String,
    #[command(flatten)]
    pub(crate) directory: Directory,
    #[command(flatten)]
    pub(crate) server: Server,
}

/// `agent read`.
#[cfg(live)]
#[derive(Debug, Args)]
pub(crate) struct Read {
    #[command(flatten)]
    pub(crate) from: From,
}

/// What an LDAP directory needs.
#[derive(Debug, Args)]
#[command(next_help_heading = "For an LDAP directory")]
pub(crate) struct Directory {
    /// Base DN: the entry that contains the repository.
    #[arg(long, value_name = "DN")]
    pub(crate) base: Option<String>,
    /// Bind DN, with --password-file; default: anonymous.
    #[arg(long, value_name = "DN", requires = "password_file")]
    pub(crate) bind_dn: Option<String>,
    /// A file with the password in its first line.
    #[arg(long, value_name = "FILE", requires = "bind_dn", value_hint = ValueHint::FilePath)]
    pub(crate) password_file: Option<PathBuf>,
    /// Authenticate by the connection (SASL EXTERNAL): the user of ldapi://, or the client certificate.
    #[arg(long, conflicts_with = "bind_dn")]
    pub(crate) external: bool,
    /// Upgrade an ldap:// connection to TLS first (StartTLS).
    #[arg(long)]
    pub(crate) starttls: bool,
    /// Allow ldap:// to another machine without TLS; any host on the path can then change the policies.
    #[arg(long, conflicts_with = "starttls")]
    pub(crate) allow_plaintext: bool,
}

/// What servers need, of LDAP and of HTTPS.
#[derive(Debug, Args)]
#[command(next_help_heading = "For LDAP over TLS, and for HTTPS")]
pub(crate) struct Server {
    /// Trust these CAs (PEM); default: those that this machine trusts.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) ca: Option<PathBuf>,
    /// Client certificate (PEM).
    #[arg(long, value_name = "FILE", requires = "key", value_hint = ValueHint::FilePath)]
    pub(crate) certificate: Option<PathBuf>,
    /// Key of the client certificate (PEM).
    #[arg(long, value_name = "FILE", requires = "certificate", value_hint = ValueHint::FilePath)]
    pub(crate) key: Option<PathBuf>,
    /// A file with a bearer token in its first line, for HTTPS; it is read again for each request.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) token_file: Option<PathBuf>,
}

/// An option that was given, and its value where it has one.
#[cfg(live)]
pub(crate) type Given = (&'static str, Option<OsString>);

#[cfg(live)]
impl Directory {
    /// The options that were given.
    pub(crate) fn given(&self) -> Vec<Given> {
        let text = |value: &Option<String>| value.as_ref().map(|value| Some(value.into()));
        let flag = |is_given: bool| is_given.then_some(None);
        let all = [
            ("--base", text(&self.base)),
            ("--bind-dn", text(&self.bind_dn)),
            ("--password-file", path(&self.password_file)),
            ("--external", flag(self.external)),
            ("--starttls", flag(self.starttls)),
            ("--allow-plaintext", flag(self.allow_plaintext)),
        ];
        all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}

#[cfg(live)]
impl Server {
    /// The options that were given.
    pub(crate) fn given(&self) -> Vec<Given> {
        let all = [
            ("--ca", path(&self.ca)),
            ("--certificate", path(&self.certificate)),
            ("--key", path(&self.key)),
            ("--token-file", path(&self.token_file)),
        ];
        all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}

#[cfg(live)]
fn path(value: &Option<PathBuf>) -> Option<Option<OsString>> {
    value.as_ref().map(|value| Some(value.into()))
}

/// Where an agent is asked.
#[derive(Debug, Args)]
pub(crate) struct Socket {
    /// The agent's control socket.
    #[arg(long, value_name = "PATH", default_value = SOCKET, value_hint = ValueHint::FilePath)]
    pub(crate) socket: PathBuf,
}

/// `agent status`.
#[derive(Debug, Args)]
pub(crate) struct Status {
    #[command(flatten)]
    pub(crate) at: Socket,
    /// Print one JSON object instead, with the counters of each class.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `agent rollback`.
#[derive(Debug, Args)]
pub(crate) struct Rollback {
    #[command(flatten)]
    pub(crate) at: Socket,
    /// The version; default: the one before the current one.
    #[arg(long, value_name = "NUMBER", value_parser = version)]
    pub(crate) to: Option<u64>,
}

/// The number of a version.
fn version(text: &str) -> Result<u64, String> {
    let number = text.parse::<u64>().ok().filter(|number| *number > 0);
    number.ok_or_else(|| {
        "a version is a number from 1, such as 3; `shortflow agent log` lists the versions"
            .to_owned()
    })
}

/// `agent watch`.
#[derive(Debug, Args)]
pub(crate) struct Watch {
    #[command(flatten)]
    pub(crate) at: Socket,
    /// Print a JSON object in each line instead.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `agent console`.
#[derive(Debug, Args)]
pub(crate) struct Overview {
    /// The control socket of an agent; may be repeated.
    #[arg(long, value_name = "PATH", default_value = SOCKET, value_hint = ValueHint::FilePath)]
    pub(crate) socket: Vec<PathBuf>,
    /// Address and port of the page; port 0 selects a free one.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = CONSOLE)]
    pub(crate) console: SocketAddr,
    #[command(flatten)]
    pub(crate) token: TokenFile,
}

/// `agent log`.
#[derive(Debug, Args)]
pub(crate) struct Log {
    /// The folder with the agent's state.
    #[arg(long, value_name = "FOLDER", default_value = STATE, value_hint = ValueHint::DirPath)]
    pub(crate) state: PathBuf,
    /// Print a JSON object in each line instead.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `agent export`.
#[derive(Debug, Args)]
pub(crate) struct Export {
    /// The folder of the repository, with `fleet.toml` in it.
    #[arg(value_hint = ValueHint::DirPath)]
    pub(crate) folder: PathBuf,
    /// Base DN for the entries, such as `ou=shortflow,dc=example,dc=org`.
    #[arg(long, value_name = "DN")]
    pub(crate) base: String,
}

/// `agent import`.
#[derive(Debug, Args)]
pub(crate) struct Import {
    /// LDAP entries as `ldapsearch -LLL` prints them; `-` for standard input.
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// The folder to write.
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub(crate) into: PathBuf,
}
