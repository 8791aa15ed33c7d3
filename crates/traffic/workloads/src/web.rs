//! Browsing sessions: a page, a time to think, the next page.

use std::collections::VecDeque;
use std::sync::Arc;

use shortflow_units::{Bytes, Duration, Instant, Rng};

use crate::{Access, Page, PageModel, Pages, Sessions, Sizes, Times};

/// Browsing sessions, each between a client and a server.
#[derive(Debug, Clone, PartialEq)]
pub struct Web<N> {
    /// The clients, servers and times; each pair is (client, server).
    pub sessions: Sessions<N>,
    /// How a page is fetched.
    pub http: Http,
    /// The pause from the last byte of a part to the request of the next, so that only one part is loaded at
    /// a time. `None` if parts are requested as soon as HTTP allows.
    pub gap: Option<Times>,
    /// Lengths of requests.
    pub request: Sizes,
    /// How many byte-range requests load each object (RFC 9110 §14), each over a connection of its own. At one, objects
    /// are requested whole.
    pub ranges: u32,
    /// Which pages, and when.
    pub visits: Visits,
}

/// How a page is fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Http {
    /// HTTP/1.0 (RFC 1945): a connection for each object, which the server closes after its reply. The index,
    /// if there is one, comes first, then the objects over several connections in parallel.
    V10 {
        /// The maximum number of parallel connections of a session, for all its pages together.
        connections: u32,
    },
    /// HTTP/1.1 (RFC 2616 §8.1): one persistent connection. When the index (if there is one) has arrived, all
    /// objects are requested at once (pipelining), and arrive in this order.
    V11 {
        /// Whether the connection stays open between pages; otherwise the client closes it when the page is
        /// complete.
        keep_alive: bool,
    },
}

/// What triggers the next page of a session.
#[derive(Debug, Clone, PartialEq)]
pub enum Visits {
    /// A closed loop: the next page is requested some time after the previous one is complete.
    Browse {
        /// The pages.
        pages: PageModel,
        /// The pause from the last byte of a page to the next request.
        think: Times,
    },
    /// An open loop: pages are requested at logged times.
    Replay {
        /// The logs, each in the order of time; replica `i` has number `i` modulo their number.
        logs: Vec<Arc<[Access]>>,
        /// What a session does if the previous page is not complete.
        busy: Busy,
    },
}

/// What a session that replays a log does if the previous page is not complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Busy {
    /// It loads both pages in parallel: requests are sent at their logged times, whatever the network does.
    /// The limit of connections applies to all pages of the session together.
    Overlap,
    /// It waits: the page, and its response time, begin when the previous page is complete.
    Wait,
}

/// A visit to a page: what to request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visit {
    /// The page.
    pub page: Page,
    /// The lengths of requests: for the index, if there is one, then for each object.
    pub requests: Vec<Bytes>,
    /// The pause before each part except the first. `None` if there are no pauses.
    pub gaps: Option<Vec<Duration>>,
}

/// The visits of one session.
#[derive(Debug, Clone)]
pub struct Visitor {
    rng: Rng,
    request: Sizes,
    gap: Option<Times>,
    plan: Plan,
    /// When the next page may be requested, as far as it is known.
    next_at: Instant,
    stop: Instant,
}

#[derive(Debug, Clone)]
enum Plan {
    Browse { pages: Arc<Pages>, think: Times },
    Replay { log: VecDeque<Access> },
}

impl<N> Web<N> {
    /// The visits of each session of the workload `name` in this replica, which has this seed.
    pub fn visitors(&self, seed: u64, name: &str, replica: u32) -> Vec<Visitor> {
        let sessions = &self.sessions;
        let visitor = |session: u32, plan: Plan, start: Instant| Visitor {
            rng: Sessions::<N>::rng(seed, name, session),
            request: self.request.clone(),
            gap: self.gap,
            next_at: match &plan {
                Plan::Browse { .. } => start,
                Plan::Replay { log } => log.front().map_or(Instant::NEVER, |access| access.at),
            },
            plan,
            stop: sessions.stop,
        };
        let starts = (0..).zip(sessions.starts(seed, name));
        match &self.visits {
            Visits::Browse { pages, think } => {
                let pages = Arc::new(pages.pages(seed, name));
                let plan = || Plan::Browse { pages: Arc::clone(&pages), think: *think };
                starts.map(|(session, start)| visitor(session, plan(), start)).collect()
            }
            Visits::Replay { logs, .. } => {
                let mut own = vec![VecDeque::new(); sessions.count as usize];
                for access in logs[replica as usize % logs.len()].iter() {
                    own[access.client as usize].push_back(access.clone());
                }
                let own = starts.zip(own);
                own.map(|((session, start), log)| visitor(session, Plan::Replay { log }, start))
                    .collect()
            }
        }
    }
}

impl Visitor {
    /// When the next page is requested. Never while that depends on a page that is not complete, and never
    /// after the workload's stop.
    pub fn next_at(&self) -> Instant {
        if self.next_at < self.stop { self.next_at } else { Instant::NEVER }
    }

    /// The page to request now.
    pub fn visit(&mut self) -> Option<Visit> {
        let page = match &mut self.plan {
            Plan::Browse { pages, .. } => {
                self.next_at = Instant::NEVER;
                pages.visit(&mut self.rng)
            }
            Plan::Replay { log } => {
                let access = log.pop_front()?;
                self.next_at = log.front().map_or(Instant::NEVER, |access| access.at);
                access.page
            }
        };
        let parts = page.parts();
        let requests = (0..parts).map(|_| self.request.draw(&mut self.rng)).collect();
        let gaps = self.gap.map(|gap| (1..parts).map(|_| gap.draw(&mut self.rng)).collect());
        Some(Visit { page, requests, gaps })
    }

    /// Reports that a page is complete or was abandoned.
    pub fn done(&mut self, now: Instant) {
        if let Plan::Browse { think, .. } = &self.plan {
            self.next_at = now + think.draw(&mut self.rng);
        }
    }

    /// The number of pages in the log up to `now` that were not requested.
    pub fn held_back(&self, now: Instant) -> u64 {
        match &self.plan {
            Plan::Browse { .. } => 0,
            Plan::Replay { log } => {
                log.iter().take_while(|a| a.at <= now && a.at < self.stop).count() as u64
            }
        }
    }
}

impl Visit {
    /// The same page, with each object in `ranges` parts that differ by a byte at most, each with the request of its object. An
    /// object has no more parts than bytes.
    #[must_use]
    pub fn in_ranges(self, ranges: u32) -> Visit {
        let first = usize::from(self.page.index.is_some());
        let mut requests = self.requests[..first].to_vec();
        let mut objects = Vec::new();
        for (&object, request) in self.page.objects.iter().zip(&self.requests[first..]) {
            let parts = u64::from(ranges).min(object.0).max(1);
            objects.extend(
                (0..parts).map(|i| Bytes((i + 1) * object.0 / parts - i * object.0 / parts)),
            );
            requests.extend((0..parts).map(|_| *request));
        }
        let page = Page { objects: objects.into(), ..self.page };
        Visit { page, requests, gaps: self.gaps }
    }
}

#[cfg(test)]
mod tests {
    use shortflow_units::Duration;

    use super::*;
    use crate::Counts;

    fn at(seconds: u64) -> Instant {
        Instant::START + Duration::from_secs(seconds)
    }

    #[test]
    fn an_object_in_ranges_has_parts_that_differ_by_a_byte_and_add_up_to_it() {
        let bytes = |sizes: &[u64]| sizes.iter().map(|size| Bytes(*size)).collect::<Vec<_>>();
        let page =
            Page { number: Some(3), index: Some(Bytes(500)), objects: bytes(&[10, 2]).into() };
        let visit = Visit { page, requests: bytes(&[7, 8, 9]), gaps: None }.in_ranges(4);
        assert_eq!(visit.page.objects[..], bytes(&[2, 3, 2, 3, 1, 1])[..], "no part is empty");
        assert_eq!(visit.requests, bytes(&[7, 8, 8, 8, 8, 9, 9]));
    }

    fn web(visits: Visits) -> Web<u32> {
        Web {
            ranges: 1,
            sessions: Sessions {
                pairs: vec![(0, 2), (1, 2)],
                count: 2,
                port: 80,
                start: at(1),
                start_window: Duration::ZERO,
                stop: at(100),
            },
            http: Http::V11 { keep_alive: false },
            gap: None,
            request: Sizes::Uniform { min: Bytes(200), max: Bytes(400) },
            visits,
        }
    }

    fn browsing() -> Web<u32> {
        let pages = PageModel {
            index: Some(Sizes::Exponential { mean: Bytes(3000) }),
            objects: Counts::uniform(0, 9),
            object: Sizes::Exponential { mean: Bytes(9000) },
            pool: None,
        };
        web(Visits::Browse { pages, think: Times::Exponential { mean: Duration::from_secs(2) } })
    }

    #[test]
    fn the_next_page_comes_a_think_time_after_the_one_before_is_complete() {
        let mut visitor = browsing().visitors(1, "web", 0).remove(0);
        assert_eq!(visitor.next_at(), at(1));
        let visit = visitor.visit().unwrap();
        assert_eq!(visit.requests.len(), visit.page.objects.len() + 1);
        assert_eq!(visit.gaps, None);
        assert_eq!(visitor.next_at(), Instant::NEVER, "while the page is loading");
        visitor.done(at(7));
        assert!(visitor.next_at() > at(7));
        visitor.visit().unwrap();
        visitor.done(at(100));
        assert_eq!(visitor.next_at(), Instant::NEVER, "from the stop on");
    }

    #[test]
    fn what_a_session_visits_does_not_depend_on_how_long_pages_take() {
        let visits = |seconds: u64| {
            let gap = Some(Times::Exponential { mean: Duration::from_millis(10) });
            let mut visitor = Web { gap, ..browsing() }.visitors(1, "web", 0).remove(1);
            let mut seen = Vec::new();
            for n in 1..6 {
                seen.push(visitor.visit().unwrap());
                visitor.done(at(n * seconds));
            }
            seen
        };
        assert_eq!(visits(1), visits(5));
        let gaps = |visit: &Visit| visit.gaps.as_ref().map(Vec::len);
        assert!(visits(1).iter().all(|visit| gaps(visit) == Some(visit.page.objects.len())));
    }

    #[test]
    fn a_log_is_replayed_by_each_client_at_its_times() {
        let access = |seconds, client| Access {
            at: at(seconds),
            client,
            page: Page { number: None, index: Some(Bytes(seconds)), objects: [].into() },
        };
        let logs = vec![vec![access(2, 0), access(3, 1), access(5, 0)].into(), vec![].into()];
        let web = web(Visits::Replay { logs, busy: Busy::Overlap });
        let mut visitors = web.visitors(1, "web", 0);
        let first = &mut visitors[0];
        assert_eq!(first.next_at(), at(2));
        assert_eq!(first.visit().unwrap().page.size(), Bytes(2));
        assert_eq!(first.next_at(), at(5), "whether the page before is complete or not");
        assert_eq!((first.held_back(at(4)), first.held_back(at(5))), (0, 1));
        assert_eq!(first.visit().unwrap().page.size(), Bytes(5));
        assert_eq!((first.next_at(), first.visit()), (Instant::NEVER, None));
        assert_eq!(visitors[1].next_at(), at(3));
        // The second replica has the second log, which is empty; the third has the first again.
        assert_eq!(web.visitors(1, "web", 1)[0].next_at(), Instant::NEVER);
        assert_eq!(web.visitors(1, "web", 2)[0].next_at(), at(2));
    }
}
