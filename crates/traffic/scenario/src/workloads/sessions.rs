//! Common keys of workloads with sessions, in which each action waits for the previous one.

use shortflow_units::Duration;
use shortflow_workloads::Sessions;

use crate::check::{Checker, MAX_FLOWS};
use crate::file::OneOrList;
use crate::model::NodeId;

/// The common keys of workloads with sessions.
pub(super) struct SessionKeys<'k> {
    /// The keys of the two ends, with their values.
    pub(super) pair: [(&'k str, &'k OneOrList<String>); 2],
    pub(super) sessions: Option<u32>,
    pub(super) port: u16,
    pub(super) start: Duration,
    pub(super) start_window: Duration,
    pub(super) stop: Option<Duration>,
}

impl Checker<'_> {
    /// The sessions of the keys at `path`, or `None` after a mistake.
    pub(super) fn sessions(
        &mut self,
        path: &str,
        keys: &SessionKeys<'_>,
    ) -> Option<Sessions<NodeId>> {
        let [from, to] = keys.pair;
        let pairs = self.pairs(path, from, to);
        let span = self.span(path, keys.start, keys.stop);
        let count = match (keys.sessions, &pairs) {
            (Some(count), _) if !(1..=MAX_FLOWS).contains(&count) => {
                let message = format!("sessions must be 1 to {MAX_FLOWS}; found {count}");
                self.document.mistake(&format!("{path}.sessions"), message, "");
                return None;
            }
            (Some(count), _) => count,
            (None, pairs) => pairs.as_ref()?.len() as u32,
        };
        let (start, stop) = span?;
        if start + keys.start_window > stop {
            let message = format!("start_window {} ends after the run", keys.start_window);
            let help = "shorten it: some sessions might never start";
            self.document.mistake(&format!("{path}.start_window"), message, help);
            return None;
        }
        let (pairs, port, start_window) = (pairs?, keys.port, keys.start_window);
        Some(Sessions { pairs, count, port, start, start_window, stop })
    }
}
