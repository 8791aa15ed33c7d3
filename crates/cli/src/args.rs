//! The command line: what `--help`, shell completions and man pages are made from.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;
use shortflow_run::TcpInfoTimes;
use shortflow_scenario::MOST_REPLICAS;
use shortflow_units::{Bytes, Duration};

use crate::advise_args;
use crate::agent_args;
use crate::console_args;
use crate::deploy_args;
use crate::tune_args;

/// The version and, if it was built in a checkout, the commit.
const VERSION: &str = env!("SHORTFLOW_VERSION");

/// Find out what a policy for packets does to short transfers, before you deploy it.
///
/// A policy says what hosts and routers do to packets: mark, police, queue, drop. A scenario says
/// where: hosts, routers, links, and who sends what. Shortflow runs one over the other, packet by
/// packet, and tells you how long transfers take.
#[derive(Debug, Parser)]
#[command(name = "shortflow", version = VERSION, propagate_version = true, after_help = EXAMPLES)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Print only results, with their warnings, and errors: no progress, no notes, no names of files.
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    /// When to use colours; `auto` means on a terminal, unless NO_COLOR is set.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: ColorWhen,
}

const EXAMPLES: &str = "\
Begin with:
  shortflow init examples            # writes scenarios and policies into the folder examples
  cd examples
  shortflow compare scenarios/office.toml \\
      --policies policies/best-effort.toml,policies/fq-codel.toml,policies/short-first.toml

Exit codes: 0 done; 1 a check did not hold, or a program inside a host failed; 2 the input is wrong;
3 the machine lacks something, such as memory, room on the disk, or the speed that a rehearsal needs
to be trusted; 130 interrupted, and what was complete is kept.";

/// When to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorWhen {
    Auto,
    Always,
    Never,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Find the mistakes in policies and scenarios.
    ///
    /// Each mistake is shown with its line, what is allowed, and what was probably meant. Whether a
    /// file is a policy or a scenario is detected from its tables.
    Check(Check),
    /// Say which policy suits a network that is described in a few words, and what it gains and costs each use
    ///
    /// Writes a scenario that can be read and changed, searches among the shipped policies that a Linux machine can
    /// deploy, and answers on one screen. What is not given is asked for, on a terminal.
    #[command(after_help = advise_args::ADVISE)]
    Advise(advise_args::Advise),
    /// Run a scenario, and say how long transfers took.
    ///
    /// Every point of the scenario's sweep is run in several replicas, which differ only in their
    /// random numbers; so each figure has an interval. Ctrl-C ends the run and keeps the replicas that
    /// are complete.
    #[command(after_help = SIMULATE)]
    Simulate(Simulate),
    /// Work a scenario out by closed forms, in milliseconds: means, and what they rest on
    ///
    /// The table is that of `simulate`, with means only, and percentiles where a model has a distribution. Where
    /// there is no closed form, that is said of the workload or the size that it is of, and nothing is guessed; so is
    /// what lies outside a model's range.
    #[command(after_help = PREDICT)]
    Predict(Predict),
    /// Run a scenario over this machine's own TCP, in real time
    ///
    /// Hosts are network namespaces with the kernel's TCP, and what lies between them is the simulator's network, fed
    /// with their packets. Workloads have the same arrivals as in the simulation, and the table is the same. It takes as long as the
    /// scenario lasts, one replica after another, and needs Linux and the right to make network namespaces
    /// (root). Nothing outside the namespaces is touched, and nothing is left behind.
    #[command(after_help = REHEARSE)]
    Rehearse(Rehearse),
    /// Run a scenario under several policies, or by several engines, with the same arrivals under each.
    ///
    /// The first policy is the reference that the others are compared with. Differences are taken
    /// replica by replica, which makes them clearer than the figures themselves. The ranking puts
    /// first the policy whose worst-served workload is nearest to the best. With several engines each
    /// policy is run by each: tables say how far they agree, and whether they order the policies alike.
    #[command(after_help = COMPARE)]
    Compare(Compare),
    /// Search for the policy, and its settings, that serves a scenario best, and say how sure that is
    ///
    /// Candidates are ruled out by closed forms where there are some, then run with the same arrivals, and those that
    /// are behind or break a limit are dropped after few replicas. The winner is then measured again, with other
    /// seeds, beside the runner-up, best effort and FQ-CoDel, and written as a policy that can be deployed. The exit
    /// code is 1 where nothing keeps the limits.
    #[command(after_help = tune_args::TUNE)]
    Tune(tune_args::Tune),
    /// Write the example scenarios and policies into a folder, to start from.
    ///
    /// Files that are there already and have been changed are left alone: the command then writes
    /// nothing and names the first of them.
    Init(Init),
    /// Run a published study again, and say which of its claims hold.
    Reproduce(Reproduce),
    /// Let a device of this machine mark and queue its packets as a policy says.
    ///
    /// The policy's queues become classes and queues of the kernel's traffic control (tc), its markers and policers an
    /// eBPF program before them; what the kernel cannot do is refused by name. What was there before comes back with `undeploy`. However it is interrupted, packets flow,
    /// and the next command goes on from there.
    #[command(after_help = deploy_args::DEPLOY)]
    Deploy(deploy_args::Deploy),
    /// Put another policy, or the same with other keys, in the place of the one that is deployed.
    ///
    /// Where only settings differ they are changed in place; else new classes are built beside the old ones and take
    /// over in one step, and the old ones go when their last packet has left.
    #[command(after_help = deploy_args::DEPLOY)]
    Reload(deploy_args::Deploy),
    /// Say what is deployed where, and what each class has sent, dropped and marked.
    #[command(after_help = deploy_args::DEPLOY)]
    Status(deploy_args::Status),
    /// Take away what is deployed on a device; it is then as it was before.
    #[command(after_help = deploy_args::DEPLOY)]
    Undeploy(deploy_args::Undeploy),
    /// Say whether what is deployed works: whether code points survive, classes are told apart, short transfers gain.
    ///
    /// Probes and transfers go from this machine through the device to another, where `shortflow verify --listen` runs,
    /// beside long flows that fill the line for as long as that takes. With --on-off one queue takes the policy's place in
    /// turns, which everybody behind the device notices. The exit code is 1 where something does not hold.
    #[command(after_help = deploy_args::VERIFY)]
    Verify(deploy_args::Verify),
    /// Say whether this machine has what `deploy` needs, and what a policy needs.
    Doctor(deploy_args::Doctor),
    /// Bring policies from one repository to many machines, and keep them there
    ///
    /// A repository is a folder with `fleet.toml`, which names machines and the policies that their devices get, and
    /// these policies. Everything in it is checked as a whole, on whatever machine; each machine runs an agent that keeps
    /// its devices as the repository says.
    #[command(after_help = agent_args::AGENT)]
    Agent(agent_args::Agent),
    /// Show a simulated run on the live console, in the browser, as if it happened now
    ///
    /// What the folder says was run is simulated again, which comes out the same, and its time passes while you look: delay
    /// beside throughput, classes, drops, flows. Given the folder of a comparison one goes from one policy to another and
    /// back: what is shown is what would have come of the same arrivals under the other policy from the start. No network
    /// and no rights are needed.
    #[command(after_help = console_args::REPLAY)]
    Replay(console_args::Replay),
    /// Make the report and its figures again from folders of results.
    ///
    /// Given one folder, the report in it is written again. Given several, they come onto one page,
    /// and the first is the reference that the others are compared with.
    Report(Report),
    /// Say what a marker or a queue does, and which keys it has.
    ///
    /// Congestion controls of TCP and models of loss are explained too. Without a name, all markers
    /// and queues are listed.
    Explain(Explain),
    /// Print the JSON Schema of a file format, for your editor.
    Schema(Schema),
    /// Measure how fast the simulator is on this machine.
    ///
    /// A: 20 long TCP flows over 100 Mbit/s. B: 400 over 1 Gbit/s. S: short transfers over RED.
    /// D: a DiffServ domain with TSW2CM. H: 100 long TCP flows with SACK over 1 Gbit/s RED. One
    /// thread each.
    Bench(Bench),
    /// Print completions for a shell.
    #[command(after_help = COMPLETIONS)]
    Completions(Completions),
    /// Print the man page, or write one for each command into a folder.
    Man(Man),
}

const SIMULATE: &str = "\
Examples:
  shortflow simulate scenarios/contract.toml
  shortflow simulate scenarios/contract.toml --policy policies/best-effort.toml
  shortflow simulate scenarios/contract.toml --bind 'core=west->east'
  shortflow simulate scenarios/contract.toml --set parameters.alpha=0.6 --set duration='300 s'
  shortflow simulate scenarios/contract.toml --json | jq '.runs[0].points[0].summary'
  shortflow simulate scenarios/contract.toml --replicas 1 --trace shop.pcapng --trace-at shop";

const PREDICT: &str = "\
Examples:
  shortflow predict scenarios/voice-and-web.toml
  shortflow predict scenarios/ring.toml --policy policies/fq-codel.toml --json
  shortflow compare scenarios/voice-and-web.toml --engines simulate,predict";

const REHEARSE: &str = "\
Examples:
  sudo shortflow rehearse scenarios/contract.toml --replicas 1 --set duration='30 s'
  sudo shortflow rehearse scenarios/contract.toml --policy policies/best-effort.toml
  sudo shortflow rehearse scenarios/contract.toml --replicas 1 --set duration='30 s' \\
      --trace line.pcapng --trace-at 'east->west' --trace-snap '96 B'
  sudo shortflow rehearse scenarios/contract.toml --with visitors 'ping -c 5 shop' --until-done
  sudo shortflow rehearse scenarios/contract.toml --until-done \\
      --with shop 'iperf3 -s' --with visitors 'iperf3 -c shop -R -t 10'
  sudo shortflow rehearse scenarios/office.toml --replicas 1 --console \\
      --policies policies/best-effort.toml,policies/fq-codel.toml
  sudo shortflow rehearse scenarios/office.toml --shell 'disk[0]' \\
      --policies policies/best-effort.toml,policies/fq-codel.toml";

const COMPARE: &str = "\
Examples:
  shortflow compare scenarios/office.toml \\
      --policies policies/best-effort.toml,policies/fq-codel.toml,policies/short-first.toml
  shortflow compare scenarios/office.toml --brief --policies \"$(echo policies/*.toml | tr ' ' ,)\"
  sudo shortflow compare scenarios/contract.toml --engines simulate,rehearse --set duration='60 s'";

const COMPLETIONS: &str = "\
Examples:
  shortflow completions bash > ~/.local/share/bash-completion/completions/shortflow
  shortflow completions fish > ~/.config/fish/completions/shortflow.fish";

/// `check`.
#[derive(Debug, Args)]
pub(crate) struct Check {
    /// Policies and scenarios; `-` is standard input, in which paths are relative to the working
    /// folder.
    #[arg(required = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
    /// Change a key first, as `simulate` does: of the scenarios, or of policies as `policy.KEY`; may
    /// be repeated.
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_and_value)]
    pub(crate) set: Vec<(String, String)>,
    /// Check the scenarios with this binding too, as in `simulate`: `core=east->west`.
    #[arg(long, value_name = "ROLE=PLACE")]
    pub(crate) bind: Vec<String>,
    /// Check the scenarios with this policy instead of the one that they name.
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) policy: Option<PathBuf>,
    /// Refuse a run that needs more memory than this, as in `4 GB` or `500 MB`; by default what the
    /// machine has.
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<Bytes>,
    /// Print one JSON object instead.
    #[arg(long)]
    pub(crate) json: bool,
}

/// What is run under one policy: `rehearse`, and `simulate` with more.
#[derive(Debug, Args)]
pub(crate) struct RunOne {
    /// The scenario.
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) scenario: PathBuf,
    /// Use this policy instead of the one that the scenario names.
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) policy: Option<PathBuf>,
    /// How to run it.
    #[command(flatten)]
    pub(crate) options: RunOptions,
}

/// `simulate`.
#[derive(Debug, Args)]
pub(crate) struct Simulate {
    /// What to run.
    #[command(flatten)]
    pub(crate) run: RunOne,
    /// What to trace.
    #[command(flatten)]
    pub(crate) trace: TraceOptions,
}

/// `predict`.
#[derive(Debug, Args)]
pub(crate) struct Predict {
    /// What to work out.
    #[command(flatten)]
    pub(crate) run: RunOne,
}

/// `rehearse`.
#[derive(Debug, Args)]
pub(crate) struct Rehearse {
    /// What to run.
    #[command(flatten)]
    pub(crate) run: RunOne,
    /// What to trace.
    #[command(flatten)]
    pub(crate) trace: TraceOptions,
    /// Let the workloads speak IPv6, over packets of the same sizes; prefixes in policies must be of IPv6 then.
    #[arg(long)]
    pub(crate) ipv6: bool,
    /// How packets come from the hosts and go to them: `tun`, `packet` (AF_PACKET), or `xdp` (AF_XDP).
    /// What is measured is the same; how late and how fast packets are is not.
    #[arg(long, value_name = "KIND", value_enum, default_value_t, hide_possible_values = true)]
    pub(crate) ports: Ports,
    /// Store no more than the first SIZE of each packet, as in `96 B`; by default all of it, which
    /// makes the trace as large as the traffic.
    #[arg(long, value_name = "SIZE", requires = "trace", value_parser = snap)]
    pub(crate) trace_snap: Option<u32>,
    /// Write into `tcp-info-*.csv`, beside the transfers, how senders stand as their kernels tell it:
    /// windows, round trips, retransmissions. So often as WHEN says, as in `10 ms`, and at the end of each
    /// transfer; `end` is there only.
    #[arg(long, value_name = "WHEN", value_parser = tcp_info_times)]
    pub(crate) tcp_info: Option<TcpInfoTimes>,
    /// Run a program of your own inside a host while the scenario's traffic runs, as in
    /// `--with client "curl http://server/"`. May be repeated: programs are started in this order, each
    /// when the one before waits for others at a port or has ended, or after two seconds. Those that still run at the
    /// end are interrupted. One that fails makes the exit code 1.
    #[arg(long, num_args = 2, value_names = ["HOST", "CMD"], action = ArgAction::Append)]
    pub(crate) with: Vec<String>,
    /// End when the program that was given last has ended, however long the scenario lasts: its traffic
    /// goes on until then. Nothing is measured.
    #[arg(long, requires = "with", conflicts_with_all = OF_MEASURING)]
    pub(crate) until_done: bool,
    /// Open a shell inside a host while the scenario's traffic runs, until the shell ends. The last row of
    /// the terminal says how the network stands. Ctrl-] and then n goes to the next of several policies,
    /// Ctrl-] q ends it. Nothing is measured.
    #[arg(long, value_name = "HOST", conflicts_with_all = OF_MEASURING)]
    #[arg(conflicts_with_all = ["until_done", "live"])]
    pub(crate) shell: Option<String>,
    /// Say in a line on the terminal how the network stands: what waits, what is lost, how long packets take
    /// from host to host. The keys n and q go to the next of several policies, and end the run.
    #[arg(long)]
    pub(crate) live: bool,
    /// Show it on the live console, in the browser, while it runs, and switch between --policies from there.
    /// `--console=ADDRESS:PORT` shows it elsewhere than at 127.0.0.1:9856; port 0 is one that is free.
    #[arg(long, value_name = "ADDRESS:PORT", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = console_args::CONSOLE, conflicts_with = "trace")]
    pub(crate) console: Option<SocketAddr>,
    #[command(flatten)]
    pub(crate) console_token: console_args::TokenFile,
    /// Policies to go through with the key n, separated by commas; the first is the one to begin with.
    #[arg(long, value_name = "FILE,FILE…", value_delimiter = ',', conflicts_with = "policy")]
    #[arg(value_hint = ValueHint::FilePath, value_parser = policy_file())]
    pub(crate) policies: Vec<PathBuf>,
}

/// How packets come from hosts and go to them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Ports {
    #[default]
    Tun,
    Packet,
    Xdp,
}

/// What has no meaning where nothing is measured.
const OF_MEASURING: [&str; 11] = [
    "out",
    "force",
    "json",
    "brief",
    "replicas",
    "transfers",
    "no_transfers",
    "trace",
    "trace_at",
    "trace_snap",
    "tcp_info",
];

/// Where packets are captured, and where to.
#[derive(Debug, Args)]
pub(crate) struct TraceOptions {
    /// Write the packets into this file (pcapng), for Wireshark and tcptrace. The run must have one
    /// point and one replica.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) trace: Option<PathBuf>,
    /// Where to trace: a host, a group of hosts, or a port, as in `r1->r2`; may be repeated. By
    /// default the hosts that send data: the servers of transfers, the senders of all else.
    #[arg(long, value_name = "PLACE", requires = "trace")]
    pub(crate) trace_at: Vec<String>,
}

/// `compare`.
#[derive(Debug, Args)]
pub(crate) struct Compare {
    /// The scenario.
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) scenario: PathBuf,
    /// The policies, separated by commas; the first is the reference. With several engines one is enough,
    /// and without this it is the scenario's own.
    #[arg(long, short, required_unless_present = "engines", value_name = "FILE,FILE…")]
    #[arg(value_delimiter = ',', value_hint = ValueHint::FilePath, value_parser = policy_file())]
    pub(crate) policies: Vec<PathBuf>,
    /// By which engines each policy is run, separated by commas, with the same arrivals.
    #[arg(long, short, value_name = "ENGINE,ENGINE…", value_delimiter = ',')]
    #[arg(default_value = "simulate")]
    pub(crate) engines: Vec<EngineName>,
    /// How to run it.
    #[command(flatten)]
    pub(crate) options: RunOptions,
}

/// What runs a scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EngineName {
    /// In simulated time.
    Simulate,
    /// By closed forms, means only.
    Predict,
    /// Over this machine's own TCP, in real time; needs what `rehearse` needs.
    Rehearse,
}

/// How to run a scenario.
#[derive(Debug, Args)]
pub(crate) struct RunOptions {
    /// Change a key of the scenario, or of its policy as `policy.KEY`; may be repeated. A sweep over
    /// the key is left out.
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_and_value)]
    pub(crate) set: Vec<(String, String)>,
    /// Bind a role of the policy: `core=east->west` for packets that go out from `east` to `west`,
    /// `edge=east<-shop` for those that come in from `shop`. A node may be a group, a slice, or several
    /// names separated by commas. May be repeated; it replaces the scenario's own binding of a port.
    #[arg(long, value_name = "ROLE=PLACE")]
    pub(crate) bind: Vec<String>,
    /// The seed of all random numbers. A simulation with the same seed gives the same results, bit for bit; a
    /// rehearsal has the same arrivals and sizes, and the kernel's own timing.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    pub(crate) seed: Option<u64>,
    /// How many replicas of each point, 1 to 10000; more replicas give narrower intervals.
    #[arg(long, value_name = "N", value_parser = replicas)]
    pub(crate) replicas: Option<u32>,
    /// How many replicas are simulated at once; one per core by default. Results do not depend on it. Rehearsals go
    /// one after the other.
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) jobs: Option<u16>,
    /// Refuse a run that needs more memory than this, as in `4 GB` or `500 MB`; by default what the
    /// machine has.
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<Bytes>,
    /// The folder for results and report; by default `results/NAME`, with `-compared` or `-rehearsed`
    /// behind it for those commands.
    #[arg(long, short, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    /// Use the folder even if it holds files that no run wrote; those files are kept.
    #[arg(long)]
    pub(crate) force: bool,
    /// Write a file with every single transfer for each replica; this is the default.
    #[arg(long, overrides_with = "no_transfers")]
    pub(crate) transfers: bool,
    /// Write no files with every single transfer; in long runs they are large.
    #[arg(long, overrides_with = "transfers")]
    pub(crate) no_transfers: bool,
    /// Print one JSON object instead of tables.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print no tables; of a comparison print only the ranking, one line for each policy. The report
    /// has the tables.
    #[arg(long, conflicts_with = "json")]
    pub(crate) brief: bool,
}

pub(crate) fn key_and_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => {
            Ok((key.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err("write KEY=VALUE, as in `duration=300 s`".to_owned()),
    }
}

/// The least of a packet that is of use: up to its ports, whatever the version of IP.
const LEAST_SNAP: u32 = 64;

/// How much is stored of a packet.
fn snap(text: &str) -> Result<u32, String> {
    let size = text.parse::<Bytes>().map_err(|error| error.to_string())?;
    let size = u32::try_from(size.0).ok().filter(|size| *size >= LEAST_SNAP);
    size.ok_or_else(|| format!("a packet's part must have {LEAST_SNAP} B to 4 GB"))
}

/// When one looks how senders stand.
fn tcp_info_times(text: &str) -> Result<TcpInfoTimes, String> {
    if text == "end" {
        return Ok(TcpInfoTimes::Ends);
    }
    let allowed = "write `end`, or a time of 1 ms or more, as in `10 ms`";
    let interval = text.parse::<Duration>().map_err(|error| format!("{error}; {allowed}"))?;
    match interval >= Duration::from_millis(1) {
        true => Ok(TcpInfoTimes::Every(interval)),
        false => Err(allowed.to_owned()),
    }
}

/// The number of replicas, with the range that scenarios have too.
fn replicas(text: &str) -> Result<u32, String> {
    let number = text.parse::<u32>().ok().filter(|number| (1..=MOST_REPLICAS).contains(number));
    number.ok_or_else(|| format!("replicas must be 1 to {MOST_REPLICAS}"))
}

/// A policy's path among several that commas part.
fn policy_file() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().try_map(|text| match text.is_empty() {
        true => Err("a name is empty: remove the comma that parts it from the others"),
        false => Ok(PathBuf::from(text)),
    })
}

/// `init`.
#[derive(Debug, Args)]
pub(crate) struct Init {
    /// The folder; it is made if it is not there.
    #[arg(value_name = "DIR", default_value = ".", value_hint = ValueHint::DirPath)]
    pub(crate) folder: PathBuf,
}

/// `reproduce`.
#[derive(Debug, Args)]
pub(crate) struct Reproduce {
    /// The study: `cm05`, `harp05`, `lhl03`, `mtk99` or `nt02`, which are built in; a folder with a
    /// study.toml and a claims.toml, such as `papers/cm05`; or `all`: the committed ledgers of all
    /// built-in studies, which takes no time, or with --renew, --quick or --calibrate each of them.
    pub(crate) study: String,
    /// With `all`: run every study again, which takes hours. It may be interrupted, and goes on where
    /// it stopped.
    #[arg(long)]
    pub(crate) renew: bool,
    /// Run the grid of what the paper leaves open, and find the reading that fits what it reports of
    /// its set-up.
    #[arg(long, conflicts_with_all = ["quick", "renew"])]
    pub(crate) calibrate: bool,
    /// Run a short form, which takes minutes: fewer points and fewer replicas, so wider intervals.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Rehearse what the study says, over this machine's own TCP, in real time (needs root): a column
    /// beside the study's own numbers, without a vote.
    #[arg(long, conflicts_with_all = ["quick", "renew", "calibrate", "jobs"])]
    pub(crate) rehearse: bool,
    /// Compute the formulas of the paper that the study claims something of, and simulate what they are held
    /// against.
    #[arg(long, conflicts_with_all = ["quick", "renew", "calibrate", "rehearse"])]
    pub(crate) models: bool,
    /// The folder for results and report; `results/STUDY` by default, `results/quick/STUDY` with
    /// --quick. Points that are complete there are not run again.
    #[arg(long, short, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    /// How many replicas at once; one per core by default. Results do not depend on it.
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) jobs: Option<u16>,
    /// Print the ledger as one JSON object instead.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `report`.
#[derive(Debug, Args)]
pub(crate) struct Report {
    /// Folders of results, of `simulate` or `compare`.
    #[arg(required = true, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) folders: Vec<PathBuf>,
    /// Where to put the report; the folder itself when there is one, else `results/report`.
    #[arg(long, short, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    /// Use the folder even if it holds files that no run wrote, which are kept, or another run, whose
    /// report is replaced.
    #[arg(long)]
    pub(crate) force: bool,
}

/// `schema`.
#[derive(Debug, Args)]
pub(crate) struct Schema {
    /// Of which format.
    pub(crate) format: Format,
}

/// A file format.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Format {
    /// What nodes do to packets.
    Policy,
    /// Topology, workloads, and which role is played where.
    Scenario,
}

/// `bench`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Bench {
    /// What else is measured than the simulator.
    #[command(subcommand)]
    pub(crate) other: Option<OtherBench>,
    /// Which pieces of work to measure; all by default.
    #[arg(value_name = "WORK", ignore_case = true)]
    pub(crate) works: Vec<Work>,
    /// Print one JSON object instead.
    #[arg(long)]
    pub(crate) json: bool,
}

/// What is measured besides the simulator.
#[derive(Debug, Subcommand)]
pub(crate) enum OtherBench {
    /// Measure how fast the router of rehearsals forwards packets, beside the kernel (needs root)
    ///
    /// A sender sends more datagrams than can be forwarded, a receiver counts them, and between them is
    /// the kernel with ip_forward, or the router with a plain FIFO, marking by the state of TCP (in builds with eBPF),
    /// FQ-CoDel, a Fair Marker, or strict priority, over lines that never limit. All ways are measured in turn, in several rounds, each
    /// between two measurements of the plain FIFO. Hosts are network namespaces; nothing outside them is touched.
    Router(BenchRouter),
    /// Measure what the eBPF program that marks takes for a packet (needs root and a build with eBPF)
    ///
    /// The kernel runs the program on packets by hand (BPF_PROG_TEST_RUN), as `deploy` would bring it to a device: beside one
    /// that does nothing, with each kind of meter, with tables of several sizes, and in floods of new flows and of flows that
    /// meet in one bucket. Nothing is sent.
    Ebpf(BenchEbpf),
}

/// `bench ebpf`.
#[derive(Debug, Args)]
pub(crate) struct BenchEbpf {
    /// A tenth of the packets or less, and floods that just overflow the table: some seconds, for a first look.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Print one JSON object instead.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `bench router`.
#[derive(Debug, Args)]
pub(crate) struct BenchRouter {
    /// How often everything is measured.
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) rounds: u32,
    /// How long everything is measured each time.
    #[arg(long, default_value = "0.5 s")]
    pub(crate) time: shortflow_units::Duration,
    /// Print one JSON object instead.
    #[arg(long)]
    pub(crate) json: bool,
}

/// A piece of work by which speed is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "UPPER")]
pub(crate) enum Work {
    /// 20 long TCP flows over 100 Mbit/s.
    A,
    /// 400 long TCP flows over 1 Gbit/s.
    B,
    /// Short transfers over RED.
    S,
    /// A DiffServ domain with TSW2CM.
    D,
    /// 100 long TCP flows with SACK over 1 Gbit/s RED, with an access link on both sides.
    H,
    /// The same without access links.
    H1,
}

/// `completions`.
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// For which shell.
    pub(crate) shell: Shell,
}

/// `man`.
#[derive(Debug, Args)]
pub(crate) struct Man {
    /// Write one page for each command into this folder.
    #[arg(long, short, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
}

/// `explain`.
#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// The name, such as `red` or `dctcp`, or a path to it, such as `queue.red`.
    pub(crate) scheme: Option<String>,
    /// Print it as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
