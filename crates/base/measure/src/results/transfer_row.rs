//! A row of the table of single transfers.

use serde::{Deserialize, Serialize};
use shortflow_units::Duration;

use super::{Record, RowNames};
use crate::transfer::{Transfer, TransferState};

/// One row of `transfers-*.csv`. Times in seconds; sizes in bytes without headers; from `retransmissions` to `other` counts of
/// packets or events. Times that a transfer did not reach are empty, and so are ports where several connections carried it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "docs/reading-results.md explains each column")]
pub struct TransferRow<'r> {
    pub workload: &'r str,
    pub id: u64,
    pub start_s: f64,
    pub completion_s: Option<f64>,
    pub handshake_s: Option<f64>,
    pub request_s: Option<f64>,
    pub reply_s: Option<f64>,
    pub request_bytes: u64,
    pub reply_bytes: u64,
    pub retransmissions: u32,
    pub timeouts: u32,
    pub syn_retransmissions: u32,
    pub sent: u32,
    pub dropped: u32,
    pub green: u32,
    pub yellow: u32,
    pub red: u32,
    pub other: u32,
    pub state: &'r str,
    pub counted: bool,
    pub age_s: f64,
    pub carried_bytes: u64,
    pub client: &'r str,
    pub client_port: Option<u16>,
    pub server: &'r str,
    pub server_port: Option<u16>,
    pub label: &'r str,
    pub point: usize,
    pub replica: u32,
    pub policy: &'r str,
}

/// A transfer at the end of its run, or when it was complete.
#[derive(Debug, Clone, PartialEq)]
pub struct Ended {
    /// The transfer.
    pub transfer: Transfer,
    /// What had become of it.
    pub state: TransferState,
    /// Whether it began after the warm-up.
    pub is_counted: bool,
    /// How old it was.
    pub age: Duration,
}

impl Record for Ended {
    type Row<'r> = TransferRow<'r>;

    const COLUMNS: &'static [&'static str] = &COLUMNS;

    fn file(point: usize, replica: u32) -> String {
        format!("transfers-{point:03}-{replica:03}.csv")
    }

    fn row<'r>(&'r self, names: &'r RowNames, point: usize, replica: u32) -> TransferRow<'r> {
        let Ended { transfer: t, state, is_counted, age } = self;
        let is_complete = *state == TransferState::Completed;
        let time = |time: Duration| is_complete.then(|| time.as_secs_f64());
        let node = |index: u32| names.nodes.get(index as usize).map_or("", String::as_str);
        let port = |port: u16| (port > 0).then_some(port);
        let workload = usize::from(t.workload);
        let [green, yellow, red, other] = t.colors;
        TransferRow {
            workload: &names.workloads[workload],
            id: t.id,
            start_s: t.start.as_secs_f64(),
            completion_s: time(*age),
            handshake_s: time(t.handshake),
            request_s: time(t.request),
            reply_s: time(t.reply),
            request_bytes: t.request_bytes,
            reply_bytes: t.reply_bytes,
            retransmissions: t.retransmissions,
            timeouts: t.timeouts,
            syn_retransmissions: t.syn_retransmissions,
            sent: t.sent,
            dropped: t.dropped,
            green,
            yellow,
            red,
            other,
            state: state.name(),
            counted: *is_counted,
            age_s: age.as_secs_f64(),
            carried_bytes: if is_complete { t.reply_bytes } else { t.carried_bytes },
            client: node(t.ends.client),
            client_port: port(t.ends.client_port),
            server: node(t.ends.server),
            server_port: port(t.ends.server_port),
            label: names.labels.get(workload).map_or("", String::as_str),
            point,
            replica,
            policy: &names.policy,
        }
    }
}

/// The names of its columns, in their order.
const COLUMNS: [&str; 30] = [
    "workload",
    "id",
    "start_s",
    "completion_s",
    "handshake_s",
    "request_s",
    "reply_s",
    "request_bytes",
    "reply_bytes",
    "retransmissions",
    "timeouts",
    "syn_retransmissions",
    "sent",
    "dropped",
    "green",
    "yellow",
    "red",
    "other",
    "state",
    "counted",
    "age_s",
    "carried_bytes",
    "client",
    "client_port",
    "server",
    "server_port",
    "label",
    "point",
    "replica",
    "policy",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_columns_are_those_of_the_fields_in_their_order() {
        let names =
            RowNames { workloads: vec!["web".into()], labels: vec![], ..RowNames::default() };
        let ended = Ended {
            transfer: Transfer::default(),
            state: TransferState::Open,
            is_counted: true,
            age: Duration::from_secs(1),
        };
        let mut rows = csv::Writer::from_writer(Vec::new());
        rows.serialize(ended.row(&names, 0, 0)).unwrap();
        let text = String::from_utf8(rows.into_inner().unwrap()).unwrap();
        assert_eq!(text.lines().next().unwrap(), COLUMNS.join(","));
        let record =
            csv::StringRecord::from(text.lines().nth(1).unwrap().split(',').collect::<Vec<_>>());
        let read: TransferRow<'_> = record.deserialize(None).unwrap();
        assert_eq!(read, ended.row(&names, 0, 0));
    }
}
