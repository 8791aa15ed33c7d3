//! Browsing sessions: a page, a time to think, the next page.

use std::collections::VecDeque;
use std::sync::Arc;

use shortflow_units::{Bytes, Duration, Instant, Rng};

use crate::{Access, Page, PageModel, Pages, Sessions, Sizes, Times};

/// Browsing sessions, each of a client at a server.
#[derive(Debug, Clone, PartialEq)]
pub struct Web<N> {
    /// Who browses where and when; each pair is (client, server).
    pub sessions: Sessions<N>,
    /// How a page is fetched.
    pub http: Http,
    /// From the last byte of a part to the request of the next, of which there is then one at a time;
    /// none when parts are asked for as soon as HTTP allows.
    pub gap: Option<Times>,
    /// Lengths of requests.
    pub request: Sizes,
    /// Which pages, and when.
    pub visits: Visits,
}

/// How a page is fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Http {
    /// HTTP/1.0 (RFC 1945): a connection for each object, closed by the server after its reply. The
    /// index, if there is one, comes first, then the objects over several connections at a time.
    V10 {
        /// The most connections of a session at a time, whatever number of pages it loads.
        connections: u32,
    },
    /// HTTP/1.1 (RFC 2616 §8.1): one persistent connection. When the index, if there is one, is
    /// there, all objects are asked for at once (pipelining), and come in this order.
    V11 {
        /// Whether the connection stays open between pages; else the client closes it when the page
        /// is complete.
        keep_alive: bool,
    },
}

/// What makes a session ask for its next page.
#[derive(Debug, Clone, PartialEq)]
pub enum Visits {
    /// A closed loop: the next page is asked for some time after the one before is complete.
    Browse {
        /// The pages.
        pages: PageModel,
        /// From the last byte of a page to the request of the next.
        think: Times,
    },
    /// An open loop: pages are asked for at logged times.
    Replay {
        /// The logs, each in the order of time; replica `i` has number `i` modulo their number.
        logs: Vec<Arc<[Access]>>,
        /// What a session does when the page before is not complete.
        busy: Busy,
    },
}

/// What a session that replays a log does when a page comes before the last one is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Busy {
    /// It loads both at a time: requests go out at their logged times, whatever the network does,
    /// while the limit of connections holds for all pages of the session together.
    Overlap,
    /// It waits: the page begins when the one before is complete, and its response time from there.
    Wait,
}

/// A visit to a page: what to ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visit {
    /// The page.
    pub page: Page,
    /// The length of the request of the index, if there is one, then of each object.
    pub requests: Vec<Bytes>,
    /// From the last byte of a part to the request of the next, for all parts but the last; none when
    /// nothing waits so.
    pub gaps: Option<Vec<Duration>>,
}

/// What one session visits.
#[derive(Debug, Clone)]
pub struct Visitor {
    rng: Rng,
    request: Sizes,
    gap: Option<Times>,
    plan: Plan,
    /// When the next page may be asked for, as far as that is known.
    next_at: Instant,
    stop: Instant,
}

#[derive(Debug, Clone)]
enum Plan {
    Browse { pages: Arc<Pages>, think: Times },
    Replay { log: VecDeque<Access> },
}

impl<N> Web<N> {
    /// What each session of the workload `name` visits in replica number `replica`, which has this
    /// seed.
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
    /// When the next page is to be asked for; never while that waits for a page to be complete, and
    /// never from the workload's stop on.
    pub fn next_at(&self) -> Instant {
        if self.next_at < self.stop { self.next_at } else { Instant::NEVER }
    }

    /// The page to ask for now.
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

    /// A page is complete, or given up.
    pub fn done(&mut self, now: Instant) {
        if let Plan::Browse { think, .. } = &self.plan {
            self.next_at = now + think.draw(&mut self.rng);
        }
    }

    /// How many pages the log has up to `now` that were not asked for.
    pub fn held_back(&self, now: Instant) -> u64 {
        match &self.plan {
            Plan::Browse { .. } => 0,
            Plan::Replay { log } => {
                log.iter().take_while(|a| a.at <= now && a.at < self.stop).count() as u64
            }
        }
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

    fn web(visits: Visits) -> Web<u32> {
        Web {
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
