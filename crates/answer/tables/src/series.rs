//! Time series of ports and of TCP flows.

use arrow_schema::SchemaRef;
use shortflow_measure::results::{Kept, TcpRow};
use shortflow_measure::{Run, TcpSample};

use crate::batch::{self, Cell, Fixed, Rows, bytes, integer, number, seconds, text};
use crate::case::Cases;
use crate::reader::Reader;
use crate::source::{self, Sources, Tabled};
use crate::table::Table;
use crate::transfers::Transfers;

pub(crate) const COLUMNS: [Fixed; 28] = [
    seconds("time_s"),
    text("port"),
    integer("queue_packets"),
    bytes("queue_bytes"),
    number("average_queue"),
    number("link_utilisation"),
    integer("open_transfers"),
    text("workload"),
    integer("id"),
    text("occasion"),
    text("client"),
    integer("client_port"),
    text("server"),
    integer("server_port"),
    text("sender"),
    text("state"),
    segments("cwnd"),
    segments("ssthresh"),
    seconds("srtt_s"),
    seconds("rttvar_s"),
    seconds("rto_s"),
    bytes("segment_bytes"),
    segments("outstanding"),
    segments("lost"),
    integer("retransmissions"),
    integer("timeouts"),
    segments("delivered"),
    segments("delivered_marked"),
];

const fn segments(name: &'static str) -> Fixed {
    (name, batch::Kind::Integer, "segments")
}

/// The first columns, of which flows have only the time; the others belong to flows.
const OF_PORTS: usize = 7;

/// The rows of ports, then those of TCP flows in the folders of the runs.
pub(crate) fn read(cases: Cases, schema: SchemaRef, runs: &[Run], rows: Transfers) -> Reader {
    let flows = source::in_files(runs, rows.folders(runs).into_iter());
    with_flows(cases, schema, runs, flows)
}

/// Reads the table of series about `runs`, with samples of TCP flows in memory, for each run.
pub fn read_series(runs: &[Run], samples: Vec<Vec<Kept<TcpSample>>>) -> Reader {
    let cases = Cases::new(runs);
    let schema = cases.schema(Table::Series);
    with_flows(cases, schema, runs, source::in_memory(samples))
}

fn with_flows(cases: Cases, schema: SchemaRef, runs: &[Run], flows: Sources<TcpSample>) -> Reader {
    let of_ports = ports(&cases, &schema, runs);
    let flows = source::batches(cases, &schema, flows);
    Reader::new(schema, Box::new(of_ports.into_iter().map(Ok).chain(flows)))
}

fn ports(cases: &Cases, schema: &SchemaRef, runs: &[Run]) -> Vec<arrow_array::RecordBatch> {
    let (mut rows, mut batches) = (Rows::new(schema), Vec::new());
    for (run, found) in runs.iter().enumerate() {
        for row in &found.series {
            let mut cells = [Cell::Nothing; COLUMNS.len()];
            let of_port: [Cell<'_>; OF_PORTS] = [
                row.time_s.into(),
                row.port.as_str().into(),
                row.queue_packets.into(),
                row.queue_bytes.into(),
                row.average.into(),
                f64::from(row.utilisation).into(),
                row.open_transfers.into(),
            ];
            cells[..OF_PORTS].copy_from_slice(&of_port);
            rows.push(&cases.replica(run, row.point, row.replica), &cells);
            if rows.is_full() {
                batches.push(rows.take());
            }
        }
    }
    if !rows.is_empty() {
        batches.push(rows.take());
    }
    batches
}

impl Tabled for TcpSample {
    fn put(row: &TcpRow<'_>, case: &[Cell<'_>], rows: &mut Rows) {
        rows.push(case, &cells(row));
    }
}

fn cells<'r>(row: &TcpRow<'r>) -> [Cell<'r>; COLUMNS.len()] {
    let mut cells = [Cell::Nothing; COLUMNS.len()];
    cells[0] = row.time_s.into();
    let of_flow: [Cell<'r>; COLUMNS.len() - OF_PORTS] = [
        row.workload.into(),
        row.id.into(),
        row.occasion.into(),
        row.client.into(),
        row.client_port.into(),
        row.server.into(),
        row.server_port.into(),
        row.sender.into(),
        row.state.into(),
        row.cwnd.into(),
        row.ssthresh.into(),
        row.srtt_s.into(),
        row.rttvar_s.into(),
        row.rto_s.into(),
        row.segment_bytes.into(),
        row.outstanding.into(),
        row.lost.into(),
        row.retransmissions.into(),
        row.timeouts.into(),
        row.delivered.into(),
        row.delivered_marked.into(),
    ];
    cells[OF_PORTS..].copy_from_slice(&of_flow);
    cells
}
