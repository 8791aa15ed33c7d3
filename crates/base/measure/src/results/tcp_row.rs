//! A row of the table of senders' states.

use serde::{Deserialize, Serialize};

use super::{Record, RowNames};
use crate::tcp_state::TcpSample;

/// One row of `tcp-info-*.csv`. Times in seconds, windows in segments, `segment_bytes` without headers; counts are since the
/// connection began. What a kernel does not report is empty.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "docs/reading-results.md explains each column")]
pub struct TcpRow<'r> {
    pub time_s: f64,
    pub workload: &'r str,
    pub id: Option<u64>,
    pub occasion: &'r str,
    pub client: &'r str,
    pub client_port: u16,
    pub server: &'r str,
    pub server_port: u16,
    pub sender: &'r str,
    pub state: &'r str,
    pub cwnd: u32,
    pub ssthresh: Option<u32>,
    pub srtt_s: f64,
    pub rttvar_s: f64,
    pub rto_s: f64,
    pub segment_bytes: u32,
    pub outstanding: u32,
    pub lost: u32,
    pub retransmissions: u32,
    pub timeouts: Option<u32>,
    pub delivered: Option<u32>,
    pub delivered_marked: Option<u32>,
    pub point: usize,
    pub replica: u32,
    pub policy: &'r str,
}

impl Record for TcpSample {
    type Row<'r> = TcpRow<'r>;

    const COLUMNS: &'static [&'static str] = &COLUMNS;

    fn file(point: usize, replica: u32) -> String {
        format!("tcp-info-{point:03}-{replica:03}.csv")
    }

    fn row<'r>(&'r self, names: &'r RowNames, point: usize, replica: u32) -> TcpRow<'r> {
        let TcpSample { at, occasion, workload, id, ends, is_server, state } = *self;
        let node = |index: u32| names.nodes.get(index as usize).map_or("", String::as_str);
        TcpRow {
            time_s: at.as_secs_f64(),
            workload: &names.workloads[usize::from(workload)],
            id,
            occasion: occasion.name(),
            client: node(ends.client),
            client_port: ends.client_port,
            server: node(ends.server),
            server_port: ends.server_port,
            sender: node(if is_server { ends.server } else { ends.client }),
            state: state.phase.name(),
            cwnd: state.window,
            ssthresh: state.threshold,
            srtt_s: state.round_trip.as_secs_f64(),
            rttvar_s: state.variation.as_secs_f64(),
            rto_s: state.timeout.as_secs_f64(),
            segment_bytes: state.segment,
            outstanding: state.outstanding,
            lost: state.lost,
            retransmissions: state.retransmissions,
            timeouts: state.timeouts,
            delivered: state.delivered,
            delivered_marked: state.marked,
            point,
            replica,
            policy: &names.policy,
        }
    }
}

/// The names of its columns, in their order.
const COLUMNS: [&str; 25] = [
    "time_s",
    "workload",
    "id",
    "occasion",
    "client",
    "client_port",
    "server",
    "server_port",
    "sender",
    "state",
    "cwnd",
    "ssthresh",
    "srtt_s",
    "rttvar_s",
    "rto_s",
    "segment_bytes",
    "outstanding",
    "lost",
    "retransmissions",
    "timeouts",
    "delivered",
    "delivered_marked",
    "point",
    "replica",
    "policy",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Ends, Occasion};
    use shortflow_units::Instant;

    #[test]
    fn the_names_of_columns_are_those_of_the_fields_in_their_order() {
        let names = RowNames { workloads: vec!["web".into()], ..RowNames::default() };
        let (at, occasion, ends) = (Instant::START, Occasion::Interval, Ends::default());
        let state = crate::TcpState::default();
        let sample =
            TcpSample { at, occasion, workload: 0, id: None, ends, is_server: true, state };
        let mut rows = csv::Writer::from_writer(Vec::new());
        rows.serialize(sample.row(&names, 0, 0)).unwrap();
        let text = String::from_utf8(rows.into_inner().unwrap()).unwrap();
        assert_eq!(text.lines().next().unwrap(), COLUMNS.join(","));
    }
}
