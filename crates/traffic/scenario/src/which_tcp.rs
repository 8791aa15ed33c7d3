//! The name of a scenario's TCP, for tables and reports.

use crate::model::{Scenario, Workload};

impl Scenario {
    /// The TCP of the workloads, for example `Linux today (CUBIC, RACK)`. If workloads differ, each TCP is
    /// followed by the names of its workloads: `Linux today (CUBIC, RACK) for web; …`. Empty if no workload
    /// uses TCP.
    pub fn tcp_description(&self) -> String {
        let mut users: Vec<(String, Vec<&str>)> = Vec::new();
        for workload in self.workloads.iter().filter(|workload| uses_tcp(workload)) {
            let what = workload.tcp.description();
            match users.iter_mut().find(|(other, _)| *other == what) {
                Some((_, names)) => names.push(&workload.name),
                None => users.push((what, vec![&workload.name])),
            }
        }
        match &users[..] {
            [] => String::new(),
            [(what, _)] => what.clone(),
            several => {
                let of_each = |(what, names): &(String, Vec<&str>)| {
                    format!("{what} for {}", names.join(", "))
                };
                several.iter().map(of_each).collect::<Vec<_>>().join("; ")
            }
        }
    }
}

fn uses_tcp(workload: &Workload) -> bool {
    workload.kind.uses_tcp()
}
