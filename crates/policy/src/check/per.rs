//! Checks whose packets are accounted for together.

use shortflow_elements::{Aggregate, Per};
use shortflow_units::Duration;

use super::Checker;
use crate::file::{AggregateFile, PerFile};

impl Checker<'_> {
    /// Whose packets have an account of their own; none when all share one. An inner none is a
    /// mistake. A silence of `settled` makes an account as good as new.
    pub(super) fn per(
        &mut self,
        path: &str,
        file: Option<&PerFile>,
        settled: Duration,
    ) -> Option<Option<Per>> {
        let Some(PerFile(settings)) = file else { return Some(None) };
        let aggregate = match settings.each {
            AggregateFile::Flow => Aggregate::Flow,
            AggregateFile::HostPair => Aggregate::HostPair,
            AggregateFile::Source => Aggregate::Source,
            AggregateFile::Destination => Aggregate::Destination,
            AggregateFile::All => return Some(None),
        };
        let table_size = settings.table_size.unwrap_or(DEFAULT_TABLE_SIZE);
        let idle_timeout = settings.idle_timeout.unwrap_or(DEFAULT_IDLE_TIMEOUT.max(settled));
        let per = Per::new(aggregate, table_size, idle_timeout);
        let per = per.and_then(|per| per.settling_in(settled));
        self.accept(&format!("{path}.per"), per).map(Some)
    }

    /// As [`per`](Self::per), where the account is a flow's by default and cannot be all packets'.
    pub(super) fn per_flow(
        &mut self,
        path: &str,
        file: Option<&PerFile>,
        settled: Duration,
    ) -> Option<Per> {
        let Some(file) = file else {
            let idle_timeout = DEFAULT_IDLE_TIMEOUT.max(settled);
            let per = Per::new(Aggregate::Flow, DEFAULT_TABLE_SIZE, idle_timeout);
            return self.accept(path, per);
        };
        let per = self.per(path, Some(file), settled)?;
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
