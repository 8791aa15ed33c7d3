//! Compiles a line with a rate, and the classes that share it by strict priority.

use shortflow_elements::queue::{BandOf, FifoParams, ShaperParams, SharedPriorityParams};
use shortflow_elements::scheduler::RateRange;
use shortflow_elements::{classifier::Classifier, classifier::DscpSet, classifier::MultiField};
use shortflow_packet::Dscp;
use shortflow_policy::keys::Turns;
use shortflow_policy::{Policy, QueuePlan, Role};
use shortflow_units::{Bytes, Framing, Length, LinkLayer, Rate};

use super::leaf::Rota;
use super::names::names;
use super::{Compiled, Compiler, Refusal, Settings, gather};
use crate::bytecode::Choice;
use crate::kernel::Kind;
use crate::tree::{Discipline, Leaf, Tree};

/// The most priorities that HTB has (`TC_HTB_NUMPRIO`).
const MAX_PRIORITIES: usize = 8;
/// The largest frame of an Ethernet link: the turn of a class that is alone in its priority.
pub(super) const FRAME: Bytes = Bytes(1514);
/// The slowest rate of HTB: a byte per second.
const MIN_HTB: Rate = Rate::from_bits_per_sec(8);
/// The longest turn of a class of HTB; above it the kernel warns (`htb_change_class`).
const MAX_QUANTUM: u32 = 200_000;
/// What may leave at once at least: a frame with room for tags.
const MIN_BURST: Bytes = Bytes(1600);

/// The tree of the queue of `role`.
pub(super) fn compile(
    policy: &Policy,
    role: &Role,
    queue: &QueuePlan,
    settings: &Settings,
) -> Compiled<Tree> {
    let mut compiler = Compiler { settings, notes: Vec::new() };
    let path = format!("roles.{}.queue.{}", role.name, queue.scheme());
    let (own, queue, path) = behind_shaper(queue, path);
    let rate = compiler.rate(own, &role.name)?;
    let burst = compiler.burst(&path, rate, own.map(|own| own.burst()));
    let link_layer = compiler.link_layer(&path, own.map(|own| own.link_layer()));
    let mut line = Line { leaves: Vec::new(), priority: 0 };
    let choice = if let QueuePlan::Htb(classes) = queue {
        refuse_beyond(queue.guaranteed(), rate, &path)?;
        compiler.guaranteed(classes, &path, &mut line)?
    } else if priorities(queue) > MAX_PRIORITIES {
        let waiting = compiler.discipline(queue, &path)?;
        line.add("all", None, FRAME, waiting)
    } else {
        compiler.share(queue, &path, "all", None, &mut line)?
    };
    Ok(Tree {
        policy: policy.name.clone(),
        role: role.name.clone(),
        instead: None,
        rate,
        burst,
        link_layer,
        link_header: settings.link_header,
        leaves: line.leaves,
        choice,
        has_place: !settings.kernel.lacks(Kind::Clsact),
        notes: compiler.notes,
        program: None,
    })
}

/// The outermost shaper, if there is one, and the queue in it with its path.
pub(super) fn behind_shaper(
    queue: &QueuePlan,
    path: String,
) -> (Option<&ShaperParams>, &QueuePlan, String) {
    match queue {
        QueuePlan::Shaper(plan) => {
            let inner = plan.queue();
            (Some(plan.params()), inner, format!("{path}.queue.{}", inner.scheme()))
        }
        other => (None, other, path),
    }
}

/// The number of priorities of a queue, if those inside a priority count as parts of it.
fn priorities(queue: &QueuePlan) -> usize {
    match queue {
        QueuePlan::StrictPriority(bands) => {
            bands.classes().iter().map(|(_, queue)| priorities(queue)).sum()
        }
        QueuePlan::SharedPriority(params) => params.bands(),
        QueuePlan::Sima(_) => 2,
        _ => 1,
    }
}

/// The classes of the line so far.
struct Line {
    leaves: Vec<Leaf>,
    priority: usize,
}

impl Line {
    /// Adds a class with a priority of its own.
    fn add(
        &mut self,
        name: &str,
        ceiling: Option<Rate>,
        quantum: Bytes,
        queue: Discipline,
    ) -> Choice<usize> {
        let (name, priority) = (name.to_owned(), self.priority);
        self.leaves.push(Leaf { name, priority, floor: None, ceiling, quantum, queue });
        self.priority += 1;
        Choice::Class(self.leaves.len() - 1)
    }
}

impl Compiler<'_> {
    /// The rate of the line: the lower one of what was given and what the policy's shaper says.
    pub(super) fn rate(&mut self, own: Option<&ShaperParams>, role: &str) -> Compiled<Rate> {
        let given = self.settings.rate;
        let rates = [given, own.map(ShaperParams::rate)];
        let Some(rate) = rates.into_iter().flatten().min() else {
            let what = "the rate of the line is unknown: none is given, and the device is absent or reports no speed";
            let hint = "give a rate a little below that of the bottleneck, such as --rate '95 Mbit/s' for 100 Mbit/s";
            return Err(vec![Refusal::of_policy("--rate", what, Some(hint))]);
        };
        self.refuse_slow(&format!("roles.{role}.queue"), rate)?;
        if let (Some(asked), Some(own)) = (given, own)
            && own.rate() != asked
        {
            let [own, asked] = [own.rate(), asked];
            let which = if own < asked { "its own" } else { "that of --rate" };
            let path = format!("roles.{role}.queue.shaper");
            self.note(
                &path,
                &format!(
                    "its rate is {own}, but --rate is {asked}; the lower one is used, {which}"
                ),
            );
        }
        Ok(rate)
    }

    /// What may leave at once: as much as the policy says, or what the kernel's timers need.
    pub(super) fn burst(&mut self, path: &str, rate: Rate, asked: Option<Bytes>) -> Bytes {
        let asked = asked.unwrap_or(Bytes::ZERO);
        // A timer may be late by a fraction of a millisecond, and what it is late by must not be lost.
        let min = Bytes(rate.bits_per_sec() / 8 / 1000).max(MIN_BURST);
        if asked < min {
            let what = format!("bursts up to {min} (timer resolution) instead of {asked}");
            self.note(path, &what);
        }
        asked.max(min)
    }

    /// What a packet takes on the link: what was asked for, else what the policy's shaper says.
    fn link_layer(&mut self, path: &str, own: Option<LinkLayer>) -> LinkLayer {
        let own = own.filter(|own| *own != LinkLayer::RAW);
        let layer = self.settings.link_layer.or(own).unwrap_or_default();
        self.note_other_layer(path, own, layer);
        if layer.framing() == Framing::Ptm {
            let what = "the kernel's HTB does not support PTM: frames get 64/65 of the rate, and \
                each counts one byte more";
            self.note(path, what);
        }
        if layer != LinkLayer::RAW {
            let what = "for packets combined by GSO or GRO, the link's overhead counts once; to \
                avoid that, run `ethtool -K DEVICE gso off tso off gro off`";
            self.note(path, what);
        }
        layer
    }

    /// Notes that another link layer is used than the policy's shaper has.
    pub(super) fn note_other_layer(&mut self, path: &str, own: Option<LinkLayer>, used: LinkLayer) {
        if let Some(own) = own.filter(|own| *own != used) {
            self.note(
                path,
                &format!("its link layer is {own}, but --link-layer is {used}, which is used"),
            );
        }
    }

    /// Classes of the line for a queue, from the next priority on.
    fn share(
        &mut self,
        queue: &QueuePlan,
        path: &str,
        name: &str,
        ceiling: Option<Rate>,
        line: &mut Line,
    ) -> Compiled<Choice<usize>> {
        match queue {
            QueuePlan::StrictPriority(bands) => {
                let last = bands.classes().len() - 1;
                let names = names(bands.classifier(), last + 1, last);
                let each = bands.classes().iter().zip(names).enumerate();
                let each = gather(each.map(|(index, ((_, queue), name))| {
                    let path = format!("{path}.bands.{index}.queue.{}", queue.scheme());
                    self.share(queue, &path, &name, ceiling, line)
                }))?;
                Ok(Choice::among(bands.classifier(), &each, last))
            }
            QueuePlan::SharedPriority(params) => self.apart(params, path, ceiling, line),
            QueuePlan::Sima(params) => {
                let (classifier, buffers) = self.sima(params, path)?;
                let each = buffers.map(|(name, queue)| line.add(name, ceiling, FRAME, queue));
                Ok(Choice::among(&classifier, &each, 1))
            }
            QueuePlan::Shaper(plan) => {
                let (params, inner) = (plan.params(), plan.queue());
                let path = format!("{path}.queue.{}", inner.scheme());
                if priorities(inner) > 1 {
                    let what = "a shaper that is not the outermost can contain only one class";
                    let hint = "give each band its own shaper";
                    return Err(vec![Refusal::of_policy(&path, what, Some(hint))]);
                }
                self.refuse_parts_of_inner(params, &path)?;
                self.refuse_slow(&path, params.rate())?;
                let ceiling = ceiling.map_or(params.rate(), |other| other.min(params.rate()));
                self.share(inner, &path, name, Some(ceiling), line)
            }
            queue => match self.rota(queue, path)? {
                Some(rota) if self.lacks(Kind::Drr) && self.lacks(Kind::Ets) => {
                    self.in_turn(&rota, path, ceiling, line)
                }
                Some(rota) => {
                    let waiting = self.turns(&rota, path)?;
                    Ok(line.add(name, ceiling, FRAME, waiting))
                }
                None => {
                    let waiting = self.discipline(queue, path)?;
                    Ok(line.add(name, ceiling, FRAME, waiting))
                }
            },
        }
    }

    /// What a shaper that is not the outermost asks for beside its rate. A class of HTB has the burst that the kernel's timers
    /// need, and counts for each packet what the line does.
    fn refuse_parts_of_inner(&mut self, params: &ShaperParams, path: &str) -> Compiled<()> {
        if params.link_layer() != LinkLayer::RAW {
            let what = "only the outermost shaper can have `overhead` or `link_layer`";
            let nearest = "the link layer of the outermost shaper for all packets";
            self.nearest(Refusal::of_policy(path, what, None), nearest, ())?;
        }
        let burst = Bytes(params.rate().bits_per_sec() / 8 / 1000).max(MIN_BURST);
        if params.burst() != Bytes::ZERO && params.burst() != burst {
            let what =
                format!("bursts up to {burst} (timer resolution) instead of {}", params.burst());
            self.note(path, &what);
        }
        Ok(())
    }

    /// Refuses a rate that HTB, which counts whole bytes per second, takes for none.
    fn refuse_slow(&self, path: &str, rate: Rate) -> Compiled<()> {
        match rate < MIN_HTB {
            true => {
                let what =
                    format!("{rate} is below the kernel's minimum for a class of HTB, {MIN_HTB}");
                Err(vec![Refusal::of_policy(path, &what, None)])
            }
            false => Ok(()),
        }
    }

    /// Classes of one priority, each with a rate that it gets first, and turns in proportion to it for what others leave.
    fn guaranteed(
        &mut self,
        classes: &Turns<RateRange>,
        path: &str,
        line: &mut Line,
    ) -> Compiled<Choice<usize>> {
        for (index, (rates, _)) in classes.classes().iter().enumerate() {
            self.refuse_slow(&format!("{path}.classes.{index}"), rates.at_least())?;
        }
        let floors = classes.classes().iter().map(|(rates, _)| rates.at_least().bits_per_sec());
        let smallest = floors.min().unwrap_or(1);
        let last = classes.classes().len() - 1;
        let names = names(classes.classifier(), last + 1, last);
        let each = classes.classes().iter().zip(names).enumerate();
        let each = gather(each.map(|(index, ((rates, queue), name))| {
            let path = format!("{path}.classes.{index}.queue.{}", queue.scheme());
            let turns = u128::from(rates.at_least().bits_per_sec()) * u128::from(FRAME.0);
            let quantum = Bytes((turns / u128::from(smallest)).min(MAX_QUANTUM.into()) as u64);
            let (floor, ceiling) = (Some(rates.at_least()), rates.at_most());
            let queue = self.discipline(queue, &path)?;
            let priority = line.priority;
            line.leaves.push(Leaf { name, priority, floor, ceiling, quantum, queue });
            Ok(Choice::Class(line.leaves.len() - 1))
        }))?;
        line.priority += 1;
        Ok(Choice::among(classes.classifier(), &each, last))
    }

    /// Classes of one priority, whose turns are HTB's: the nearest to deficit round robin.
    fn in_turn(
        &mut self,
        rota: &Rota<'_>,
        path: &str,
        ceiling: Option<Rate>,
        line: &mut Line,
    ) -> Compiled<Choice<usize>> {
        let refusal = Refusal::of_kernel(path, Kind::Drr, "drr");
        let nearest = "turns of HTB's classes, which also share by bytes, but each may exceed its \
            quantum by a packet";
        self.nearest(refusal, nearest, ())?;
        let names = names(&rota.classifier, rota.classes.len(), rota.otherwise);
        let each = rota.classes.iter().zip(names).enumerate();
        let each = gather(each.map(|(index, ((quantum, queue), name))| {
            let queue = queue.compile(self, &format!("{path}.classes.{index}.queue"))?;
            let priority = line.priority;
            let quantum = *quantum;
            line.leaves.push(Leaf { name, priority, floor: None, ceiling, quantum, queue });
            Ok(Choice::Class(line.leaves.len() - 1))
        }))?;
        line.priority += 1;
        Ok(Choice::among(&rota.classifier, &each, rota.otherwise))
    }

    /// Bands with a buffer each, where the policy has one for all.
    fn apart(
        &mut self,
        params: &SharedPriorityParams,
        path: &str,
        ceiling: Option<Rate>,
        line: &mut Line,
    ) -> Compiled<Choice<usize>> {
        let (classifier, otherwise) = self.shared(params, path)?;
        let fifo = FifoParams::new(params.limit()).expect("a checked queue has a limit");
        let names = names(&classifier, params.bands(), otherwise);
        let each: Vec<Choice<usize>> = names
            .iter()
            .map(|name| line.add(name, ceiling, FRAME, super::leaf::fifo(&fifo)))
            .collect();
        Ok(Choice::among(&classifier, &each, otherwise))
    }

    /// The bands of a shared buffer, where the nearest is asked for.
    pub(super) fn shared(
        &mut self,
        params: &SharedPriorityParams,
        path: &str,
    ) -> Compiled<(Classifier, usize)> {
        let limit: Length = params.limit();
        let what = "the kernel has no shared buffer in which a higher band can push out packets of a \
                lower one";
        let nearest = format!("strict priority with a buffer of {limit} for each band");
        self.nearest(Refusal::of_policy(path, what, None), &nearest, ())?;
        Ok(match params.band_of() {
            BandOf::Rules { classifier, otherwise } => (classifier.clone(), *otherwise),
            BandOf::CodePoint(table) => {
                by_code_point(params.bands(), |dscp| table.get(dscp).into())
            }
        })
    }
}

/// A rule for the code points of each band but one, which has the most of them.
pub(super) fn by_code_point(bands: usize, band_of: impl Fn(Dscp) -> usize) -> (Classifier, usize) {
    let all = || (0..Dscp::COUNT as u8).filter_map(Dscp::new);
    let of = |band| -> DscpSet { all().filter(|dscp| band_of(*dscp) == band).collect() };
    let rest = (0..bands).max_by_key(|band| of(*band).iter().count()).unwrap_or(0);
    let named = (0..bands).filter(|band| *band != rest);
    let rule = |band| (MultiField { dscps: Some(of(band)), ..MultiField::default() }, band);
    (Classifier::new(named.map(rule).collect()), rest)
}

/// Refuses guaranteed rates that exceed the line's together.
pub(super) fn refuse_beyond(guaranteed: Option<Rate>, rate: Rate, path: &str) -> Compiled<()> {
    let Some(guaranteed) = guaranteed.filter(|guaranteed| *guaranteed > rate) else {
        return Ok(());
    };
    let what = format!("its classes are guaranteed {guaranteed} together, but the line has {rate}");
    let hint = "lower `at_least` of some classes, or raise --rate";
    Err(vec![Refusal::of_policy(path, &what, Some(hint))])
}
