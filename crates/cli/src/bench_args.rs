//! The arguments of `bench`.

use clap::{Args, Subcommand, ValueEnum};

/// `bench`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Bench {
    /// A benchmark of another part.
    #[command(subcommand)]
    pub(crate) other: Option<OtherBench>,
    /// The works to measure; default: all.
    #[arg(value_name = "WORK", ignore_case = true)]
    pub(crate) works: Vec<Work>,
    /// Print one JSON object instead.
    #[arg(long)]
    pub(crate) json: bool,
}

/// What is measured besides the simulator.
#[derive(Debug, Subcommand)]
pub(crate) enum OtherBench {
    /// Measure how fast the router of rehearsals forwards packets, compared with the kernel (needs root)
    ///
    /// A sender sends more datagrams than can be forwarded, and a receiver counts them. Between them is the kernel
    /// with ip_forward, or the router with a plain FIFO, marking by TCP state (in builds with eBPF), FQ-CoDel, a
    /// Fair Marker, or strict priority, over lines that never limit. All are measured in turn, in several rounds,
    /// each between two measurements of the plain FIFO. Hosts are network namespaces; nothing outside them changes.
    Router(BenchRouter),
    /// Measure how fast `inline` forwards packets, compared with a bare forwarder and the kernel (needs root and a
    /// build with eBPF)
    ///
    /// Datagrams of 64 and 1500 bytes are sent as fast as possible between two hosts by way of an AF_XDP loop without any
    /// element, and of the inline router with a FIFO, FQ-CoDel and a Fair Marker. Hosts are network namespaces; nothing
    /// outside them changes.
    Inline(BenchRouter),
    /// Measure the time that the eBPF marking program takes for a packet (needs root and a build with eBPF)
    ///
    /// The kernel runs the program with BPF_PROG_TEST_RUN, as `deploy` would load it. Cases: a program that does
    /// nothing, each kind of meter, tables of several sizes, and floods of new flows and of flows that share a
    /// bucket. Nothing is sent.
    Ebpf(BenchEbpf),
}

/// `bench ebpf`.
#[derive(Debug, Args)]
pub(crate) struct BenchEbpf {
    /// At most a tenth of the packets, and floods that just overflow the table; takes some seconds.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Print one JSON object instead.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `bench router` and `bench inline`.
#[derive(Debug, Args)]
pub(crate) struct BenchRouter {
    /// Number of rounds.
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) rounds: u32,
    /// Duration of each measurement.
    #[arg(long, default_value = "0.5 s")]
    pub(crate) time: shortflow_units::Duration,
    /// Measure only these ways, by the names in the table, separated by commas.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) ways: Vec<String>,
    /// Size of the datagrams, with headers; several sizes are separated by commas.
    #[arg(long, value_name = "BYTES", value_delimiter = ',', default_values_t = [64, 1500],
          value_parser = clap::value_parser!(u32).range(64..=1500))]
    pub(crate) sizes: Vec<u32>,
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
