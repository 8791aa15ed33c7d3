//! Queueing disciplines of the kernel, by scheme.

use shortflow_elements::classifier::Classifier;
use shortflow_elements::queue::{
    EcnMode, Fairness, FifoParams, FlowQueueSettings, FqCodelParams, HostFairParams, PieParams,
    PieSettings, Share, WfqClass, WfqClassSettings, WfqParams, WfqSettings,
};
use shortflow_policy::QueuePlan;
use shortflow_policy::keys::Turns;
use shortflow_units::{Bytes, Duration, Length};

use super::line::FRAME;
use super::names::names;
use super::{Compiled, Compiler, Refusal, gather};
use crate::bytecode::Choice;
use crate::kernel::Kind;
use crate::tree::{Discipline, Inner};

/// The most bands of `prio` and `ets` (`TCQ_PRIO_BANDS`, `TCQ_ETS_MAX_BANDS`).
const MAX_BANDS: usize = 16;

/// Classes that take turns by bytes.
pub(super) struct Rota<'p> {
    pub(super) classifier: Classifier,
    /// What each may send in its turn, and where its packets wait.
    pub(super) classes: Vec<(Bytes, Waiting<'p>)>,
    pub(super) otherwise: usize,
}

/// Where packets wait.
pub(super) enum Waiting<'p> {
    /// In a queue of the policy.
    Queue(&'p QueuePlan),
    /// First in, first out.
    Fifo(FifoParams),
}

impl Waiting<'_> {
    /// The discipline; `path` is that of the key `queue`.
    pub(super) fn compile(&self, compiler: &mut Compiler<'_>, path: &str) -> Compiled<Discipline> {
        match self {
            Waiting::Queue(queue) => {
                compiler.discipline(queue, &format!("{path}.{}", queue.scheme()))
            }
            Waiting::Fifo(params) => Ok(fifo(params)),
        }
    }
}

/// `pfifo` or `bfifo`, as the limit is.
pub(super) fn fifo(params: &FifoParams) -> Discipline {
    let (kind, limit) = match params.limit() {
        Length::Packets(packets) => (Kind::Pfifo, packets),
        Length::Bytes(bytes) => (Kind::Bfifo, bytes.0),
    };
    Discipline::plain(kind, format!("limit {limit}"))
}

impl Compiler<'_> {
    /// The discipline for a queue that is no line.
    pub(super) fn discipline(&mut self, queue: &QueuePlan, path: &str) -> Compiled<Discipline> {
        if let Some(rota) = self.rota(queue, path)? {
            return self.turns(&rota, path);
        }
        match queue {
            QueuePlan::Fifo(params) => Ok(fifo(params)),
            QueuePlan::FqCodel(params) => self.fq_codel(params, path),
            QueuePlan::Pie(params) => self.pie(params, path),
            QueuePlan::Red(plan) => self.red(plan, path),
            QueuePlan::HostFair(params) => self.cake(params, path),
            QueuePlan::StrictPriority(bands) => self.bands(bands, path),
            QueuePlan::SharedPriority(params) => {
                let (classifier, otherwise) = self.shared(params, path)?;
                let params = FifoParams::new(params.limit()).expect("a checked queue has a limit");
                let names =
                    names(&classifier, classifier.greatest_class().unwrap_or(0) + 1, otherwise);
                let each = names.into_iter().map(|name| (name, fifo(&params))).collect();
                self.prio(&classifier, each, otherwise, path)
            }
            QueuePlan::MultiRed(plan) => self.multi_red(plan, path),
            QueuePlan::Stf(_) => {
                let what = "the kernel has no queue that serves the flow with the fewest bytes sent \
                    first";
                let hint = "nearest are `fq-codel`, which serves new flows first, and the marker \
                    `dstf` before strict priority";
                Err(vec![Refusal::of_policy(path, what, Some(hint))])
            }
            QueuePlan::Sima(params) => {
                let (classifier, buffers) = self.sima(params, path)?;
                let each = buffers.map(|(name, queue)| (name.to_owned(), queue)).into();
                self.prio(&classifier, each, 1, path)
            }
            QueuePlan::AggregateShaper(_) => {
                let what = "it releases packets when TCP receives acknowledgements or an \
                    application writes data; that happens in the host's TCP, before its device";
                let hint = "`deploy --tcp` puts it there; at a device, nearest is the marker \
                    `aggregate`, which marks packets above the same profile, or drops them with \
                    `police`";
                Err(vec![Refusal::of_policy(path, what, Some(hint))])
            }
            QueuePlan::SourceScheduler(_) => {
                let what = "it needs the state of the sender's connections, and no kernel program \
                    provides it yet";
                Err(vec![Refusal::of_policy(path, what, None)])
            }
            QueuePlan::Plans(_) => {
                let what = "customers' plans have an HTB and a table of their own on a device";
                let hint =
                    "write them as plans.toml, and use `deploy plans.toml`; docs/plans.md says how";
                Err(vec![Refusal::of_policy(path, what, Some(hint))])
            }
            QueuePlan::Shaper(_) => {
                let what = "a queue that takes turns cannot contain a shaper";
                let hint = "put the shaper outermost, or into a band of strict priority";
                Err(vec![Refusal::of_policy(path, what, Some(hint))])
            }
            QueuePlan::Htb(_) => {
                let what = "`htb` shares the line, and cannot be inside another queue";
                let hint = "make it the outermost queue, or the queue of the outermost shaper";
                Err(vec![Refusal::of_policy(path, what, Some(hint))])
            }
            QueuePlan::Drr(_) | QueuePlan::Wrr(_) | QueuePlan::Wfq(_) => {
                unreachable!("they take turns")
            }
        }
    }

    /// The turns of a queue whose classes take turns; `None` for another kind.
    pub(super) fn rota<'p>(
        &mut self,
        queue: &'p QueuePlan,
        path: &str,
    ) -> Compiled<Option<Rota<'p>>> {
        Ok(Some(match queue {
            QueuePlan::Drr(turns) => rota(turns, |quantum| *quantum),
            QueuePlan::Wrr(turns) => {
                let what = "no kernel takes turns by packets";
                let nearest = "turns by bytes, a full packet for each packet of the weight";
                self.nearest(Refusal::of_policy(path, what, None), nearest, ())?;
                rota(turns, |weight| Bytes(FRAME.0 * u64::from(*weight)))
            }
            QueuePlan::Wfq(params) => self.fair_turns(params, path)?,
            _ => return Ok(None),
        }))
    }

    /// Turns in proportion to weights.
    fn fair_turns(&mut self, params: &WfqParams, path: &str) -> Compiled<Rota<'static>> {
        let what = "no kernel has weighted fair queueing";
        let mut nearest = "turns by bytes in proportion to the weights".to_owned();
        let WfqSettings {
            classes,
            classifier,
            otherwise,
            shared_limit,
            // Each class has its own buffer, which drops what arrives.
            when_full: _,
        } = params.settings();
        let classes: Vec<_> = classes.iter().map(WfqClass::settings).collect();
        if classes.iter().any(|class| class.share != Share::Class) {
            nearest += ", where the flows of a class share its turn and its limit";
        }
        let without_limit = classes.iter().filter(|class| class.limit.is_none());
        if let (2.., Some(limit)) = (without_limit.count(), shared_limit) {
            nearest += &format!(", and each class has its own buffer of {limit}");
        }
        self.nearest(Refusal::of_policy(path, what, None), &nearest, ())?;
        let min = classes.iter().map(|class| class.weight.value()).min().unwrap_or(1);
        let classes = classes.into_iter().map(|class| {
            let WfqClassSettings { weight, share: _, limit } = class;
            let turn = u128::from(FRAME.0) * u128::from(weight.value()) / u128::from(min);
            let limit = limit.or(shared_limit);
            let limit = limit.unwrap_or(Length::Packets(1000));
            let fifo = FifoParams::new(limit).expect("a checked class has a limit above zero");
            (Bytes(u64::try_from(turn).unwrap_or(u64::MAX)), Waiting::Fifo(fifo))
        });
        let rota = Rota { classifier: classifier.clone(), classes: classes.collect(), otherwise };
        self.refuse_long_turns(&rota, path)?;
        Ok(rota)
    }

    fn refuse_long_turns(&self, rota: &Rota<'_>, path: &str) -> Compiled<()> {
        match rota.classes.iter().map(|(quantum, _)| *quantum).max() {
            Some(longest) if longest.0 > u32::MAX.into() => {
                let what = format!("a turn of {longest} exceeds the kernel's maximum of 4 GB");
                Err(vec![Refusal::of_policy(path, &what, None)])
            }
            _ => Ok(()),
        }
    }

    /// `drr`, or `ets` in its place, which takes the same turns.
    pub(super) fn turns(&mut self, rota: &Rota<'_>, path: &str) -> Compiled<Discipline> {
        self.refuse_long_turns(rota, path)?;
        let count = rota.classes.len();
        let kind = match (self.lacks(Kind::Drr), self.lacks(Kind::Ets)) {
            (true, false) if count <= MAX_BANDS => Kind::Ets,
            (false, _) => Kind::Drr,
            _ => return Err(vec![Refusal::of_kernel(path, Kind::Drr, "drr")]),
        };
        let names = names(&rota.classifier, count, rota.otherwise);
        let each = rota.classes.iter().zip(names).enumerate();
        let inner = gather(each.map(|(index, ((quantum, queue), name))| {
            let queue = queue.compile(self, &format!("{path}.classes.{index}.queue"))?;
            let settings = (kind == Kind::Drr).then(|| format!("quantum {}", quantum.0));
            Ok(Inner { name, settings, queue })
        }))?;
        let settings = match kind {
            Kind::Ets => {
                let quanta: Vec<_> =
                    rota.classes.iter().map(|(quantum, _)| quantum.0.to_string()).collect();
                format!(
                    "bands {count} quanta {} priomap{}",
                    quanta.join(" "),
                    map_to(rota.otherwise)
                )
            }
            _ => String::new(),
        };
        let classes: Vec<_> = (0..count).map(Choice::Class).collect();
        let choice = Some(Choice::among(&rota.classifier, &classes, rota.otherwise));
        Ok(Discipline { inner, choice, ..Discipline::plain(kind, settings) })
    }

    fn bands(&mut self, bands: &Turns<()>, path: &str) -> Compiled<Discipline> {
        let last = bands.classes().len() - 1;
        let names = names(bands.classifier(), last + 1, last);
        let each = bands.classes().iter().zip(names).enumerate();
        let each = gather(each.map(|(index, ((_, queue), name))| {
            let path = format!("{path}.bands.{index}.queue.{}", queue.scheme());
            Ok((name, self.discipline(queue, &path)?))
        }))?;
        self.prio(bands.classifier(), each, last, path)
    }

    /// Strict priority inside a class.
    fn prio(
        &mut self,
        classifier: &Classifier,
        each: Vec<(String, Discipline)>,
        otherwise: usize,
        path: &str,
    ) -> Compiled<Discipline> {
        if self.lacks(Kind::Prio) {
            let mut refusal = Refusal::of_kernel(path, Kind::Prio, "strict-priority");
            refusal.what += "; HTB has up to 8 priorities, but only in the outermost queue";
            return Err(vec![refusal]);
        }
        if each.len() > MAX_BANDS {
            let what = format!("{} bands exceed the kernel's maximum of {MAX_BANDS}", each.len());
            return Err(vec![Refusal::of_policy(
                path,
                &what,
                Some("let several code points share a band"),
            )]);
        }
        // The kernel's has two bands at least, of which the second may stay empty.
        let bands = each.len().max(2);
        let settings = format!("bands {bands} priomap{}", map_to(otherwise));
        let inner = each.into_iter().map(|(name, queue)| Inner { name, settings: None, queue });
        let inner: Vec<Inner> = inner.collect();
        let classes: Vec<_> = (0..inner.len()).map(Choice::Class).collect();
        let choice = Some(Choice::among(classifier, &classes, otherwise));
        Ok(Discipline { inner, choice, ..Discipline::plain(Kind::Prio, settings) })
    }

    /// A limit in packets, which is all that some disciplines have.
    fn packets(&self, limit: Length, kind: Kind, path: &str) -> Compiled<u64> {
        match limit {
            Length::Packets(packets) => Ok(packets),
            Length::Bytes(_) => {
                let what = format!(
                    "the kernel's {} counts packets, but the limit is in bytes",
                    kind.name()
                );
                Err(vec![Refusal::of_policy(path, &what, Some("write the limit in packets"))])
            }
        }
    }

    /// The kernel has it.
    pub(super) fn there(&self, kind: Kind, scheme: &str, path: &str) -> Compiled<()> {
        match self.lacks(kind) {
            true => Err(vec![Refusal::of_kernel(path, kind, scheme)]),
            false => Ok(()),
        }
    }

    fn fq_codel(&mut self, params: &FqCodelParams, path: &str) -> Compiled<Discipline> {
        self.there(Kind::FqCodel, "fq-codel", path)?;
        let FlowQueueSettings { limit, queues, quantum, codel, ecn } = params.settings();
        let limit = self.packets(*limit, Kind::FqCodel, path)?;
        if codel.mtu() != FRAME {
            let what = format!(
                "the kernel's fq_codel drops no packet while its queue holds at most the device's \
                    MTU, instead of {}",
                codel.mtu()
            );
            self.note(path, &what);
        }
        let (target, interval) = (micros(codel.target()), micros(codel.interval()));
        let settings = format!(
            "limit {limit} quantum {} target {target} interval {interval} {}",
            quantum.0,
            word(*ecn)
        );
        let fixed = format!("flows {queues}");
        Ok(Discipline { fixed, ..Discipline::plain(Kind::FqCodel, settings) })
    }

    fn pie(&mut self, params: &PieParams, path: &str) -> Compiled<Discipline> {
        self.there(Kind::Pie, "pie", path)?;
        let PieSettings { limit, target, update, max_burst, alpha, beta, ecn } = *params.settings();
        let limit = self.packets(limit, Kind::Pie, path)?;
        let mut gain = |name: &str, gain: f64| -> Compiled<u64> {
            // The kernel counts them in sixteenths, up to 2.
            let sixteenths = (gain * 16.0).round();
            if !(1.0..=32.0).contains(&sixteenths) {
                let what = format!("{name} is {gain}; the kernel's pie allows 0.0625 to 2");
                return Err(vec![Refusal::of_policy(path, &what, None)]);
            }
            if sixteenths != gain * 16.0 {
                self.note(path, &format!("{name} is {} instead of {gain}", sixteenths / 16.0));
            }
            Ok(sixteenths as u64)
        };
        let (alpha, beta) = (gain("alpha", alpha)?, gain("beta", beta)?);
        if max_burst != Duration::from_millis(150) {
            let what = format!("the kernel's pie tolerates bursts of 150 ms, not {max_burst}");
            self.nearest(Refusal::of_policy(path, &what, None), "pie with a burst of 150 ms", ())?;
        }
        let (target, update) = (micros(target), micros(update));
        let settings = format!(
            "limit {limit} target {target} tupdate {update} alpha {alpha} beta {beta} {}",
            word(ecn)
        );
        Ok(Discipline::plain(Kind::Pie, settings))
    }

    fn cake(&mut self, params: &HostFairParams, path: &str) -> Compiled<Discipline> {
        self.there(Kind::Cake, "host-fair", path)?;
        let FlowQueueSettings { limit, queues, quantum, codel, ecn } = params.settings();
        if !ecn.marks() {
            let what = "the kernel's cake marks ECN-capable packets, but the policy drops them";
            let nearest = "cake, which marks them";
            self.nearest(Refusal::of_policy(path, what, None), nearest, ())?;
        }
        if *queues != 1024 || codel.target().nanos() * 20 != codel.interval().nanos() {
            let what = format!(
                "the kernel's cake has 1024 queues and a target of 1/20 of the interval, not \
                    {queues} and {}",
                codel.target()
            );
            self.nearest(Refusal::of_policy(path, &what, None), "cake with its own values", ())?;
        }
        let memory = match limit {
            Length::Bytes(bytes) => bytes.0,
            Length::Packets(packets) => packets.saturating_mul(FRAME.0),
        };
        let what = format!(
            "cake holds {memory} bytes, identifies IPv6 hosts by their whole addresses, and sets \
                its own quantum"
        );
        self.note(path, &what);
        let without_effect = [
            (*quantum != FRAME, "quantum", "derives its own from the rate of the line"),
            (codel.mtu() != FRAME, "mtu", "derives its drop threshold from the rate"),
            (params.ipv6_prefix() != 64, "ipv6_prefix", "uses the whole address"),
        ];
        for (_, key, why) in without_effect.iter().filter(|(is_set, ..)| *is_set) {
            self.note(path, &format!("`{key}` has no effect in the kernel's cake, which {why}"));
        }
        let hosts = match params.fairness() {
            Fairness::Source => "dual-srchost",
            Fairness::Destination => "dual-dsthost",
            Fairness::Both => "triple-isolate",
        };
        let interval = micros(codel.interval());
        let settings = format!("unlimited besteffort {hosts} rtt {interval} memlimit {memory}");
        Ok(Discipline::plain(Kind::Cake, settings))
    }
}

fn rota<'p, T: Copy>(turns: &'p Turns<T>, quantum: impl Fn(&T) -> Bytes) -> Rota<'p> {
    let classes = turns.classes().iter();
    let classes: Vec<_> =
        classes.map(|(share, queue)| (quantum(share), Waiting::Queue(queue))).collect();
    let otherwise = classes.len() - 1;
    Rota { classifier: turns.classifier().clone(), classes, otherwise }
}

/// All of the kernel's own priorities map to one band, since filters classify packets.
fn map_to(band: usize) -> String {
    format!(" {band}").repeat(16)
}

fn micros(duration: Duration) -> String {
    format!("{}us", duration.nanos() / 1000)
}

/// How tc says whether packets are marked.
fn word(ecn: EcnMode) -> &'static str {
    if ecn.marks() { "ecn" } else { "noecn" }
}
