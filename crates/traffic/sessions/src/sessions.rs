//! The sessions of a workload at work: whose turn it is, and who hears what.

use std::collections::BTreeSet;

use shortflow_measure::{Ends, Transfer};
use shortflow_scenario::NodeId;
use shortflow_units::Instant;

use crate::ask::Ask;
use crate::context::{Numbers, SessionContext};
use crate::dialogue::Link;
use crate::host::{ConnectionId, Host};
use crate::session::Session;

/// The sessions of a workload.
pub struct Sessions {
    source: u32,
    places: Places,
    slots: Vec<Slot>,
    /// When sessions act next, each with its number: those that wait for nothing else.
    due: BTreeSet<(Instant, u32)>,
    numbers: Numbers,
}

struct Slot {
    session: Box<dyn Session>,
    /// When it is due; never while it waits for the network.
    due: Instant,
}

/// Where sessions take place, and what they count for in results.
#[derive(Debug, Clone)]
pub struct Places {
    /// The index of the workload.
    pub workload: u16,
    /// The index of what connections carry, in results; the workload's own for most.
    pub row: u16,
    /// Clients and servers; session `i` takes place between pair `i` modulo their number.
    pub pairs: Vec<(NodeId, NodeId)>,
    /// The port of the servers.
    pub port: u16,
    /// Whether each page that is asked for is logged.
    pub logs_accesses: bool,
}

impl Places {
    pub(crate) fn pair_of(&self, session: u32) -> usize {
        session as usize % self.pairs.len()
    }

    /// A record of what no one connection of the session has carried.
    pub(crate) fn of_session(&self, session: u32, transfer: Transfer) -> Transfer {
        let (client, server) = self.pairs[self.pair_of(session)];
        let ends = Ends { client: client.0, server: server.0, ..Ends::default() };
        Transfer { workload: self.workload, ends, ..transfer }
    }
}

impl Sessions {
    /// Sessions at these places, which the host knows as its source number `source`.
    pub fn new(source: u32, places: Places, sessions: Vec<Box<dyn Session>>) -> Self {
        let slot = |session| Slot { session, due: Instant::NEVER };
        let slots: Vec<Slot> = sessions.into_iter().map(slot).collect();
        let (due, numbers) = (BTreeSet::new(), Numbers::default());
        let mut all = Sessions { source, places, slots, due, numbers };
        (0..all.slots.len() as u32).for_each(|session| all.arm(session, Instant::START));
        all
    }

    /// When a session acts next.
    pub fn next_at(&self) -> Instant {
        self.due.first().map_or(Instant::NEVER, |&(at, _)| at)
    }

    /// The index of the workload.
    pub fn workload(&self) -> u16 {
        self.places.workload
    }

    /// The port of the servers.
    pub fn port(&self) -> u16 {
        self.places.port
    }

    /// Lets all sessions act whose time has come.
    pub fn wake(&mut self, host: &mut dyn Host) {
        let now = host.now();
        while let Some(&(at, session)) = self.due.first()
            && at <= now
        {
            self.with_context(host, session, |session, context| session.wake(context));
        }
    }

    /// A connection of a session stands, or has brought something.
    pub fn heard(&mut self, host: &mut dyn Host, session: u32, connection: ConnectionId) {
        let now = host.now();
        self.with_context(host, session, |session, context| {
            if context.host.dialogue(connection).take_connected() {
                session.on_connected(context, connection);
            }
            let account = context.host.account(connection);
            while let Some((ask, transfer)) =
                context.host.dialogue(connection).take_reply(now, &account)
            {
                context.host.record_complete(&transfer);
                session.on_reply(context, &ask, &transfer);
            }
        });
    }

    /// A connection of a session broke.
    pub fn lost(&mut self, host: &mut dyn Host, session: u32, connection: ConnectionId) {
        self.with_context(host, session, |session, context| {
            let account = context.host.account(connection);
            let lost = context.host.dialogue(connection).break_off(&account);
            for (_, transfer) in &lost {
                context.host.record_failure(transfer);
            }
            let lost: Vec<Ask> = lost.into_iter().map(|(ask, _)| ask).collect();
            session.on_lost(context, connection, &lost);
        });
    }

    /// At the end: the records of what is not complete beyond what connections carry.
    pub fn unfinished(&self) -> impl Iterator<Item = Transfer> {
        (0..).zip(&self.slots).flat_map(move |(number, slot)| {
            let unfinished = slot.session.unfinished().into_iter();
            unfinished.map(move |transfer| self.places.of_session(number, transfer))
        })
    }

    /// How much that was due by `now` was not begun.
    pub fn held_back(&self, now: Instant) -> u64 {
        self.slots.iter().map(|slot| slot.session.held_back(now)).sum()
    }

    /// Lets a session act, and sets its timer.
    fn with_context(
        &mut self,
        host: &mut dyn Host,
        session: u32,
        act: impl FnOnce(&mut dyn Session, &mut SessionContext<'_>),
    ) {
        let now = host.now();
        let link = Link { source: self.source, session };
        let (places, numbers) = (&self.places, &mut self.numbers);
        let mut context = SessionContext { host, places, link, numbers };
        act(&mut *self.slots[session as usize].session, &mut context);
        self.arm(session, now);
    }

    fn arm(&mut self, session: u32, now: Instant) {
        let slot = &mut self.slots[session as usize];
        self.due.remove(&(slot.due, session));
        // What was due while the session waited is due now.
        slot.due = slot.session.next_at().max(now);
        if slot.due != Instant::NEVER {
            self.due.insert((slot.due, session));
        }
    }
}
