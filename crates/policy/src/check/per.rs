//! Checks whose packets are accounted for together.

use shortflow_elements::{Aggregate, Per};
use shortflow_units::Duration;

use super::Checker;
use crate::file::{AggregateFile, PerFile};

impl Checker<'_> {
    /// Whose packets have an account of their own; none when all share one. An inner none is a
    /// mistake.
    pub(super) fn per(&mut self, path: &str, file: Option<&PerFile>) -> Option<Option<Per>> {
        let Some(PerFile(settings)) = file else { return Some(None) };
        let aggregate = match settings.each {
            AggregateFile::Flow => Aggregate::Flow,
            AggregateFile::HostPair => Aggregate::HostPair,
            AggregateFile::Source => Aggregate::Source,
            AggregateFile::Destination => Aggregate::Destination,
            AggregateFile::All => return Some(None),
        };
        let table_size = settings.table_size.unwrap_or(DEFAULT_TABLE_SIZE);
        let idle_timeout = settings.idle_timeout.unwrap_or(DEFAULT_IDLE_TIMEOUT);
        self.accept(&format!("{path}.per"), Per::new(aggregate, table_size, idle_timeout)).map(Some)
    }

    /// As [`per`](Self::per), where the account is a flow's by default and cannot be all packets'.
    pub(super) fn per_flow(&mut self, path: &str, file: Option<&PerFile>) -> Option<Per> {
        let Some(file) = file else {
            let per = Per::new(Aggregate::Flow, DEFAULT_TABLE_SIZE, DEFAULT_IDLE_TIMEOUT);
            return self.accept(path, per);
        };
        let per = self.per(path, Some(file))?;
        if per.is_none() {
            let message = "\"all\" would be one account for all packets";
            let help = "allowed here: `flow`, `host-pair`, `source`, `destination`";
            self.document.mistake(&format!("{path}.per"), message, help);
        }
        per
    }
}

/// Accounts that are kept; memory grows with those that there are.
const DEFAULT_TABLE_SIZE: usize = 65_536;
const DEFAULT_IDLE_TIMEOUT: Duration = Duration::from_secs(60);
