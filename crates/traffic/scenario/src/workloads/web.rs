//! `web`: browsing, one page after the other.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use shortflow_measure::Item;
use shortflow_tcp::Config;
use shortflow_units::{Bytes, Duration};
use shortflow_workloads::{Access, Busy, Http, PageModel, Times, Visits, Web, parse_accesses};

use super::sessions::SessionKeys;
use super::{PairEnd, ResultSizes, Traffic, WorkloadKeys};
use crate::check::{Checker, sizes, tcp, times};
use crate::file::{CountsFile, OneOrList, SizesFile, TcpFile, TimesFile};
use crate::model::{NodeId, Part};

/// Browsing over TCP: a page (its index, if it has one, then its objects), a think time, the next page. Set
/// `page` and `think`, or `replay`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "WebFile")]
pub(crate) struct Keys {
    /// Clients: a node, a group, a slice such as "user[2::5]", or a list of these.
    client: OneOrList<String>,
    /// Servers, in the same form.
    server: OneOrList<String>,
    /// Number of sessions. Default: one for each pair of nodes. Session i runs between the i-th pair, modulo
    /// the number of pairs.
    sessions: Option<u32>,
    /// "1.0": a connection for each object, several in parallel after the index. "1.1": one connection; all
    /// objects are requested at once when the index has arrived.
    http: HttpFile,
    /// HTTP/1.0: maximum number of parallel connections of a session. Default: 4.
    connections: Option<u32>,
    /// HTTP/1.1: whether the connection stays open between pages. Default: false.
    #[serde(default)]
    keep_alive: bool,
    /// HTTP/1.1: pause from the last byte of a part of a page to the request of the next, so that only one
    /// part is loaded at a time. Default: all objects are requested at once.
    gap: Option<TimesFile>,
    /// HTTP/1.0: byte-range requests that load each object, each over a connection of its own. Default: 1, the whole
    /// object.
    ranges: Option<u32>,
    /// Sizes of requests, one for the index and one for each object.
    request: SizesFile,
    /// The pages.
    page: Option<Box<PageFile>>,
    /// Think time, from the last byte of a page to the next request.
    think: Option<TimesFile>,
    /// Pages and times from a log, instead of `page` and `think`.
    replay: Option<ReplayFile>,
    /// Port of the server. Default: 80.
    port: Option<u16>,
    /// Earliest start. Default: 0 s.
    start: Option<Duration>,
    /// Sessions start uniformly within this time after `start`. Default: 0 s.
    start_window: Option<Duration>,
    /// No page is requested after this. Default: the end of the run.
    stop: Option<Duration>,
    /// Differences from the scenario's TCP.
    #[serde(default)]
    tcp: TcpFile,
    /// Label of its packets in policies at hosts. Default: the workload's name.
    label: Option<String>,
}

/// The version of HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
pub(crate) enum HttpFile {
    /// HTTP/1.0.
    #[serde(rename = "1.0")]
    V10,
    /// HTTP/1.1.
    #[serde(rename = "1.1")]
    V11,
}

/// Pages.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PageFile {
    /// Sizes of indexes, which list the objects. Without an index, the client knows all objects from the
    /// beginning.
    pub(crate) index: Option<SizesFile>,
    /// Number of objects embedded in a page; at least one if there is no index.
    pub(crate) objects: CountsFile,
    /// Sizes of objects.
    pub(crate) object: SizesFile,
    /// Number of pages, drawn once; each visit chooses one at random. Default: a new page for each visit.
    pub(crate) pool: Option<u32>,
}

/// Page requests from a log.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReplayFile {
    /// The log, relative to this file: CSV as `measure.accesses` writes it. With a list, replica i uses log
    /// i, modulo the number of logs.
    pub(crate) file: OneOrList<String>,
    /// What a session does if a page is due before the previous one is complete: "overlap" (default) loads
    /// both, "wait" delays the new one.
    #[serde(default)]
    pub(crate) busy: BusyFile,
}

/// What a session does if a page is due before the previous one is complete.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum BusyFile {
    /// Load both in parallel.
    #[default]
    Overlap,
    /// Start the page when the previous one is complete.
    Wait,
}

/// The checked workload; each pair is (client, server).
pub(super) type Plan = Web<NodeId>;

impl WorkloadKeys for Keys {
    type Plan = Plan;

    fn label(&self) -> Option<&String> {
        self.label.as_ref()
    }

    fn sizes_in_segments(&self) -> bool {
        false
    }

    fn check(&self, checker: &mut Checker<'_>, path: &str) -> Option<(Plan, Config)> {
        let config = tcp::check(checker.document, &format!("{path}.tcp"), &self.tcp, &checker.base);
        let mss = u64::from(config.mss);
        let keys = SessionKeys {
            pair: [("client", &self.client), ("server", &self.server)],
            sessions: self.sessions,
            port: self.port.unwrap_or(80),
            start: self.start.unwrap_or_default(),
            start_window: self.start_window.unwrap_or_default(),
            stop: self.stop,
        };
        let sessions = checker.sessions(path, &keys);
        let request =
            sizes::check(checker.document, &format!("{path}.request"), &self.request, mss);
        let http = self.http(checker, path);
        let gap = self.gap(checker, path);
        let clients = sessions.as_ref().map(|sessions| sessions.count);
        let visits = self.visits(checker, path, mss, clients);
        let ranges = self.ranges(checker, path);
        let (sessions, http, gap, ranges) = (sessions?, http?, gap?, ranges?);
        Some((Web { sessions, http, gap, request: request?, ranges, visits: visits? }, config))
    }
}

impl Keys {
    fn http(&self, checker: &mut Checker<'_>, path: &str) -> Option<Http> {
        let connections = self.connections.unwrap_or(CONNECTIONS);
        if connections == 0 {
            let message = "connections must be 1 or more; found 0";
            checker.document.mistake(&format!("{path}.connections"), message, "");
            return None;
        }
        Some(match self.http {
            HttpFile::V10 => Http::V10 { connections },
            HttpFile::V11 => Http::V11 { keep_alive: self.keep_alive },
        })
    }

    /// The gap between parts, if there is one. The outer `None` is a mistake.
    fn gap(&self, checker: &mut Checker<'_>, path: &str) -> Option<Option<Times>> {
        let Some(gap) = &self.gap else { return Some(None) };
        if self.http == HttpFile::V10 {
            let message = "`gap` requires `http = \"1.1\"`: under HTTP/1.0 each object has its own connection";
            let help = "remove `gap`, or set `http = \"1.1\"`";
            checker.document.mistake_in_key(&format!("{path}.gap"), message, help);
            return None;
        }
        times::check(checker.document, &format!("{path}.gap"), gap).map(Some)
    }

    /// The byte-range requests for each object.
    fn ranges(&self, checker: &mut Checker<'_>, path: &str) -> Option<u32> {
        let ranges = self.ranges.unwrap_or(1);
        let key = format!("{path}.ranges");
        if !(1..=MAX_RANGES).contains(&ranges) {
            let message = format!("ranges must be 1 to {MAX_RANGES}; found {ranges}");
            checker.document.mistake(&key, message, "");
            return None;
        }
        if ranges > 1 && self.http == HttpFile::V11 {
            let message =
                "`ranges` requires `http = \"1.0\"`: each part of an object has its own connection";
            let help = "remove `ranges`, or set `http = \"1.0\"`";
            checker.document.mistake_in_key(&key, message, help);
            return None;
        }
        Some(ranges)
    }

    fn visits(
        &self,
        checker: &mut Checker<'_>,
        path: &str,
        mss: u64,
        clients: Option<u32>,
    ) -> Option<Visits> {
        match (&self.page, &self.think, &self.replay) {
            (Some(page), Some(think), None) => {
                let pages = page_model(checker, &format!("{path}.page"), page, mss);
                let think = times::check(checker.document, &format!("{path}.think"), think);
                Some(Visits::Browse { pages: pages?, think: think? })
            }
            (None, None, Some(replay)) => {
                let start = self.start.map(|_| "start");
                if let Some(key) = start.or(self.start_window.map(|_| "start_window")) {
                    let help = "remove the key, or change the times in the log";
                    let message = format!(
                        "`{key}` cannot be combined with `replay`: the log has the time of each page"
                    );
                    checker.document.mistake(&format!("{path}.{key}"), message, help);
                }
                replay_of(checker, &format!("{path}.replay"), replay, clients?)
            }
            _ => {
                let message = "a web workload requires either `page` and `think`, or `replay`";
                let help = "for example `think.exponential.mean = \"10 s\"` and a table `page`, or \
                            `replay.file = \"accesses.csv\"`";
                checker.document.mistake(path, message, help);
                None
            }
        }
    }
}

fn page_model(
    checker: &mut Checker<'_>,
    path: &str,
    file: &PageFile,
    mss: u64,
) -> Option<PageModel> {
    let index = match &file.index {
        Some(index) => {
            sizes::check(checker.document, &format!("{path}.index"), index, mss).map(Some)
        }
        None => Some(None),
    };
    let objects = times::counts(checker.document, &format!("{path}.objects"), &file.objects);
    let object = sizes::check(checker.document, &format!("{path}.object"), &file.object, mss);
    if let Some(pool) = file.pool.filter(|pool| !(1..=MAX_PAGES).contains(pool)) {
        let message = format!("pool must be 1 to {MAX_PAGES}; found {pool}");
        checker.document.mistake(&format!("{path}.pool"), message, "");
        return None;
    }
    let is_empty = objects.as_ref().is_some_and(|objects| objects.constant_number() == Some(0));
    if file.index.is_none() && is_empty {
        let message = "a page without an index must have at least one object; found 0";
        let help = "give the page an `index`, or more objects";
        checker.document.mistake(&format!("{path}.objects.constant"), message, help);
        return None;
    }
    Some(PageModel { index: index?, objects: objects?, object: object?, pool: file.pool })
}

fn replay_of(
    checker: &mut Checker<'_>,
    path: &str,
    file: &ReplayFile,
    clients: u32,
) -> Option<Visits> {
    let key = format!("{path}.file");
    if file.file.values.is_empty() {
        checker.document.mistake(&key, "the list of logs is empty", "name at least one file");
        return None;
    }
    if file.file.values.len() as i64 > checker.replicas {
        let message = format!(
            "{} logs for {} replicas: each replica replays one log, so the last logs are not used",
            file.file.values.len(),
            checker.replicas
        );
        checker.document.warning(&key, message, "list at most as many logs as replicas");
    }
    let each = file.file.values.iter().enumerate();
    let logs: Vec<Option<Arc<[Access]>>> = each
        .map(|(index, name)| {
            let key = if file.file.is_list { format!("{key}.{index}") } else { key.clone() };
            log(checker, &key, name, clients)
        })
        .collect();
    let busy = match file.busy {
        BusyFile::Overlap => Busy::Overlap,
        BusyFile::Wait => Busy::Wait,
    };
    Some(Visits::Replay { logs: logs.into_iter().collect::<Option<_>>()?, busy })
}

fn log(checker: &mut Checker<'_>, key: &str, name: &str, clients: u32) -> Option<Arc<[Access]>> {
    let (path, text) = match checker.files.read(name) {
        Ok(found) => found,
        Err(reason) => {
            let message = format!("cannot read the log {name}: {reason}");
            checker.document.mistake(
                key,
                message,
                "the path is relative to the folder of this file",
            );
            return None;
        }
    };
    match parse_accesses(&text, clients) {
        Ok(accesses) => Some(accesses.into()),
        Err(error) => {
            let help = "a log has the columns time_s,client,page,index_bytes,object_bytes";
            checker.document.mistake(key, format!("{path}, {error}"), help);
            None
        }
    }
}

/// The number of parallel connections of browsers in the studies, for HTTP/1.0 (Noureddine & Tobagi 2002,
/// §2.2.1; Guo et al. 2005, §4.1).
const CONNECTIONS: u32 = 4;
const MAX_PAGES: u32 = 10_000_000;
/// Parts of an object.
const MAX_RANGES: u32 = 10_000;

impl Traffic for Plan {
    fn pairs(&self) -> &[(NodeId, NodeId)] {
        &self.sessions.pairs
    }

    fn item(&self, part: Part) -> Item {
        match part {
            Part::Whole => Item::Page,
            Part::Objects => Item::Object,
        }
    }

    fn sender(&self) -> PairEnd {
        PairEnd::Second
    }

    fn parts(&self) -> &[Part] {
        &[Part::Objects]
    }

    fn sizes(&self) -> Option<ResultSizes> {
        ResultSizes::from_distinct(page_sizes(&self.visits))
    }

    fn open(&self, _: f64) -> f64 {
        f64::from(self.sessions.count)
    }
}

/// The sizes of pages and of their parts, if all pages are alike.
fn page_sizes(visits: &Visits) -> Option<Vec<Bytes>> {
    let Visits::Browse { pages, .. } = visits else { return None };
    let index = match &pages.index {
        Some(index) => Some(index.constant()?),
        None => None,
    };
    let (object, objects) = (pages.object.constant()?, pages.objects.constant_number()?);
    let whole = Bytes(index.map_or(0, |index| index.0) + object.0 * u64::from(objects));
    let objects = if objects > 0 { vec![object, whole] } else { Vec::new() };
    Some(index.into_iter().chain(objects).collect())
}
