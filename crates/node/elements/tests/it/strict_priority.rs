//! Strict priority, also over a child that is held back.

use shortflow_elements::classifier::{Classifier, DscpSet, MultiField};
use shortflow_elements::queue::{Fifo, FifoParams};
use shortflow_elements::scheduler::StrictPriority;
use shortflow_elements::{Backlog, DropReason, Drops, QueueDiscipline, Queued};
use shortflow_packet::{Dscp, Packet};
use shortflow_units::{Duration, Instant, Length};

use crate::bench::{Bench, P, ms, p};

/// A queue that gives at most one packet per `gap`.
pub(crate) struct Paced {
    inner: Fifo,
    gap: Duration,
    next: Instant,
}

impl Paced {
    pub(crate) fn new(inner: Fifo, gap: Duration) -> Self {
        Paced { inner, gap, next: Instant::START }
    }
}

impl QueueDiscipline for Paced {
    fn reserve(&mut self, packets: usize, flows: usize) {
        self.inner.reserve(packets, flows);
    }

    fn enqueue(&mut self, now: Instant, packet: Packet, drops: &mut Drops) {
        self.inner.enqueue(now, packet, drops);
    }

    fn dequeue(&mut self, now: Instant, drops: &mut Drops) -> Option<Queued> {
        if now < self.next {
            return None;
        }
        let queued = self.inner.dequeue(now, drops)?;
        self.next = now + self.gap;
        Some(queued)
    }

    fn ready_at(&self) -> Option<Instant> {
        self.inner.ready_at().map(|ready_at| ready_at.max(self.next))
    }

    fn backlog(&self) -> Backlog {
        self.inner.backlog()
    }
}

fn fifo(packets: u64) -> Fifo {
    Fifo::new(FifoParams::new(Length::Packets(packets)).unwrap())
}

/// EF before everything else.
fn ef_first(ef: impl QueueDiscipline + 'static) -> Bench<StrictPriority> {
    let is_ef = MultiField { dscps: Some(DscpSet::EMPTY.with(Dscp::EF)), ..MultiField::default() };
    let classifier = Classifier::new(vec![(is_ef, 0)]);
    Bench::new(StrictPriority::new(classifier, vec![Box::new(ef), Box::new(fifo(2))], 1).unwrap())
}

fn ef(number: u32) -> P {
    p(number).marked(Dscp::EF)
}

#[test]
fn the_first_class_goes_first_and_each_class_keeps_its_order() {
    let mut queue = ef_first(fifo(2));
    queue.at(ms(0)).takes(p(1)).takes(ef(2)).takes(p(3)).takes(ef(4));
    queue.at(ms(1)).gives(ef(2)).gives(ef(4)).gives(p(1));
    queue.at(ms(2)).takes(ef(5)).gives(ef(5)).gives(p(3)).gives_nothing();
}

#[test]
fn a_full_class_does_not_touch_the_others() {
    let mut queue = ef_first(fifo(2));
    queue.at(ms(0)).takes(p(1)).takes(p(2)).drops(p(3), DropReason::Overlimit).takes(ef(4));
    queue.holds(3, 3000);
}

#[test]
fn a_class_that_is_held_back_is_skipped_until_it_is_ready() {
    let mut queue = ef_first(Paced::new(fifo(3), Duration::from_millis(10)));
    queue.at(ms(0)).takes(ef(1)).takes(ef(2)).takes(p(3));
    queue.at(ms(0)).gives(ef(1)).gives(p(3)).gives_nothing();
    assert_eq!(queue.queue.ready_at(), Some(ms(10)));
    queue.at(ms(5)).takes(p(4));
    assert_eq!(queue.queue.ready_at(), Some(ms(5)));
    queue.at(ms(10)).gives(ef(2)).gives(p(4)).gives_nothing();
    assert_eq!(queue.queue.ready_at(), None);
}

#[test]
fn a_class_without_a_queue_is_refused() {
    let classifier = Classifier::new(vec![(MultiField::default(), 3)]);
    let refused = StrictPriority::new(classifier, vec![Box::new(fifo(1))], 0).err().unwrap();
    assert_eq!(refused.to_string(), "class 3 has no queue; there are 1 queues");
}
