//! The command line, from which `--help`, shell completions and man pages are generated.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::LazyLock;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;
use shortflow_scenario::MAX_REPLICAS;
use shortflow_units::Bytes;

use crate::advise_args;
use crate::agent_args;
use crate::bench_args;
use crate::console_args;
use crate::deploy_args;
pub(crate) use crate::how_args::{HowToRun, TcpOptions};
use crate::inline_args;
use crate::plans_args;
use crate::replica_args;
use crate::sweep_args;
use crate::tune_args;

/// Keep interactive traffic fast on congested links: choose, test and deploy policies for packets.
///
/// A policy says what hosts and routers do to packets: mark, police, queue, drop. A scenario describes hosts,
/// routers, links and workloads. `predict` computes a scenario with closed forms, `simulate` runs it packet by
/// packet, `rehearse` runs it over the kernel's TCP, and `deploy` applies a policy to a network device. `advise`
/// and `tune` choose a policy; `agent` brings policies to many machines.
#[derive(Debug, Parser)]
#[command(name = "shortflow", version = shortflow_version::VERSION, propagate_version = true)]
#[command(long_version = LONG_VERSION.as_str())]
#[command(after_help = EXAMPLES)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Print only results, warnings and errors: no progress, notes or file names.
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    /// When to use colours; `auto`: on a terminal, unless NO_COLOR is set.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: ColorWhen,
}

/// The version, and the features of this build.
static LONG_VERSION: LazyLock<String> = LazyLock::new(|| {
    format!("{}\nfeatures: {}", shortflow_version::VERSION, env!("SHORTFLOW_FEATURES"))
});

const EXAMPLES: &str = "\
Start with:
  shortflow init examples            # writes scenarios and policies into the folder examples
  cd examples
  shortflow compare scenarios/office.toml \\
      --policies policies/best-effort.toml,policies/fq-codel.toml,policies/short-first.toml

Exit codes: 0 done; 1 a check did not hold, a program inside a host failed, or a point of a sweep
failed (the other points are kept); 2 the input is invalid; 3 the machine lacks something, such as
memory, disk space, or the speed that a reliable rehearsal needs; 130 interrupted (what was complete
is kept).";

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
    /// Check policies, scenarios and plans for errors.
    ///
    /// Each error is shown with its line, the allowed values, and a suggestion. The tables in a file decide whether
    /// it is a policy or a scenario.
    Check(Check),
    /// Recommend a policy for a network described in a few words, with gains and costs for each use
    ///
    /// Writes a scenario that you can read and edit, searches among the shipped policies that Linux can deploy, and
    /// answers on one screen. On a terminal it asks for missing values.
    #[command(after_help = advise_args::ADVISE)]
    Advise(advise_args::Advise),
    /// Simulate a scenario packet by packet, and show how long transfers take.
    ///
    /// Each point of the scenario's sweep runs in several replicas with different random numbers, so each value has
    /// a confidence interval. Ctrl-C ends the run and keeps complete replicas.
    #[command(after_help = SIMULATE)]
    Simulate(Simulate),
    /// Compute a scenario with closed forms: means and the models behind them; takes milliseconds
    ///
    /// The table is that of `simulate`, with means only, and percentiles where a model has a distribution.
    /// Workloads and sizes without a closed form, or outside a model's range, are reported as such; nothing is
    /// guessed.
    #[command(after_help = PREDICT)]
    Predict(Predict),
    /// Run a scenario over this machine's own TCP, in real time
    ///
    /// Hosts are network namespaces with the kernel's TCP; the simulator's network carries their packets. Arrivals
    /// and tables are those of the simulation. A rehearsal lasts as long as the scenario, one replica after
    /// another. It needs Linux and the right to create network namespaces (root). It changes nothing outside the
    /// namespaces and leaves nothing behind.
    #[command(after_help = REHEARSE)]
    Rehearse(Rehearse),
    /// Run a scenario under several policies or engines, with the same arrivals.
    ///
    /// The first policy is the reference for the others. Differences are taken replica by replica, which makes them
    /// more precise than the values themselves. The ranking puts first the policy whose worst-served workload is
    /// nearest to the best. With several engines, tables show how well they agree and whether they rank the
    /// policies alike.
    #[command(after_help = COMPARE)]
    Compare(Compare),
    /// Search for the policy and settings that serve a scenario best, with the uncertainty of the result
    ///
    /// Closed forms rule out candidates where they apply. The others run with the same arrivals; those that fall
    /// behind or break a limit are dropped after a few replicas. The winner is measured again with other seeds,
    /// compared with the runner-up, best effort and FQ-CoDel, and written as a deployable policy. The exit code is
    /// 1 if nothing keeps the limits.
    #[command(after_help = tune_args::TUNE)]
    Tune(tune_args::Tune),
    /// Write the example scenarios and policies into a folder.
    ///
    /// Files that you have changed are kept: the command then writes nothing and names the first of them.
    Init(Init),
    /// Import plans of customers, predict what they get, and write scenarios with them.
    ///
    /// `check`, `deploy` and `reload` take plans, too.
    #[command(after_help = plans_args::PLANS)]
    Plans(plans_args::Plans),
    /// Reproduce a published study, and show which of its claims hold.
    Reproduce(Reproduce),
    /// Apply a policy to a network device of this machine.
    ///
    /// The policy's queues become classes and queues of the kernel's traffic control (tc); its markers and policers
    /// become an eBPF program in front of them. Features that the kernel lacks are refused by name. `undeploy`
    /// restores the previous state. After an interruption packets still flow, and the next command continues from
    /// there.
    #[command(after_help = deploy_args::DEPLOY)]
    Deploy(deploy_args::Deploy),
    /// Replace the deployed policy by another, or change its keys.
    ///
    /// Settings are changed in place where that suffices. Otherwise new classes are built next to the old ones and
    /// take over in one step; the old ones are removed when their last packet has left.
    #[command(after_help = deploy_args::RELOAD)]
    Reload(deploy_args::Reload),
    /// Show what is deployed, and what each class has sent, dropped and marked.
    #[command(after_help = deploy_args::STATUS)]
    Status(deploy_args::Status),
    /// Remove the policy from a device and restore the previous state.
    #[command(after_help = deploy_args::UNDEPLOY)]
    Undeploy(deploy_args::Undeploy),
    /// Route packets between two devices of this machine through a policy, in user space.
    ///
    /// Runs every scheme of the simulator on any kernel with AF_XDP. Both devices are ports of a Linux bridge, and
    /// IP packets between them pass through the policy. When the router ends, for whatever reason, the bridge forwards
    /// all packets. Frames to this machine, to many, and without IP always take the bridge.
    #[command(after_help = inline_args::INLINE)]
    Inline(inline_args::Inline),
    /// Check that a deployment works: code points survive, classes are separated, short transfers gain.
    ///
    /// This machine sends probes and transfers through the device to another machine that runs `shortflow verify
    /// --listen`, while long flows fill the line. With --on-off the policy alternates with a single queue, which
    /// all traffic through the device notices. The exit code is 1 if a check fails.
    #[command(after_help = deploy_args::VERIFY)]
    Verify(deploy_args::Verify),
    /// Check that this machine has what `deploy` and a policy need.
    Doctor(deploy_args::Doctor),
    /// Bring policies from one repository to many machines, and keep them there
    ///
    /// A repository is a folder with policies and `fleet.toml`, which assigns policies to the devices of machines.
    /// It is checked as a whole, on any machine. Each machine runs an agent that keeps its devices as the
    /// repository says.
    #[command(after_help = agent_args::AGENT)]
    Agent(agent_args::Agent),
    /// Show a simulated run on the live console in the browser, as if it happened now
    ///
    /// The run is simulated again, with the same results, while you watch delay, throughput, classes, drops and
    /// flows. In a comparison you can switch between policies: the page shows the same arrivals under the other
    /// policy from the start. No network and no rights are needed.
    #[command(after_help = console_args::REPLAY)]
    Replay(console_args::Replay),
    /// Create the report and its figures again from folders of results.
    ///
    /// With one folder, its report is written again. With several, they share one page, and the first is the
    /// reference.
    Report(Report),
    /// Run again what a folder of results holds: same files, settings, seed and replicas.
    ///
    /// The folder keeps all that was read, so the files may have changed or be gone. Simulations give the same results, bit
    /// for bit, by the same version of the program.
    #[command(after_help = replica_args::RERUN)]
    Rerun(replica_args::Rerun),
    /// Run a scenario at the rows of a design, on the cores of this machine or on a cluster.
    ///
    /// It calls the Python package shortflow (`pip install '.[dask]'` in a checkout), by `python3` or the Python that the
    /// variable SHORTFLOW_PYTHON names. Results are Parquet files in one folder, with the same bits wherever they are
    /// computed; a worker that dies loses nothing. `shortflow.open(DIR)` reads them in Python.
    #[command(after_help = sweep_args::SWEEP)]
    Sweep(sweep_args::Sweep),
    /// Join runs of different replicas of one scenario.
    ///
    /// The parts come from `--shard` or `--first-replica`, on one machine or on several. The result has the same bits as one
    /// run of all replicas.
    #[command(after_help = replica_args::MERGE)]
    Merge(replica_args::Merge),
    /// Explain a marker or a queue, and list its keys.
    ///
    /// TCP congestion controls and loss models are explained too. Without a name, all markers and queues are
    /// listed.
    Explain(Explain),
    /// Print the JSON Schema of a file format, for your editor.
    Schema(Schema),
    /// Measure the speed of the simulator on this machine.
    ///
    /// A: 20 long TCP flows over 100 Mbit/s. B: 400 over 1 Gbit/s. S: short transfers over RED. D: a DiffServ
    /// domain with TSW2CM. H: 100 long TCP flows with SACK over 1 Gbit/s RED. One thread each.
    Bench(bench_args::Bench),
    /// Print shell completions.
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
  shortflow simulate scenarios/contract.toml --replicas 64 --shard 1/8 --out part-1
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
    /// Policies and scenarios; `-` is standard input, with paths relative to the working folder.
    #[arg(required = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
    /// Override a key, as in `simulate`: of the scenarios, or of policies as `policy.KEY`; repeatable.
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_and_value)]
    pub(crate) set: Vec<(String, String)>,
    /// Also check the scenarios with this binding, as in `simulate`: `core=east->west`.
    #[arg(long, value_name = "ROLE=PLACE")]
    pub(crate) bind: Vec<String>,
    /// Check the scenarios with this policy instead of their own: a file, or the name of a shipped policy.
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) policy: Option<PathBuf>,
    /// Refuse a run that needs more memory than this, such as `4 GB` or `500 MB`; default: the machine's memory.
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
    /// Use this policy instead of the scenario's own: a file, or the name of a shipped policy such as `fq-codel`.
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
    /// Which replicas run.
    #[command(flatten)]
    pub(crate) replicas: replica_args::ReplicaOptions,
    /// What to trace.
    #[command(flatten)]
    pub(crate) trace: TraceOptions,
    /// What is recorded of TCP.
    #[command(flatten)]
    pub(crate) tcp: TcpOptions,
}

/// `predict`.
#[derive(Debug, Args)]
pub(crate) struct Predict {
    /// What to compute.
    #[command(flatten)]
    pub(crate) run: RunOne,
}

/// `rehearse`.
#[derive(Debug, Args)]
pub(crate) struct Rehearse {
    /// What to run.
    #[command(flatten)]
    pub(crate) run: RunOne,
    /// Which replicas run.
    #[command(flatten)]
    pub(crate) replicas: replica_args::ReplicaOptions,
    /// What to trace.
    #[command(flatten)]
    pub(crate) trace: TraceOptions,
    /// Use IPv6, with packets of the same sizes; prefixes in policies must then be IPv6.
    #[arg(long)]
    pub(crate) ipv6: bool,
    /// How packets enter and leave the hosts: `tun`, `packet` (AF_PACKET), or `xdp` (AF_XDP). The measures are the
    /// same; lateness and speed differ.
    #[arg(long, value_name = "KIND", value_enum, default_value_t, hide_possible_values = true)]
    pub(crate) ports: Ports,
    /// Store only the first SIZE of each packet, such as `96 B`; default: all of it, which makes the trace as large
    /// as the traffic.
    #[arg(long, value_name = "SIZE", requires = "trace", value_parser = snap)]
    pub(crate) trace_snap: Option<u32>,
    /// What is recorded of TCP.
    #[command(flatten)]
    pub(crate) tcp: TcpOptions,
    /// Run your own program inside a host while the scenario's traffic runs, as in `--with client "curl
    /// http://server/"`. Repeatable: programs start in this order, each when the one before listens on a port or
    /// has exited, or after two seconds. Programs that still run at the end are interrupted. If one fails, the exit
    /// code is 1.
    #[arg(long, num_args = 2, value_names = ["HOST", "CMD"], action = ArgAction::Append)]
    #[arg(conflicts_with_all = ["resume", "precision"])]
    pub(crate) with: Vec<String>,
    /// End when the last of these programs has exited, however long the scenario is; its traffic continues until
    /// then. Nothing is measured.
    #[arg(long, requires = "with", conflicts_with_all = OF_MEASURING)]
    pub(crate) until_done: bool,
    /// Open a shell inside a host while the scenario's traffic runs, until the shell exits. The last row of the
    /// terminal shows the state of the network. Ctrl-] n switches to the next policy, Ctrl-] q quits. Nothing is
    /// measured.
    #[arg(long, value_name = "HOST", conflicts_with_all = OF_MEASURING)]
    #[arg(conflicts_with_all = ["until_done", "live"])]
    pub(crate) shell: Option<String>,
    /// Show the state of the network in a line on the terminal: queue, loss, and delay from host to host. Key n
    /// switches to the next policy, key q ends the run.
    #[arg(long)]
    pub(crate) live: bool,
    /// Show the run on the live console in the browser, and switch between --policies there. The address is
    /// 127.0.0.1:9856 or `--console=ADDRESS:PORT`; port 0 selects a free one.
    #[arg(long, value_name = "ADDRESS:PORT", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = console_args::CONSOLE, conflicts_with = "trace")]
    pub(crate) console: Option<SocketAddr>,
    #[command(flatten)]
    pub(crate) console_token: console_args::TokenFile,
    /// Policies to switch between, separated by commas: files, or names of shipped policies. The run begins with the
    /// first.
    #[arg(long, value_name = "FILE,FILE…", value_delimiter = ',', conflicts_with = "policy")]
    #[arg(value_hint = ValueHint::FilePath, value_parser = policy_file(), allow_hyphen_values = true)]
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
const OF_MEASURING: [&str; 15] = [
    "out",
    "force",
    "json",
    "brief",
    "replicas",
    "first_replica",
    "shard",
    "resume",
    "precision",
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
    /// Write the packets to this file (pcapng), for Wireshark and tcptrace. The run must have one point and one
    /// replica.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) trace: Option<PathBuf>,
    /// Where to capture: a host, a group of hosts, or a port, such as `r1->r2`; repeatable. Default: the hosts that
    /// send data (the servers of transfers, the senders of all else).
    #[arg(long, value_name = "PLACE", requires = "trace")]
    pub(crate) trace_at: Vec<String>,
}

/// `compare`.
#[derive(Debug, Args)]
pub(crate) struct Compare {
    /// The scenario.
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) scenario: PathBuf,
    /// The policies, separated by commas: files, or names of shipped policies. The first is the reference. With several
    /// engines one is enough; default: the scenario's own.
    #[arg(long, short, required_unless_present = "engines", value_name = "FILE,FILE…")]
    #[arg(value_delimiter = ',', value_hint = ValueHint::FilePath, value_parser = policy_file())]
    #[arg(allow_hyphen_values = true)]
    pub(crate) policies: Vec<PathBuf>,
    /// The engines that run each policy, separated by commas, with the same arrivals.
    #[arg(long, short, value_name = "ENGINE,ENGINE…", value_delimiter = ',')]
    #[arg(default_value = "simulate")]
    pub(crate) engines: Vec<EngineName>,
    /// How to run it.
    #[command(flatten)]
    pub(crate) options: RunOptions,
    /// Which replicas run.
    #[command(flatten)]
    pub(crate) replicas: replica_args::ReplicaOptions,
    /// What is recorded of TCP.
    #[command(flatten)]
    pub(crate) tcp: TcpOptions,
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
    /// Override a key of the scenario, or of its policy as `policy.KEY`; repeatable. A sweep over the key is
    /// omitted.
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_and_value)]
    pub(crate) set: Vec<(String, String)>,
    /// Run a point for each row of this CSV file; its first line has the keys, as in --set. Sweeps over these keys are omitted.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) design: Option<PathBuf>,
    /// Bind a role of the policy: `core=east->west` for packets that leave `east` for `west`, `edge=east<-shop` for
    /// packets that arrive from `shop`. A node may be a group, a slice, or several names separated by commas.
    /// Repeatable; it replaces the scenario's binding of a port.
    #[arg(long, value_name = "ROLE=PLACE")]
    pub(crate) bind: Vec<String>,
    /// The seed of all random numbers. Simulations with the same seed give the same results, bit for bit;
    /// rehearsals have the same arrivals and sizes, and the kernel's own timing.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    pub(crate) seed: Option<u64>,
    /// Replicas of each point, 1 to 10000; more replicas give narrower intervals.
    #[arg(long, value_name = "N", value_parser = replicas)]
    pub(crate) replicas: Option<u32>,
    /// How it runs, and where results go.
    #[command(flatten)]
    pub(crate) how: HowToRun,
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
const MIN_SNAP: u32 = 64;

/// How much is stored of a packet.
fn snap(text: &str) -> Result<u32, String> {
    let size = text.parse::<Bytes>().map_err(|error| error.to_string())?;
    let size = u32::try_from(size.0).ok().filter(|size| *size >= MIN_SNAP);
    size.ok_or_else(|| format!("the stored part of a packet must be {MIN_SNAP} B to 4 GB"))
}

/// The number of replicas, with the range that scenarios have too.
pub(crate) fn replicas(text: &str) -> Result<u32, String> {
    let number = text.parse::<u32>().ok().filter(|number| (1..=MAX_REPLICAS).contains(number));
    number.ok_or_else(|| format!("replicas must be 1 to {MAX_REPLICAS}"))
}

/// A policy's path in a list that commas separate. `-` is standard input, so a list may begin with a hyphen; another
/// name with a hyphen is rather an option whose list is missing.
pub(crate) fn policy_file() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().try_map(|text| match text.as_encoded_bytes() {
        [] => Err("a name is empty: remove the extra comma"),
        [b'-', _, ..] => Err("a policy is missing; for a file of this name, write ./ before it"),
        _ => Ok(PathBuf::from(text)),
    })
}

/// `init`.
#[derive(Debug, Args)]
pub(crate) struct Init {
    /// The folder; created if it does not exist.
    #[arg(value_name = "DIR", default_value = ".", value_hint = ValueHint::DirPath)]
    pub(crate) folder: PathBuf,
}

/// `reproduce`.
#[derive(Debug, Args)]
pub(crate) struct Reproduce {
    /// The study: `cm05`, `harp05`, `lhl03`, `mtk99` or `nt02`, which are built in; a folder with study.toml and
    /// claims.toml, such as `papers/cm05`; or `all`. Alone, `all` prints the committed ledgers of all built-in
    /// studies; with --renew, --quick or --calibrate it runs each of them.
    pub(crate) study: String,
    /// With `all`: run every study again, which takes hours. After an interruption it continues where it stopped.
    #[arg(long)]
    pub(crate) renew: bool,
    /// Run all readings of what the paper leaves open, and find the one that fits its reported set-up.
    #[arg(long, conflicts_with_all = ["quick", "renew"])]
    pub(crate) calibrate: bool,
    /// Run a short form in minutes: fewer points and replicas, so wider intervals.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Rehearse the parts that the study selects over this machine's own TCP, in real time (needs root). The values
    /// form a column next to the study's numbers and do not count for its claims.
    #[arg(long, conflicts_with_all = ["quick", "renew", "calibrate", "jobs"])]
    pub(crate) rehearse: bool,
    /// Compute the paper's formulas that the study has claims about, and simulate the values to compare with.
    #[arg(long, conflicts_with_all = ["quick", "renew", "calibrate", "rehearse"])]
    pub(crate) models: bool,
    /// Judge only these claims, such as `cm05.3,cm05.9`. The others stay as in the committed ledger; figures and
    /// tables are not made.
    #[arg(long, value_name = "ID", value_delimiter = ',', conflicts_with_all = ["quick", "renew", "calibrate", "rehearse", "models"])]
    pub(crate) claims: Vec<String>,
    /// Judge no claim. Try the changes that the claims name for checks that fail in the committed ledger, where it does
    /// not have them.
    #[arg(long, conflicts_with_all = ["claims", "quick", "renew", "calibrate", "rehearse", "models"])]
    pub(crate) changes: bool,
    /// The folder for results and report; default: `results/STUDY`, or `results/quick/STUDY` with --quick. Points
    /// that are complete there are not run again.
    #[arg(long, short, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    /// Replicas to run in parallel; default: one per core. Results do not depend on it.
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) jobs: Option<u16>,
    /// Print the ledger as one JSON object instead.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `report`.
#[derive(Debug, Args)]
pub(crate) struct Report {
    /// Folders of results from `simulate` or `compare`.
    #[arg(required = true, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) folders: Vec<PathBuf>,
    /// The folder for the report; default: the folder itself if there is one, else `results/report`.
    #[arg(long, short, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    /// Use the folder even if it contains files that no run wrote, which are kept, or another run, whose report is
    /// replaced.
    #[arg(long)]
    pub(crate) force: bool,
}

/// `schema`.
#[derive(Debug, Args)]
pub(crate) struct Schema {
    /// The file format.
    pub(crate) format: Format,
}

/// A file format.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Format {
    /// What nodes do to packets.
    Policy,
    /// Topology, workloads, and the nodes that play roles.
    Scenario,
    /// Customers, their plans and their sites.
    Plans,
}

/// `completions`.
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell.
    pub(crate) shell: Shell,
}

/// `man`.
#[derive(Debug, Args)]
pub(crate) struct Man {
    /// Write one page per command into this folder.
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
