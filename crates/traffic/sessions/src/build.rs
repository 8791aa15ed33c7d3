//! From a workload of sessions to the sessions.

use shortflow_scenario::{NodeId, Scenario, WorkloadKind};
use shortflow_units::Instant;
use shortflow_workloads::{Busy, Visits};

use crate::ftp::FtpSession;
use crate::session::Session;
use crate::sessions::{Places, Sessions};
use crate::telnet::TelnetSession;
use crate::web::WebSession;

/// The sessions of workload number `index`, which the host knows as its source number `source`, in a replica with
/// this seed; none when it is no workload of sessions.
pub fn build(
    scenario: &Scenario,
    index: usize,
    seed: u64,
    replica: u32,
    source: u32,
) -> Option<Sessions> {
    let workload = &scenario.workloads[index];
    let name = &workload.name;
    let own_row = index as u16;
    let starts = |plan: &shortflow_workloads::Sessions<NodeId>| (0..).zip(plan.starts(seed, name));
    let (plan, row, all): (_, u16, Vec<Box<dyn Session>>) = match &workload.kind {
        WorkloadKind::Web(web) => {
            let rows = scenario.result_rows();
            let objects = rows.iter().rposition(|row| row.workload == index);
            let busy = match &web.visits {
                Visits::Browse { .. } => Busy::Wait,
                Visits::Replay { busy, .. } => *busy,
            };
            let session =
                |visitor| Box::new(WebSession::new(visitor, web.http, web.ranges, busy)) as Box<_>;
            let visitors = web.visitors(seed, name, replica);
            let row = objects.map_or(own_row, |row| row as u16);
            (&web.sessions, row, visitors.into_iter().map(session).collect())
        }
        WorkloadKind::Telnet(telnet) => {
            let session = |(number, start): (u32, Instant)| {
                let typist = telnet.typist(seed, name, number);
                let stop = telnet.sessions.stop;
                Box::new(TelnetSession::new(typist, telnet.character, start, stop)) as Box<_>
            };
            let sessions = &telnet.sessions;
            (sessions, own_row, starts(sessions).map(session).collect())
        }
        WorkloadKind::Ftp(ftp) => {
            let session = |(number, start): (u32, Instant)| {
                let files = ftp.files(seed, name, number);
                Box::new(FtpSession::new(files, start, ftp.sessions.stop)) as Box<_>
            };
            (&ftp.sessions, own_row, starts(&ftp.sessions).map(session).collect())
        }
        _ => return None,
    };
    let places = Places {
        workload: own_row,
        row,
        pairs: plan.pairs.clone(),
        port: plan.port,
        logs_accesses: scenario.measure.accesses,
    };
    Some(Sessions::new(source, places, all))
}
