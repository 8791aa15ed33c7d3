//! `bench ebpf`: the marking program's time per packet.

use crate::bench_args::BenchEbpf;
use crate::console::Console;
use crate::failure::Failure;

/// `shortflow bench ebpf`.
#[cfg(not(target_os = "linux"))]
pub(crate) fn bench(_: &Console, _: &BenchEbpf) -> Result<(), Failure> {
    let what = "eBPF requires Linux\nmeasure it on a Linux machine";
    Err(Failure::Machine(what.to_owned()))
}

/// `shortflow bench ebpf`.
#[cfg(target_os = "linux")]
pub(crate) fn bench(console: &Console, args: &BenchEbpf) -> Result<(), Failure> {
    use serde_json::{Value, json};
    use shortflow_deploy::{Cost, Effort};
    use shortflow_text::columns;

    use crate::progress::Spinner;

    let spinner = Spinner::new(console);
    let effort = if args.quick { Effort::QUICK } else { Effort::FULL };
    let found = effort.costs(&mut |what| spinner.at(what));
    spinner.end();
    let found = found.map_err(|lacking| Failure::Machine(lacking.to_string()))?;
    if args.json {
        let row = |cost: &Cost| {
            let [median, p99] = cost.others;
            json!({
                "what": cost.what, "flows": cost.flows, "same_packet_ns": cost.again, "other_flows_median_ns": median,
                "other_flows_p99_ns": p99, "memory_bytes": cost.memory,
            })
        };
        let rows: Vec<Value> = found.iter().map(row).collect();
        return console.print_json(&json!({ "programs": rows }));
    }
    let head =
        ["ns a packet", "flows known", "the same again", "each of another flow", "p99", "memory"];
    let row = |cost: &Cost| {
        vec![
            cost.what.to_owned(),
            cost.flows.map_or_else(String::new, |flows| flows.to_string()),
            cost.again.map_or_else(String::new, |again| format!("{again:.0}")),
            format!("{:.0}", cost.others[0]),
            format!("{:.0}", cost.others[1]),
            format!("{:.1} MB", cost.memory as f64 / 1e6),
        ]
    };
    let rows = std::iter::once(head.map(str::to_owned).to_vec()).chain(found.iter().map(row));
    console.print(&columns(&rows.collect::<Vec<_>>(), 1))
}
