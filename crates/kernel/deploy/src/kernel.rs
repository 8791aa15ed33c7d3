//! The kernel features from which queues are built.

use std::collections::BTreeMap;

/// A part of the kernel's traffic control.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The hierarchical token bucket: a line with classes.
    Htb,
    /// The classifier that runs programs.
    Bpf,
    /// A place for filters before the queues.
    Clsact,
    /// First in, first out, counted in packets.
    Pfifo,
    /// The same, counted in bytes.
    Bfifo,
    /// Strict priority over up to 16 queues.
    Prio,
    /// Deficit round robin.
    Drr,
    /// Up to 16 queues, served by strict priority or in turn.
    Ets,
    /// Random early detection.
    Red,
    /// RED with several levels.
    Gred,
    /// Proportional-integral controller enhanced.
    Pie,
    /// Queues for flows with CoDel on each.
    FqCodel,
    /// Queues for flows with PIE on each.
    FqPie,
    /// Common applications kept enhanced.
    Cake,
    /// CAKE over the queues of a device.
    CakeMq,
    /// A device whose queues hold packets that another one receives.
    Ifb,
    /// The action of filters that sends packets to another device.
    Mirred,
    /// The program that drops packets before they wait.
    Early,
    /// Queueing disciplines that are programs.
    BpfQdisc,
}

/// Every kind: its name for tc, the option of the kernel, the module, and what can be set on a trial.
pub const KINDS: [(Kind, &str, &str, &str, &str); 19] = [
    (Kind::Htb, "htb", "NET_SCH_HTB", "sch_htb", ""),
    (Kind::Bpf, "bpf", "NET_CLS_BPF", "cls_bpf", ""),
    (Kind::Clsact, "clsact", "NET_SCH_INGRESS", "sch_ingress", ""),
    (Kind::Pfifo, "pfifo", "NET_SCHED", "", ""),
    (Kind::Bfifo, "bfifo", "NET_SCHED", "", ""),
    (Kind::Prio, "prio", "NET_SCH_PRIO", "sch_prio", ""),
    (Kind::Drr, "drr", "NET_SCH_DRR", "sch_drr", ""),
    (Kind::Ets, "ets", "NET_SCH_ETS", "sch_ets", "bands 2"),
    (
        Kind::Red,
        "red",
        "NET_SCH_RED",
        "sch_red",
        "limit 100000 min 10000 max 30000 avpkt 1000 burst 20",
    ),
    (Kind::Gred, "gred", "NET_SCH_GRED", "sch_gred", "setup DPs 2 default 0"),
    (Kind::Pie, "pie", "NET_SCH_PIE", "sch_pie", ""),
    (Kind::FqCodel, "fq_codel", "NET_SCH_FQ_CODEL", "sch_fq_codel", ""),
    (Kind::FqPie, "fq_pie", "NET_SCH_FQ_PIE", "sch_fq_pie", ""),
    (Kind::Cake, "cake", "NET_SCH_CAKE", "sch_cake", ""),
    (Kind::CakeMq, "cake_mq", "NET_SCH_CAKE", "sch_cake", ""),
    (Kind::Ifb, "ifb", "IFB", "ifb", ""),
    (Kind::Mirred, "mirred", "NET_ACT_MIRRED", "act_mirred", ""),
    (Kind::Early, "early drops by eBPF", "BPF_SYSCALL", "", ""),
    (Kind::BpfQdisc, "BPF qdisc", "NET_SCH_BPF", "", ""),
];

impl Kind {
    /// The name that tc knows it by.
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// The option with which a kernel is built to have it, without CONFIG_.
    pub fn option(self) -> &'static str {
        self.row().2
    }

    /// The module that brings it; empty where it is part of the kernel itself.
    pub fn module(self) -> &'static str {
        self.row().3
    }

    /// The kernels that have it, where they are few.
    pub(crate) fn since(self) -> &'static str {
        if self == Kind::BpfQdisc { " (Linux 6.16 or newer)" } else { "" }
    }

    /// What can be set on a trial.
    pub(crate) fn settings(self) -> &'static str {
        self.row().4
    }

    fn row(self) -> &'static (Kind, &'static str, &'static str, &'static str, &'static str) {
        KINDS.iter().find(|row| row.0 == self).expect("every kind has a row")
    }
}

/// What is known of a kernel: which kinds it has, and which it lacks. Of the rest nothing is known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kernel(BTreeMap<Kind, bool>);

impl Kernel {
    /// A kernel of which so much is known.
    pub fn new(known: impl IntoIterator<Item = (Kind, bool)>) -> Kernel {
        Kernel(known.into_iter().collect())
    }

    /// A kernel that has everything.
    pub fn with_everything() -> Kernel {
        Kernel::new(KINDS.iter().map(|row| (row.0, true)))
    }

    /// Whether it has this; none when that is not known.
    pub fn has(&self, kind: Kind) -> Option<bool> {
        self.0.get(&kind).copied()
    }

    /// Whether it is known to lack this.
    pub fn lacks(&self, kind: Kind) -> bool {
        self.has(kind) == Some(false)
    }
}
