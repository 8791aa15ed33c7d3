//! Browsing sessions: pages, over a connection for each object or over one for all.

use std::collections::VecDeque;

use shortflow_measure::Transfer;
use shortflow_units::Instant;
use shortflow_workloads::{ACCESS_COLUMNS, Access, Busy, Http, Visit, Visitor};

use crate::ask::{Ask, Closing, Tag};
use crate::context::SessionContext;
use crate::host::ConnectionId;
use crate::session::Session;

/// A user who browses.
pub struct WebSession {
    visitor: Visitor,
    http: Http,
    /// Byte-range requests for each object; one if objects are requested whole.
    ranges: u32,
    busy: Busy,
    /// The pages under way, first come first.
    loading: VecDeque<Loading>,
    /// Pages begun.
    pages: u32,
    /// HTTP/1.0: connections over which something is under way.
    in_use: u32,
    /// HTTP/1.1: the connection.
    connection: Option<ConnectionId>,
}

/// A page under way.
struct Loading {
    number: u32,
    id: u64,
    visit: Visit,
    start: Instant,
    index: Index,
    /// How many objects were asked for.
    asked: usize,
    /// Where there are gaps: from when on the next part may be asked for.
    free_at: Instant,
    /// How much was asked for and is not complete, the index included.
    pending: usize,
    has_failed: bool,
    /// Whether its objects are requested in byte ranges.
    is_in_ranges: bool,
    /// What its parts have taken so far; the times are those of the first.
    sum: Transfer,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Index {
    Wanted,
    Asked,
    Here,
    Lost,
}

impl WebSession {
    /// A session that makes these visits.
    pub fn new(visitor: Visitor, http: Http, ranges: u32, busy: Busy) -> Self {
        WebSession {
            visitor,
            http,
            ranges,
            busy,
            loading: VecDeque::new(),
            pages: 0,
            in_use: 0,
            connection: None,
        }
    }

    fn begin(&mut self, context: &mut SessionContext<'_>) {
        let Some(visit) = self.visitor.visit() else { return };
        let (at, client) = (context.now(), context.session());
        context.log_access(ACCESS_COLUMNS, || {
            Access { at, client, page: visit.page.clone() }.to_string()
        });
        let visit = if self.ranges > 1 { visit.in_ranges(self.ranges) } else { visit };
        let sum = Transfer {
            request_bytes: visit.requests.iter().map(|request| request.0).sum(),
            reply_bytes: visit.page.size().0,
            ..Transfer::default()
        };
        self.loading.push_back(Loading {
            number: self.pages,
            id: context.begin_page(),
            free_at: at,
            start: at,
            index: if visit.page.index.is_some() { Index::Wanted } else { Index::Here },
            asked: 0,
            pending: 0,
            has_failed: false,
            is_in_ranges: self.ranges > 1,
            sum,
            visit,
        });
        self.pages += 1;
    }

    /// Asks for what may be asked for now.
    fn fetch(&mut self, context: &mut SessionContext<'_>) {
        match self.http {
            Http::V10 { connections } => {
                while self.in_use < connections
                    && let Some(ask) = self.next_ask(context.now())
                {
                    context.open(&[ask], Closing::ServerAfterReply);
                    self.in_use += 1;
                }
            }
            Http::V11 { keep_alive } => {
                let asks: Vec<Ask> = std::iter::from_fn(|| self.next_ask(context.now())).collect();
                match self.connection {
                    Some(connection) if !asks.is_empty() => context.ask(connection, &asks),
                    Some(connection) if self.loading.is_empty() && !keep_alive => {
                        context.close(connection);
                        self.connection = None;
                    }
                    None if !asks.is_empty() => {
                        self.connection = Some(context.open(&asks, Closing::Later));
                    }
                    _ => {}
                }
            }
        }
    }

    /// What is asked for next: of the first page that has something, its index, or the objects
    /// that the index has named.
    fn next_ask(&mut self, now: Instant) -> Option<Ask> {
        self.loading.iter_mut().find_map(|page| page.next_ask(now))
    }

    /// When the next page is to be begun.
    fn begins_at(&self) -> Instant {
        let waits = self.busy == Busy::Wait && !self.loading.is_empty();
        if waits { Instant::NEVER } else { self.visitor.next_at() }
    }

    fn page(&mut self, number: u32) -> &mut Loading {
        let first = self.loading.iter().position(|page| page.number == number);
        &mut self.loading[first.expect("a page is under way while something of it is")]
    }

    /// Ends the pages of which nothing more will come, and goes on.
    fn settle(&mut self, context: &mut SessionContext<'_>) {
        while let Some(at) = self.loading.iter().position(Loading::is_over) {
            let page = self.loading.remove(at).expect("it was found there");
            if page.has_failed {
                context.record_failure(page.record(context.now()));
            } else {
                context.record_page(page.record(context.now()));
            }
            self.visitor.done(context.now());
        }
        self.fetch(context);
    }
}

impl Session for WebSession {
    fn next_at(&self) -> Instant {
        let gaps = self.loading.iter().filter_map(Loading::gap_ends_at);
        gaps.fold(self.begins_at(), Instant::min)
    }

    fn wake(&mut self, context: &mut SessionContext<'_>) {
        while self.begins_at() <= context.now() {
            self.begin(context);
        }
        self.fetch(context);
    }

    fn on_reply(&mut self, context: &mut SessionContext<'_>, ask: &Ask, transfer: &Transfer) {
        self.in_use = self.in_use.saturating_sub(1);
        self.page(ask.tag.page).take(context.now(), ask.tag, transfer);
        self.settle(context);
    }

    fn on_lost(
        &mut self,
        context: &mut SessionContext<'_>,
        connection: ConnectionId,
        lost: &[Ask],
    ) {
        self.in_use = self.in_use.saturating_sub(lost.len() as u32);
        if self.connection == Some(connection) {
            self.connection = None;
        }
        for ask in lost {
            self.page(ask.tag.page).lose(context.now(), ask.tag);
        }
        self.settle(context);
    }

    fn unfinished(&self) -> Vec<Transfer> {
        let record =
            |page: &Loading| Transfer { id: page.id, start: page.start, ..page.sum.clone() };
        self.loading.iter().map(record).collect()
    }

    fn held_back(&self, now: Instant) -> u64 {
        self.visitor.held_back(now)
    }
}

impl Loading {
    /// When the gap before its next part ends, where it is in one.
    fn gap_ends_at(&self) -> Option<Instant> {
        let is_in_gap = self.visit.gaps.is_some() && self.pending == 0 && !self.is_over();
        is_in_gap.then_some(self.free_at)
    }

    fn next_ask(&mut self, now: Instant) -> Option<Ask> {
        let page = &self.visit.page;
        if self.visit.gaps.is_some() && (self.pending > 0 || now < self.free_at) {
            return None;
        }
        let (object, reply) = match self.index {
            Index::Wanted => {
                self.index = Index::Asked;
                (0, page.index.expect("only an index is wanted"))
            }
            Index::Here if self.asked < page.objects.len() => {
                self.asked += 1;
                (self.asked, page.objects[self.asked - 1])
            }
            _ => return None,
        };
        self.pending += 1;
        let tag = Tag { page: self.number, object: object as u32 };
        let request = self.visit.requests[object - self.first_object()];
        let is_range = self.is_in_ranges && object > 0;
        Some(Ask { tag, request: request.0, reply: reply.0, is_range })
    }

    /// The object of the first part: the index, or else the first object.
    fn first_object(&self) -> usize {
        usize::from(self.visit.page.index.is_none())
    }

    /// A part has come.
    fn take(&mut self, now: Instant, tag: Tag, part: &Transfer) {
        self.pending -= 1;
        self.wait(now, tag);
        if tag.object == 0 {
            self.index = Index::Here;
        }
        if tag.object as usize == self.first_object() {
            self.sum.handshake = part.handshake;
            self.sum.request = part.request;
        }
        self.sum.carried_bytes += part.reply_bytes;
        self.sum.retransmissions += part.retransmissions;
        self.sum.timeouts += part.timeouts;
        self.sum.syn_retransmissions += part.syn_retransmissions;
        self.sum.sent += part.sent;
        self.sum.dropped += part.dropped;
        for (sum, count) in self.sum.colors.iter_mut().zip(part.colors) {
            *sum += count;
        }
    }

    /// The gap after a part begins.
    fn wait(&mut self, now: Instant, tag: Tag) {
        let gaps = self.visit.gaps.as_ref();
        if let Some(gap) = gaps.and_then(|gaps| gaps.get(tag.object as usize - self.first_object()))
        {
            self.free_at = now + *gap;
        }
    }

    /// A part will never come.
    fn lose(&mut self, now: Instant, tag: Tag) {
        self.pending -= 1;
        self.wait(now, tag);
        self.has_failed = true;
        if tag.object == 0 {
            self.index = Index::Lost;
        }
    }

    fn is_over(&self) -> bool {
        let all_asked = match self.index {
            Index::Wanted | Index::Asked => false,
            Index::Here => self.asked == self.visit.page.objects.len(),
            Index::Lost => true,
        };
        all_asked && self.pending == 0
    }

    /// The record of a page that is complete at `now`: its handshake and its request are those of
    /// its first part, all the rest is the reply.
    fn record(&self, now: Instant) -> Transfer {
        let before = self.sum.handshake + self.sum.request;
        let reply = now.since(self.start).saturating_sub(before);
        Transfer { id: self.id, start: self.start, reply, ..self.sum.clone() }
    }
}
