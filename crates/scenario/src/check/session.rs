//! Workloads of sessions: browsing, typing, files one after another.

use std::sync::Arc;

use shortflow_tcp::Config;
use shortflow_units::{Bytes, Duration};
use shortflow_workloads::{
    Access, Busy, Ftp, Http, PageModel, Sessions, Telnet, Visits, Web, parse_accesses,
};

use super::workloads::{Checker, MOST_FLOWS};
use super::{sizes, tcp, times};
use crate::file::{
    BusyFile, FtpFile, HttpFile, OneOrList, PageFile, ReplayFile, TelnetFile, WebFile,
};
use crate::model::{Kind, NodeId};

impl Checker<'_> {
    pub(super) fn web(&mut self, path: &str, file: &WebFile) -> Option<(Kind, Config)> {
        let config = tcp::check(self.document, &format!("{path}.tcp"), &file.tcp, &self.base);
        let mss = u64::from(config.mss);
        let keys = SessionKeys {
            pair: [("client", &file.client), ("server", &file.server)],
            sessions: file.sessions,
            port: file.port.unwrap_or(80),
            start: file.start.unwrap_or_default(),
            start_window: file.start_window.unwrap_or_default(),
            stop: file.stop,
        };
        let sessions = self.sessions(path, &keys);
        let request = sizes::check(self.document, &format!("{path}.request"), &file.request, mss);
        let http = self.http(path, file);
        let clients = sessions.as_ref().map(|sessions| sessions.count);
        let visits = self.visits(path, file, mss, clients);
        let web = Web { sessions: sessions?, http: http?, request: request?, visits: visits? };
        Some((Kind::Web(web), config))
    }

    fn http(&mut self, path: &str, file: &WebFile) -> Option<Http> {
        let connections = file.connections.unwrap_or(CONNECTIONS);
        if connections == 0 {
            let message = "connections must be 1 or more; found 0";
            self.document.mistake(&format!("{path}.connections"), message, "");
            return None;
        }
        Some(match file.http {
            HttpFile::V10 => Http::V10 { connections },
            HttpFile::V11 => Http::V11 { keep_alive: file.keep_alive },
        })
    }

    fn visits(
        &mut self,
        path: &str,
        file: &WebFile,
        mss: u64,
        clients: Option<u32>,
    ) -> Option<Visits> {
        match (&file.page, &file.think, &file.replay) {
            (Some(page), Some(think), None) => {
                let pages = self.page(&format!("{path}.page"), page, mss);
                let think = times::check(self.document, &format!("{path}.think"), think);
                Some(Visits::Browse { pages: pages?, think: think? })
            }
            (None, None, Some(replay)) => {
                let start = file.start.map(|_| "start");
                if let Some(key) = start.or(file.start_window.map(|_| "start_window")) {
                    let help = "remove the key, or change the times in the log";
                    let message = format!(
                        "`{key}` cannot stand beside `replay`: the log has the time of each page"
                    );
                    self.document.mistake(&format!("{path}.{key}"), message, help);
                }
                self.replay(&format!("{path}.replay"), replay, clients?)
            }
            _ => {
                let message = "a web workload needs either `page` and `think`, or `replay`";
                let help = "for example `think.exponential.mean = \"10 s\"` and a table `page`, or \
                            `replay.file = \"accesses.csv\"`";
                self.document.mistake(path, message, help);
                None
            }
        }
    }

    fn page(&mut self, path: &str, file: &PageFile, mss: u64) -> Option<PageModel> {
        let index = sizes::check(self.document, &format!("{path}.index"), &file.index, mss);
        let objects = times::counts(self.document, &format!("{path}.objects"), &file.objects);
        let object = sizes::check(self.document, &format!("{path}.object"), &file.object, mss);
        if let Some(pool) = file.pool.filter(|pool| !(1..=MOST_PAGES).contains(pool)) {
            let message = format!("pool must be 1 to {MOST_PAGES}; found {pool}");
            self.document.mistake(&format!("{path}.pool"), message, "");
            return None;
        }
        Some(PageModel { index: index?, objects: objects?, object: object?, pool: file.pool })
    }

    fn replay(&mut self, path: &str, file: &ReplayFile, clients: u32) -> Option<Visits> {
        let key = format!("{path}.file");
        if file.file.values.is_empty() {
            self.document.mistake(&key, "the list of logs is empty", "name at least one file");
            return None;
        }
        let each = file.file.values.iter().enumerate();
        let logs: Vec<Option<Arc<[Access]>>> = each
            .map(|(index, name)| {
                let key = if file.file.is_list { format!("{key}.{index}") } else { key.clone() };
                self.log(&key, name, clients)
            })
            .collect();
        let busy = match file.busy {
            BusyFile::Overlap => Busy::Overlap,
            BusyFile::Wait => Busy::Wait,
        };
        Some(Visits::Replay { logs: logs.into_iter().collect::<Option<_>>()?, busy })
    }

    fn log(&mut self, key: &str, name: &str, clients: u32) -> Option<Arc<[Access]>> {
        let (path, text) = match self.files.read(name) {
            Ok(found) => found,
            Err(reason) => {
                let message = format!("cannot read the log {name}: {reason}");
                self.document.mistake(
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
                self.document.mistake(key, format!("{path}, {error}"), help);
                None
            }
        }
    }

    pub(super) fn telnet(&mut self, path: &str, file: &TelnetFile) -> Option<(Kind, Config)> {
        let base = Config { nagle: true, ..self.base.clone() };
        let mut config = tcp::check(self.document, &format!("{path}.tcp"), &file.tcp, &base);
        // An era in it starts afresh.
        config.nagle = file.tcp.nagle.unwrap_or(true);
        let keys = SessionKeys {
            pair: [("client", &file.client), ("server", &file.server)],
            sessions: file.sessions,
            port: file.port.unwrap_or(23),
            start: file.start,
            start_window: file.start_window,
            stop: file.stop,
        };
        let sessions = self.sessions(path, &keys);
        let pause = times::check(self.document, &format!("{path}.pause"), &file.pause);
        let header = u64::from(config.header);
        let character = file.packet.0.saturating_sub(header);
        if !(1..=u64::from(config.mss)).contains(&character) {
            let message = format!("a packet of {} is too small to hold a character", file.packet);
            let most = Bytes(header + u64::from(config.mss));
            let help = format!(
                "the headers take {}, so packet must be {} to {most}",
                Bytes(header),
                Bytes(header + 1)
            );
            self.document.mistake(&format!("{path}.packet"), message, help);
            return None;
        }
        let character = character as u32;
        Some((Kind::Telnet(Telnet { sessions: sessions?, character, pause: pause? }), config))
    }

    pub(super) fn ftp(&mut self, path: &str, file: &FtpFile) -> Option<(Kind, Config)> {
        let config = tcp::check(self.document, &format!("{path}.tcp"), &file.tcp, &self.base);
        let keys = SessionKeys {
            pair: [("from", &file.from), ("to", &file.to)],
            sessions: file.sessions,
            port: file.port.unwrap_or(20),
            start: file.start,
            start_window: file.start_window,
            stop: file.stop,
        };
        let sessions = self.sessions(path, &keys);
        let mss = u64::from(config.mss);
        let size = sizes::check(self.document, &format!("{path}.size"), &file.size, mss);
        let pause = times::check(self.document, &format!("{path}.pause"), &file.pause);
        let ftp = Ftp { sessions: sessions?, size: size?, pause: pause? };
        Some((Kind::Ftp(ftp), config))
    }

    fn sessions(&mut self, path: &str, keys: &SessionKeys<'_>) -> Option<Sessions<NodeId>> {
        let [from, to] = keys.pair;
        let pairs = self.pairs(path, from, to);
        let span = self.span(path, keys.start, keys.stop);
        let count = match (keys.sessions, &pairs) {
            (Some(count), _) if !(1..=MOST_FLOWS).contains(&count) => {
                let message = format!("sessions must be 1 to {MOST_FLOWS}; found {count}");
                self.document.mistake(&format!("{path}.sessions"), message, "");
                return None;
            }
            (Some(count), _) => count,
            (None, pairs) => pairs.as_ref()?.len() as u32,
        };
        let (start, stop) = span?;
        if start + keys.start_window > stop {
            let message =
                format!("start_window {} reaches beyond the end of the run", keys.start_window);
            let help = "shorten it: some sessions might never start";
            self.document.mistake(&format!("{path}.start_window"), message, help);
            return None;
        }
        let (pairs, port, start_window) = (pairs?, keys.port, keys.start_window);
        Some(Sessions { pairs, count, port, start, start_window, stop })
    }
}

/// What all workloads of sessions say.
struct SessionKeys<'k> {
    /// Key and value for the two ends.
    pair: [(&'k str, &'k OneOrList<String>); 2],
    sessions: Option<u32>,
    port: u16,
    start: Duration,
    start_window: Duration,
    stop: Option<Duration>,
}

/// What browsers of the studies opened at a time, HTTP/1.0 (Noureddine & Tobagi 2002, §2.2.1;
/// Guo et al. 2005, §4.1).
const CONNECTIONS: u32 = 4;
const MOST_PAGES: u32 = 10_000_000;
