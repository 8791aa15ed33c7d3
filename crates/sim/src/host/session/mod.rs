//! Sessions at work: users that go on when the network has done what they asked for.
//!
//! ```text
//! engine ── wake, heard, lost ──▶ Sessions ──▶ Session ── open, ask, close, record ──▶ SessionContext
//! ```
//!
//! All sessions of a workload are one source, with timers of their own. A session acts
//! in a [`SessionContext`], through which it opens connections and speaks; the engine sends what that
//! gave rise to.

mod build;
mod dialogue;
mod ftp;
mod telnet;
mod web;

use shortflow_measure::{Recorder, Transfer};
use shortflow_units::Instant;

use crate::event::timers::Timers;
use crate::host::application::Application;
use crate::host::flow::{Flow, FlowId, Flows, Side};
use crate::host::ports::EphemeralPorts;
use crate::host::source::Connections;

pub(crate) use build::build;
pub(crate) use dialogue::{Ask, Closing, Dialogue, Link, Tag};

/// A user.
pub(crate) trait Session {
    /// When it acts next, if nothing comes before.
    fn next_at(&self) -> Instant;

    /// That time has come.
    fn wake(&mut self, context: &mut SessionContext<'_>);

    /// A connection that it opened stands.
    fn on_connected(&mut self, _context: &mut SessionContext<'_>, _flow: FlowId) {}

    /// What it asked for is complete.
    fn on_reply(&mut self, context: &mut SessionContext<'_>, ask: &Ask, transfer: &Transfer);

    /// A connection broke, and what was asked for over it will never come.
    fn on_lost(&mut self, context: &mut SessionContext<'_>, flow: FlowId, lost: &[Ask]);

    /// The records of what is not complete beyond what was asked for.
    fn unfinished(&self) -> Vec<Transfer> {
        Vec::new()
    }

    /// How much that was due by `now` was not begun.
    fn held_back(&self, _now: Instant) -> u64 {
        0
    }
}

/// The sessions of a workload.
pub(crate) struct Sessions {
    source: u32,
    connections: Connections,
    /// The index of what connections carry, in results; the workload's own for most.
    row: u16,
    logs_accesses: bool,
    slots: Vec<SessionSlot>,
    timers: Timers,
    numbers: Numbers,
}

struct SessionSlot {
    session: Box<dyn Session>,
    /// The entry of the timers that counts.
    armed: Instant,
}

/// How many transfers and pages were begun.
#[derive(Debug, Clone, Copy, Default)]
struct Numbers {
    asks: u64,
    pages: u64,
}

/// What sessions need of the engine.
pub(crate) struct World<'e> {
    pub(crate) now: Instant,
    pub(crate) flows: &'e mut Flows,
    pub(crate) recorder: &'e mut Recorder,
    pub(crate) ports: &'e mut EphemeralPorts,
    /// Connections that may have something to send.
    pub(crate) pending_sends: &'e mut Vec<PendingSend>,
}

/// A connection that a session has spoken over.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PendingSend {
    pub(crate) id: FlowId,
    /// It was opened just now.
    pub(crate) is_new: bool,
}

impl Sessions {
    /// The sessions of a workload, which is source number `source`.
    pub(crate) fn new(
        source: u32,
        connections: Connections,
        row: u16,
        logs_accesses: bool,
        sessions: impl Iterator<Item = Box<dyn Session>>,
    ) -> Self {
        let slot = |session| SessionSlot { session, armed: Instant::NEVER };
        let slots: Vec<SessionSlot> = sessions.map(slot).collect();
        let (timers, numbers) = (Timers::default(), Numbers::default());
        let mut all = Sessions { source, connections, row, logs_accesses, slots, timers, numbers };
        (0..all.slots.len() as u32).for_each(|session| all.arm(session, Instant::START));
        all
    }

    /// When a session acts next.
    pub(crate) fn next_at(&self) -> Instant {
        self.timers.next()
    }

    /// The index of the workload.
    pub(crate) fn workload(&self) -> u16 {
        self.connections.workload
    }

    /// Lets all sessions act whose time has come.
    pub(crate) fn wake(&mut self, mut world: World<'_>) {
        let now = world.now;
        while let Some((at, session)) = self.timers.pop(now) {
            let slot = &mut self.slots[session as usize];
            if slot.armed != at {
                continue;
            }
            slot.armed = Instant::NEVER;
            if slot.session.next_at() <= now {
                self.with_context(&mut world, session, |session, context| session.wake(context));
            } else {
                self.arm(session, now);
            }
        }
    }

    /// A connection of a session stands, or has brought something.
    pub(crate) fn heard(&mut self, mut world: World<'_>, session: u32, id: FlowId) {
        let now = world.now;
        self.with_context(&mut world, session, |session, context| {
            if context.flow(id).take_connected() {
                session.on_connected(context, id);
            }
            while let Some((ask, transfer)) = context.flow(id).take_reply(now) {
                context.world.recorder.transfer(&transfer);
                session.on_reply(context, &ask, &transfer);
            }
        });
    }

    /// A connection of a session broke.
    pub(crate) fn lost(&mut self, mut world: World<'_>, session: u32, id: FlowId) {
        let now = world.now;
        self.with_context(&mut world, session, |session, context| {
            let lost = context.flow(id).break_off();
            for (_, transfer) in &lost {
                context.world.recorder.failed_transfer(now, transfer);
            }
            let lost: Vec<Ask> = lost.into_iter().map(|(ask, _)| ask).collect();
            session.on_lost(context, id, &lost);
        });
    }

    /// At the end: what is not complete beyond what connections carry.
    pub(crate) fn record_open(&self, recorder: &mut Recorder) {
        for (number, slot) in self.slots.iter().enumerate() {
            let ends = self.connections.between(number);
            for transfer in slot.session.unfinished() {
                let workload = self.workload();
                recorder.open_transfer(&Transfer { workload, ends, ..transfer });
            }
        }
    }

    /// How much that was due by `now` was not begun.
    pub(crate) fn held_back(&self, now: Instant) -> u64 {
        self.slots.iter().map(|slot| slot.session.held_back(now)).sum()
    }

    /// Lets a session act, and sets its timer.
    fn with_context(
        &mut self,
        world: &mut World<'_>,
        session: u32,
        act: impl FnOnce(&mut dyn Session, &mut SessionContext<'_>),
    ) {
        let now = world.now;
        let mut context = SessionContext {
            world: World {
                now,
                flows: world.flows,
                recorder: world.recorder,
                ports: world.ports,
                pending_sends: world.pending_sends,
            },
            connections: &self.connections,
            row: self.row,
            logs_accesses: self.logs_accesses,
            link: Link { source: self.source, session },
            numbers: &mut self.numbers,
        };
        act(&mut *self.slots[session as usize].session, &mut context);
        self.arm(session, now);
    }

    fn arm(&mut self, session: u32, now: Instant) {
        let slot = &mut self.slots[session as usize];
        // What was due while the session waited is due now.
        let at = slot.session.next_at().max(now);
        self.timers.arm(session, &mut slot.armed, at);
    }
}

/// Where a session acts.
pub(crate) struct SessionContext<'e> {
    world: World<'e>,
    connections: &'e Connections,
    row: u16,
    logs_accesses: bool,
    link: Link,
    numbers: &'e mut Numbers,
}

impl SessionContext<'_> {
    /// The time.
    pub(crate) fn now(&self) -> Instant {
        self.world.now
    }

    /// The number of the session.
    pub(crate) fn session(&self) -> u32 {
        self.link.session
    }

    /// Opens a connection, to ask for these things over it.
    pub(crate) fn open(&mut self, asks: &[Ask], closing: Closing) -> FlowId {
        let now = self.world.now;
        let workload = self.connections.workload;
        let dialogue = Dialogue::new(self.link, workload, self.row, closing);
        let pair = self.connections.pair_of(self.link.session as usize);
        let application = Application::Dialogue(Box::new(dialogue));
        let new = self.connections.open(pair, application, self.world.ports, self.world.flows);
        let flow = Flow::new(new.key, &new.config, new.application);
        let (id, flow) = self.world.flows.insert(flow);
        flow.open(now);
        for &ask in asks {
            flow.ask(now, ask, self.numbers.asks);
            self.numbers.asks += 1;
        }
        self.world.pending_sends.push(PendingSend { id, is_new: true });
        id
    }

    /// Asks for these things over a connection that was opened before.
    pub(crate) fn ask(&mut self, id: FlowId, asks: &[Ask]) {
        let now = self.world.now;
        for &ask in asks {
            let number = self.numbers.asks;
            self.flow(id).ask(now, ask, number);
            self.numbers.asks += 1;
        }
        self.world.pending_sends.push(PendingSend { id, is_new: false });
    }

    /// The client closes a connection.
    pub(crate) fn close(&mut self, id: FlowId) {
        let now = self.world.now;
        self.flow(id).ends[Side::Client].tcp.close(now);
        self.world.pending_sends.push(PendingSend { id, is_new: false });
    }

    /// The number of a page that begins.
    pub(crate) fn begin_page(&mut self) -> u64 {
        self.numbers.pages += 1;
        self.numbers.pages - 1
    }

    /// A page is complete.
    pub(crate) fn record_page(&mut self, page: Transfer) {
        let page = self.of_workload(page);
        self.world.recorder.transfer(&page);
    }

    /// Something of the workload will never be complete.
    pub(crate) fn record_failure(&mut self, failed: Transfer) {
        let failed = self.of_workload(failed);
        self.world.recorder.failed_transfer(self.world.now, &failed);
    }

    /// A record of what several connections of the session may have carried.
    fn of_workload(&self, transfer: Transfer) -> Transfer {
        let ends = self.connections.between(self.link.session as usize);
        Transfer { workload: self.connections.workload, ends, ..transfer }
    }

    /// Logs that a page is asked for, where that is wanted.
    pub(crate) fn log_access(&mut self, columns: &str, line: impl FnOnce() -> String) {
        if self.logs_accesses {
            self.world.recorder.access(self.connections.workload, columns, line());
        }
    }

    fn flow(&mut self, id: FlowId) -> &mut Flow {
        let flow = self.world.flows.get_mut(id);
        flow.expect("a session knows which of its connections are open")
    }
}
