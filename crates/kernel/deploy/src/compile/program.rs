//! Compiles queues to the plan of the BPF queueing discipline, which decides as the simulator's queues do.

use shortflow_ebpf::qdisc::{QdiscPlan, QdiscQueue, QdiscSchedule};
use shortflow_elements::classifier::Classifier;
use shortflow_elements::queue::{BandOf, ShaperParams};
use shortflow_policy::keys::Turns;
use shortflow_policy::{Policy, QueuePlan, Role};
use shortflow_units::{LinkLayer, Rate};

use super::early::{BUFFERS, real_time};
use super::line::{FRAME, by_code_point};
use super::names::names;
use super::{Compiled, Compiler, Refusal, Settings, gather};
use crate::bytecode::Choice;
use crate::kernel::Kind;
use crate::tree::{Discipline, Leaf, Tree};

/// Queues, and which packets are for which.
struct Queues {
    schedule: QdiscSchedule,
    classifier: Classifier,
    otherwise: usize,
}

/// The queues of `role` in one program.
pub(super) fn compile(
    policy: &Policy,
    role: &Role,
    queue: &QueuePlan,
    settings: &Settings,
) -> Compiled<Tree> {
    let mut compiler = Compiler { settings, notes: Vec::new() };
    let path = format!("roles.{}.queue.{}", role.name, queue.scheme());
    let (own, queue, path) = super::line::behind_shaper(queue, path);
    let rate = compiler.rate(own, &role.name)?;
    let burst = compiler.burst(&path, rate, own.map(ShaperParams::burst));
    let link_layer = compiler.own_layer(&path, own.map(ShaperParams::link_layer));
    super::line::refuse_beyond(queue.guaranteed(), rate, &path)?;
    let Queues { schedule, classifier, otherwise } = queues(queue, rate, &path)?;
    let refused = |why: String| vec![Refusal::of_policy(&path, &why, None)];
    let shaper = ShaperParams::new(rate, burst).map_err(|error| refused(error.to_string()))?;
    let shaper = shaper.with_link_layer(link_layer);
    let plan = QdiscPlan::new(&shaper, settings.link_header, &schedule, &classifier, otherwise);
    let plan = plan.map_err(|why| refused(why.to_string()))?;
    let (count, classes) = (schedule.queues(), schedule.classes());
    let leaf = |(priority, name): (usize, String)| {
        // Nobody else's queue comes of it: the program has it.
        let queue = Discipline::plain(Kind::BpfQdisc, String::new());
        let name = if count == 1 { "all".to_owned() } else { name };
        Leaf { name, priority, floor: None, ceiling: None, quantum: FRAME, queue }
    };
    let of_class = names(&classifier, classes, otherwise);
    let named = (0..classes).flat_map(|class| names_within(&schedule, class, &of_class[class]));
    let each: Vec<_> = (0..classes).map(|class| choice_within(&schedule, class)).collect();
    let choice = match &each[..] {
        [only] => only.clone(),
        each => Choice::among(&classifier, each, otherwise),
    };
    Ok(Tree {
        policy: policy.name.clone(),
        role: role.name.clone(),
        instead: None,
        rate,
        burst,
        link_layer,
        link_header: settings.link_header,
        leaves: named.enumerate().map(leaf).collect(),
        choice,
        has_place: !settings.kernel.lacks(Kind::Clsact),
        notes: compiler.notes,
        program: Some(plan),
    })
}

/// The names of a class's queues.
fn names_within(schedule: &QdiscSchedule, class: usize, name: &str) -> Vec<String> {
    match (schedule.queue(class), schedule.classes()) {
        (Some(QdiscQueue::Sima(_)), 1) => BUFFERS.map(str::to_owned).into(),
        (Some(QdiscQueue::Sima(_)), _) => BUFFERS.map(|buffer| format!("{name}, {buffer}")).into(),
        _ => vec![name.to_owned()],
    }
}

/// Which packets of a class belong to which of its queues.
fn choice_within(schedule: &QdiscSchedule, class: usize) -> Choice<usize> {
    let first = schedule.first_queue(class);
    match schedule.queue(class) {
        Some(QdiscQueue::Sima(params)) => {
            Choice::among(&real_time(params), &[first, first + 1].map(Choice::Class), 1)
        }
        _ => Choice::Class(first),
    }
}

fn queues(queue: &QueuePlan, rate: Rate, path: &str) -> Compiled<Queues> {
    Ok(match queue {
        QueuePlan::StrictPriority(bands) => {
            let each = each(bands, "bands", rate, path)?;
            let schedule =
                QdiscSchedule::Strict(each.into_iter().map(|((), queue)| queue).collect());
            in_turn(bands, schedule)
        }
        QueuePlan::Wrr(turns) => {
            in_turn(turns, QdiscSchedule::Weighted(each(turns, "classes", rate, path)?))
        }
        QueuePlan::Drr(turns) => {
            in_turn(turns, QdiscSchedule::Deficit(each(turns, "classes", rate, path)?))
        }
        QueuePlan::Wfq(params) => Queues {
            schedule: QdiscSchedule::Fair(params.clone()),
            classifier: params.classifier().clone(),
            otherwise: params.otherwise(),
        },
        QueuePlan::SharedPriority(params) => {
            let (classifier, otherwise) = match params.band_of() {
                BandOf::Rules { classifier, otherwise } => (classifier.clone(), *otherwise),
                BandOf::CodePoint(table) => {
                    by_code_point(params.bands(), |dscp| table.get(dscp).into())
                }
            };
            let (limit, queues) = (params.limit(), params.bands());
            Queues { schedule: QdiscSchedule::Shared { limit, queues }, classifier, otherwise }
        }
        queue => {
            let schedule = QdiscSchedule::Strict(vec![one(queue, rate, path)?]);
            Queues { schedule, classifier: Classifier::default(), otherwise: 0 }
        }
    })
}

/// Packets that match no class belong to the last.
fn in_turn<T: Copy>(turns: &Turns<T>, schedule: QdiscSchedule) -> Queues {
    let otherwise = turns.classes().len() - 1;
    Queues { schedule, classifier: turns.classifier().clone(), otherwise }
}

/// The queue of each class, with its share.
fn each<T: Copy>(
    turns: &Turns<T>,
    key: &str,
    rate: Rate,
    path: &str,
) -> Compiled<Vec<(T, QdiscQueue)>> {
    gather(turns.classes().iter().enumerate().map(|(index, (share, queue))| {
        let path = format!("{path}.{key}.{index}.queue.{}", queue.scheme());
        Ok((*share, one(queue, rate, &path)?))
    }))
}

/// A queue of one class.
fn one(queue: &QueuePlan, rate: Rate, path: &str) -> Compiled<QdiscQueue> {
    match queue {
        QueuePlan::Fifo(params) => Ok(QdiscQueue::Fifo(params.clone())),
        QueuePlan::Red(plan) | QueuePlan::MultiRed(plan) => Ok(QdiscQueue::Red(plan.params(rate))),
        QueuePlan::Sima(params) => Ok(QdiscQueue::Sima(params.clone())),
        QueuePlan::Stf(params) => Ok(QdiscQueue::Stf(params.clone())),
        QueuePlan::FqCodel(params) => Ok(QdiscQueue::FqCodel(params.clone())),
        QueuePlan::HostFair(params) => Ok(QdiscQueue::HostFair(params.clone())),
        other => {
            let what = format!("the BPF queueing discipline has no `{}` here", other.scheme());
            Err(vec![Refusal::of_policy(path, &what, None)])
        }
    }
}

impl Compiler<'_> {
    /// What a packet takes on the link, which the program counts exactly.
    fn own_layer(&mut self, path: &str, own: Option<LinkLayer>) -> LinkLayer {
        let own = own.filter(|own| *own != LinkLayer::RAW);
        let layer = self.settings.link_layer.or(own).unwrap_or_default();
        self.note_other_layer(path, own, layer);
        layer
    }
}
