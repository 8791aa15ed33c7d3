//! The status of a deployment.

use serde_json::{Value, json};
use shortflow_ebpf::edge::{EdgeBucket, EdgeCounter, EdgeFlow, EdgeTable, EdgeTimes};
use shortflow_text::columns;
use shortflow_units::LinkLayer;

use crate::deployed::{Deployed, quoted};
use crate::device::{Link, Links, indexes, link};
use crate::device_lock::DeviceLock;
use crate::earlier::EarlierFilters;
use crate::edge::{EdgeMemo, TcxBefore};
use crate::error::Error;
use crate::ingress::Received;
use crate::memo::{Memo, over};
use crate::observe::{Observed, Root};
use crate::owner::{GroupState, Labelled};
use crate::program;
use crate::queue::{Queue, QueueLevel};
use crate::queueing::QueueingSeen;
use crate::repair::Wrong;
use crate::socket_option;
use crate::tc::Tc;
use crate::times;

/// How a device stands.
#[derive(Debug, Clone)]
pub struct DeviceStatus {
    /// Its name.
    pub device: String,
    /// The ifb device through which the packets pass that it receives; `None` for those that it sends.
    pub ifb: Option<String>,
    /// Whether the device is gone whose received packets pass here: then `device` is the ifb device.
    pub is_orphan: bool,
    /// The deployed queues; `None` if there are none, or they are incomplete.
    pub memo: Option<Memo>,
    /// The deployed conditioning before the queues; `None` without one.
    pub edge: Option<EdgeStatus>,
    /// The deployment with its options; `None` if unknown.
    pub deployed: Option<Deployed>,
    /// What sends its packets.
    pub root: Root,
    /// Whether all that was begun is finished.
    pub is_whole: bool,
    /// Changes of the deployment by others, each as a sentence.
    pub damage: Vec<String>,
    /// Filters of other programs that run before ours and may keep packets from it.
    pub before: Vec<EarlierFilters>,
    /// Programs of others that see packets before ours does (tcx).
    pub tcx: Vec<TcxBefore>,
    /// Whether another command works on it now.
    pub is_busy: bool,
    /// The classes of queues, those served first before others.
    pub classes: Vec<ClassStatus>,
    /// Whether early drops are missing in the counters of `classes`, because the process may not read them.
    pub lacks_early_drops: bool,
    /// Packets of an earlier policy that still wait.
    pub left_over: u64,
}

/// What is done to packets before they wait.
#[derive(Debug, Clone)]
pub struct EdgeStatus {
    /// What is known of it.
    pub memo: EdgeMemo,
    /// Who owns the connections that have labels, and how the group of processes stands where it is one.
    pub labels: Vec<(Labelled, Option<GroupState>)>,
    /// Whether the socket option is there by which applications set thresholds; `None` where they may not, or if the process
    /// cannot look.
    pub has_option: Option<bool>,
    /// The counters of each class; `None` if the process may not read them.
    pub seen: Option<Vec<ClassSeen>>,
    /// How many packets the queues behind have sent since, where some class takes every packet.
    pub(crate) sent: Option<u64>,
}

/// What a class has seen before packets wait.
#[derive(Debug, Clone)]
pub struct ClassSeen {
    /// Green, yellow and red packets.
    pub colors: [EdgeCounter; 3],
    /// Its table.
    pub table: EdgeTable,
    /// The flows or hosts in it that have sent the most since it knows them, the first of all first.
    pub flows: Vec<EdgeFlow>,
    /// How long its connections took, in groups by what they have sent, where it knows flows.
    pub times: Option<[EdgeTimes; 4]>,
    /// Its buckets, where all its packets share them.
    pub buckets: Vec<EdgeBucket>,
}

/// Packets that the marking program has not seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PassedBy {
    pub(crate) sent: u64,
    pub(crate) missed: u64,
}

/// Reads the counters of classes at a device; `None` if it has none.
type Look = fn(&Link, usize) -> Result<Option<Vec<ClassSeen>>, shortflow_ebpf::Error>;

impl EdgeStatus {
    /// Without counters if the process may not read them.
    fn new(device: &str, memo: &EdgeMemo, look: Look) -> Result<EdgeStatus, Error> {
        let seen = match link(device).map(|link| look(&link, memo.classes.len())) {
            Ok(Err(error @ shortflow_ebpf::Error::TooManyFiles(_))) => return Err(error.into()),
            Ok(Ok(seen)) => seen,
            Ok(Err(_)) | Err(_) => None,
        };
        let with_state = |label: &Labelled| (label.clone(), label.owned_by.group());
        let labels = memo.labels.iter().map(with_state).collect();
        let has_option = memo.option_at.as_deref().and_then(socket_option::is_there);
        Ok(EdgeStatus { memo: memo.clone(), labels, has_option, seen, sent: None })
    }

    /// The packets that have left the device since the deployment, and those of them that it has seen, where some class takes
    /// every packet and what it has not seen is more than it may miss while it is replaced. Without filters of other programs
    /// before it, only a program that has seen nothing is at fault.
    pub(crate) fn passed_by(&self, has_earlier: bool) -> Option<PassedBy> {
        // Those that were on their way while it came, of all.
        const MAX_MISSED: u64 = 100;
        const MAX_SHARE: u64 = 100;
        let seen = self.seen.as_ref()?.iter().flat_map(|class| &class.colors);
        let seen: u64 = seen.map(|color| color.packets + color.dropped_packets).sum();
        let sent = self.sent?;
        let missed = sent.saturating_sub(seen);
        let is_wrong = missed >= MAX_MISSED && missed >= sent / MAX_SHARE;
        (is_wrong && (seen == 0 || has_earlier)).then_some(PassedBy { sent, missed })
    }

    fn rows(&self) -> Vec<Vec<String>> {
        let head =
            ["marked at the edge", "green", "yellow", "red", "dropped", "flows known", "new"];
        let row = |(name, seen): (&String, Option<&ClassSeen>)| {
            let counts = seen.map(|ClassSeen { colors, table, .. }| {
                let dropped = colors.iter().map(|color| color.dropped_packets).sum();
                let [green, yellow, red] = colors.map(|color| color.packets);
                [green, yellow, red, dropped, table.hits, table.misses]
            });
            let counts = counts.map_or([const { String::new() }; 6], |counts| {
                counts.map(|count| count.to_string())
            });
            std::iter::once(name.clone()).chain(counts).collect()
        };
        let seen = (0..).map(|number| self.seen.as_ref().and_then(|seen| seen.get(number)));
        let rows = self.memo.classes.iter().zip(seen).map(row);
        std::iter::once(head.map(str::to_owned).to_vec()).chain(rows).collect()
    }

    /// The labels, and whose they are.
    fn label_rows(&self) -> Vec<Vec<String>> {
        let head = ["label", "of", "group"].map(str::to_owned).to_vec();
        let row = |(Labelled { name, owned_by }, group): &(Labelled, Option<GroupState>)| {
            let group = group.map_or_else(String::new, |group| group.to_string());
            vec![name.clone(), owned_by.to_string(), group]
        };
        std::iter::once(head).chain(self.labels.iter().map(row)).collect()
    }

    /// The flows or hosts that have sent the most, of each class that knows some.
    fn top(&self) -> String {
        let mut text = String::new();
        let seen = self.memo.classes.iter().zip(self.seen.iter().flatten());
        for (name, ClassSeen { flows, .. }) in seen.filter(|(_, seen)| !seen.flows.is_empty()) {
            let head =
                [format!("most sent in {name}"), "bytes".to_owned(), "silent for".to_owned()];
            let row = |flow: &EdgeFlow| {
                let silent = format!("{:.1} s", flow.silent.as_secs_f64());
                vec![flow.to_string(), flow.bytes.to_string(), silent]
            };
            let rows = flows.iter().take(MAX_FLOWS_SHOWN).map(row);
            text += &columns(&std::iter::once(head.to_vec()).chain(rows).collect::<Vec<_>>(), 1);
        }
        text
    }

    /// How long connections took, of each class of which some have ended or were forgotten.
    fn times(&self) -> String {
        let seen = self.memo.classes.iter().zip(self.seen.iter().flatten());
        let rows = seen.filter_map(|(name, seen)| times::rows(name, seen.times.as_ref()?));
        rows.map(|rows| columns(&rows, 1)).collect()
    }

    fn json(&self) -> Value {
        let flow = |flow: &EdgeFlow| {
            json!({
                "what": flow.to_string(), "bytes": flow.bytes, "silent_s": flow.silent.as_secs_f64(),
            })
        };
        let bucket = |bucket: &EdgeBucket| json!({ "bytes": bucket.bytes, "depth": bucket.depth });
        let class = |(number, name): (usize, &String)| {
            let seen = self.seen.as_ref().and_then(|seen| seen.get(number));
            json!({
                "class": name,
                "packets": seen.map(|seen| seen.colors.map(|color| color.packets)),
                "bytes": seen.map(|seen| seen.colors.map(|color| color.bytes)),
                "dropped": seen.map(|seen| seen.colors.map(|color| color.dropped_packets)),
                "hits": seen.map(|seen| seen.table.hits), "misses": seen.map(|seen| seen.table.misses),
                "evictions": seen.map(|seen| seen.table.evictions), "used": seen.map(|seen| seen.table.used),
                "times": seen.and_then(|seen| Some(times::json(seen.times.as_ref()?))),
                "buckets": seen.map(|seen| seen.buckets.iter().map(bucket).collect::<Vec<_>>()),
                "top": seen.map(|seen| seen.flows.iter().map(flow).collect::<Vec<_>>()),
            })
        };
        let classes: Vec<Value> = self.memo.classes.iter().enumerate().map(class).collect();
        let label = |(Labelled { name, owned_by }, group): &(Labelled, Option<GroupState>)| {
            json!({
                "label": name, "of": owned_by.to_string(), "group": group.map(|group| group.to_string()),
            })
        };
        json!({
            "policy": self.memo.policy, "role": self.memo.role, "classes": classes,
            "labels": self.labels.iter().map(label).collect::<Vec<_>>(),
            "passes": self.memo.past.map(|past| past.host),
            "option_at": self.memo.option_at, "has_option": self.has_option,
        })
    }
}

/// How many flows of a class are shown to a person.
const MAX_FLOWS_SHOWN: usize = 5;

/// The classes after those of a policy: one keeps a device reachable, and one receives unclassified packets.
pub const BESIDE: [&str; 2] = ["ARP, neighbour discovery", "unreadable headers"];

/// What a class has done.
#[derive(Debug, Clone)]
pub struct ClassStatus {
    /// Which packets it is for.
    pub name: String,
    /// Its queue.
    pub queue: Queue,
}

impl DeviceStatus {
    /// The status of `device`; `None` without a deployment.
    ///
    /// # Errors
    /// When the device is not there, or tc cannot be run or read.
    pub fn read(device: &str) -> Result<Option<DeviceStatus>, Error> {
        DeviceStatus::looked(device, program::seen)
    }

    /// The packets that `device` received, by outcome, without the edge's flows and times, whose tables take long to
    /// read; `None` without a deployment.
    ///
    /// # Errors
    /// As of [`read`](Self::read).
    pub fn of_counters(device: &str) -> Result<Option<DeviceStatus>, Error> {
        DeviceStatus::looked(device, program::colors)
    }

    /// How a device stands: what is deployed on what it sends, and on what it receives.
    ///
    /// # Errors
    /// As of [`read`](Self::read).
    pub fn both(device: &str) -> Result<Vec<DeviceStatus>, Error> {
        DeviceStatus::both_where(device, &Links::read()?)
    }

    fn both_where(device: &str, links: &Links) -> Result<Vec<DeviceStatus>, Error> {
        let (sent, at_device) = DeviceStatus::seen_at(device, program::seen)?;
        let received = Received::with(links.link(device)?, at_device, links)?;
        Ok(sent.into_iter().chain(DeviceStatus::of_received(&received)?).collect())
    }

    /// The status of what `device` receives; `None` without a deployment.
    ///
    /// # Errors
    /// As of [`read`](Self::read).
    pub fn received(device: &str) -> Result<Option<DeviceStatus>, Error> {
        DeviceStatus::of_received(&Received::observe(device)?)
    }

    fn of_received(received: &Received) -> Result<Option<DeviceStatus>, Error> {
        let (device, ifb) = (&received.device().name, received.ifb());
        let status = DeviceStatus::from(ifb, &received.observed, program::seen)?;
        Ok(received.is_known().then(|| DeviceStatus {
            device: device.clone(),
            ifb: Some(ifb.to_owned()),
            before: received.earlier_filters().into_iter().chain(status.before).collect(),
            is_busy: DeviceLock::is_taken(device),
            tcx: received.tcx_before().into_iter().chain(status.tcx).collect(),
            ..status
        }))
    }

    /// How all devices stand on which something is deployed.
    ///
    /// # Errors
    /// When tc or ip cannot be run or read.
    pub fn all() -> Result<Vec<DeviceStatus>, Error> {
        let (mut all, links) = (Vec::new(), Links::read()?);
        let (ifbs, indexes) = (links.ifbs(), indexes()?);
        for device in links.names() {
            let orphan = ifbs.iter().find(|ifb| ifb.name == device);
            let found = match orphan {
                Some(ifb) if indexes.contains(&ifb.of) => continue,
                Some(_) => {
                    DeviceStatus::seen_at(&device, program::seen).and_then(|(status, observed)| {
                        let status = match status {
                            Some(status) => status,
                            None => DeviceStatus::from(&device, &observed, program::seen)?,
                        };
                        Ok(vec![DeviceStatus { is_orphan: true, ..status }])
                    })
                }
                None => DeviceStatus::both_where(&device, &links),
            };
            match found {
                Ok(status) => all.extend(status),
                // It went away after it was named.
                Err(Error::Vanished { .. } | Error::NoDevice { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(all)
    }

    fn looked(device: &str, look: Look) -> Result<Option<DeviceStatus>, Error> {
        Ok(DeviceStatus::seen_at(device, look)?.0)
    }

    /// The same, and all that stands there.
    fn seen_at(device: &str, look: Look) -> Result<(Option<DeviceStatus>, Observed), Error> {
        let tc = Tc::new(device);
        let mut observed = tc.observe()?;
        if observed.is_lost() {
            // A deployment that was finished after tc listed the device, and before its file was read, is there now.
            observed = tc.observe()?;
        }
        let is_known = observed.is_ours() || observed.is_lost();
        let status = is_known.then(|| DeviceStatus::from(device, &observed, look)).transpose()?;
        Ok((status, observed))
    }

    fn from(device: &str, observed: &Observed, look: Look) -> Result<DeviceStatus, Error> {
        let named = observed.memo.iter().flat_map(|memo| &memo.queues);
        let named = named.map(|(handle, name)| (name.clone(), observed.queue(*handle)));
        let beside = [observed.neighbours(), observed.other()];
        let beside = BESIDE.map(str::to_owned).into_iter().zip(beside);
        let classes = named.chain(beside).filter_map(|(name, queue)| {
            let queue = queue?.clone();
            Some(ClassStatus { name, queue })
        });
        let mut classes: Vec<ClassStatus> = classes.collect();
        let has_early =
            observed.has_early && observed.memo.as_ref().is_some_and(|memo| memo.has_early);
        let early = has_early.then(|| program::early_levels(&link(device).ok()?)).flatten();
        let lacks_early_drops = has_early && early.is_none();
        if let Some(early) = early {
            for (handle, levels) in early {
                let queue = classes.iter_mut().map(|class| &mut class.queue);
                queue
                    .filter(|queue| queue.handle == handle)
                    .for_each(|queue| queue.add_early(&levels));
            }
        }
        let old = observed.live().map(|live| observed.classes_of(live.other()));
        let edge = observed.edge.memo.as_ref();
        let edge = edge.map(|memo| {
            let sent =
                observed.edge.sent.zip(memo.sent).map(|(now, then)| now.saturating_sub(then));
            Ok::<_, Error>(EdgeStatus { sent, ..EdgeStatus::new(device, memo, look)? })
        });
        let edge = edge.transpose()?;
        Ok(DeviceStatus {
            device: device.to_owned(),
            ifb: None,
            is_orphan: false,
            memo: observed.memo.clone(),
            edge,
            deployed: observed.deployed(),
            root: observed.root.clone(),
            is_whole: observed.is_whole(),
            damage: observed.damage(),
            before: Vec::from_iter(observed.edge.before(
                observed.edge.is_ours(),
                observed.memo.as_ref().is_some_and(|memo| memo.levels.is_some()),
            )),
            tcx: TcxBefore::observe(device, &observed.edge),
            is_busy: DeviceLock::is_taken(device),
            classes,
            lacks_early_drops,
            left_over: old.into_iter().flatten().map(|(_, waiting)| waiting).sum::<u64>()
                + observed.queueing.as_ref().map_or(0, QueueingSeen::left_over),
        })
    }

    /// The device whose queues these are.
    pub(crate) fn queued_at(&self) -> &str {
        self.ifb.as_deref().unwrap_or(&self.device)
    }

    /// What it is the status of, as people call it.
    pub fn name(&self) -> String {
        match self.ifb {
            Some(_) => Received::name(&self.device),
            None => self.device.clone(),
        }
    }

    /// The options of a command that name it.
    pub(crate) fn target(&self) -> String {
        let ingress = if self.ifb.is_some() { " --ingress" } else { "" };
        format!("--dev {}{ingress}", quoted(&self.device))
    }

    /// What is not as it was deployed.
    pub fn wrongs(&self) -> Vec<Wrong> {
        Wrong::all(self)
    }

    /// The link layer of the queues; of a deployment by a version whose memo has none, that of the options.
    fn link_layer(&self, memo: &Memo) -> LinkLayer {
        let of_options = || self.deployed.as_ref()?.options.link_layer;
        match memo.link_layer {
            LinkLayer::RAW => of_options().unwrap_or_default(),
            layer => layer,
        }
    }

    /// As a person reads it.
    pub fn text(&self) -> String {
        let policy = self.memo.as_ref().map(|memo| &memo.policy);
        let policy = policy.or(self.edge.as_ref().map(|edge| &edge.memo.policy));
        let policy = policy.or(self.deployed.as_ref().map(|deployed| &deployed.policy));
        let mut text = match policy {
            Some(policy) => format!("{}: policy {policy:?}", self.name()),
            None => self.name(),
        };
        let edge = self.edge.iter().map(|edge| edge.memo.role.clone());
        let queues = self
            .memo
            .iter()
            .map(|memo| format!("{}, {}{}", memo.role, memo.rate, over(self.link_layer(memo))));
        edge.chain(queues).for_each(|part| text += &format!(", role {part}"));
        text.push('\n');
        if self.is_busy {
            text += "  it is locked by another shortflow process\n";
        }
        text += &Wrong::text(&self.target(), &self.wrongs());
        if let Some(edge) = &self.edge {
            text += &columns(&edge.rows(), 1);
            text += &edge.top();
            text += &edge.times();
            if !edge.labels.is_empty() {
                text += &columns(&edge.label_rows(), 3);
            }
            if let Some(cgroup) = &edge.memo.option_at {
                text += &format!(
                    "  applications in {} may set thresholds\n",
                    socket_option::named(cgroup)
                );
            }
            if edge.seen.is_none() {
                text += "  the counters of its classes require root and a build with eBPF\n";
            }
        }
        if !self.classes.is_empty() {
            text += &columns(&self.rows(), 2);
        }
        if self.lacks_early_drops {
            text += "  the number of dropped packets requires root and a build with eBPF\n";
        }
        if self.left_over > 0 {
            text += &format!("  {} packets of the previous policy still wait\n", self.left_over);
        }
        text
    }

    fn rows(&self) -> Vec<Vec<String>> {
        const DROPPED: usize = 4;
        let head = ["class", "queue", "packets", "bytes", "dropped", "marked", "waiting"];
        let rows = self.classes.iter().flat_map(|ClassStatus { name, queue }| {
            let counts = [queue.packets, queue.bytes, queue.drops, queue.marks, queue.waiting];
            let texts = [name.clone(), queue.kind.clone()].into_iter();
            let mut all = texts.chain(counts.map(|count| count.to_string())).collect::<Vec<_>>();
            if self.lacks_early_drops {
                all[DROPPED] = "?".to_owned();
            }
            let levels = queue.levels.iter().enumerate().map(|(level, counts)| {
                let [packets, drops, marks] =
                    [counts.packets, counts.drops, counts.marks].map(|count| count.to_string());
                let name = format!("  level {level}");
                let nothing = String::new;
                vec![name, nothing(), packets, nothing(), drops, marks, nothing()]
            });
            std::iter::once(all).chain(levels).collect::<Vec<_>>()
        });
        std::iter::once(head.map(str::to_owned).to_vec()).chain(rows).collect()
    }

    /// As a program reads it.
    pub fn json(&self) -> Value {
        let level = |QueueLevel { packets, drops, marks }: &QueueLevel| json!({ "packets": packets, "dropped": drops, "marked": marks });
        let class = |ClassStatus { name, queue }: &ClassStatus| {
            json!({
                "class": name, "handle": format!("{:x}:", queue.handle), "queue": queue.kind,
                "packets": queue.packets, "bytes": queue.bytes,
                "dropped": (!self.lacks_early_drops).then_some(queue.drops),
                "marked": queue.marks, "waiting": queue.waiting, "waiting_bytes": queue.waiting_bytes,
                "delay_s": queue.delay_us.map(|delay| delay as f64 / 1e6), "flows": queue.flows,
                "levels": (!self.lacks_early_drops)
                    .then(|| queue.levels.iter().map(level).collect::<Vec<_>>()),
            })
        };
        let memo = self.memo.as_ref();
        let before = self.before.iter().map(|before| before.text.as_str()).collect::<Vec<_>>();
        json!({
            "before": (!before.is_empty()).then(|| before.join("; ")),
            "device": self.device, "direction": if self.ifb.is_some() { "received" } else { "sent" },
            "ifb": self.ifb, "complete": self.is_whole, "busy": self.is_busy,
            "wrong": self.wrongs().iter().map(Wrong::json).collect::<Vec<_>>(),
            "policy": memo.map(|memo| &memo.policy), "role": memo.map(|memo| &memo.role),
            "rate_bit_per_s": memo.map(|memo| memo.rate.bits_per_sec()),
            "link_layer": memo.map(|memo| self.link_layer(memo)),
            "classes": self.classes.iter().map(class).collect::<Vec<_>>(),
            "edge": self.edge.as_ref().map(EdgeStatus::json), "left_over": self.left_over,
            "deployed": self.deployed.as_ref().map(Deployed::json),
        })
    }
}
