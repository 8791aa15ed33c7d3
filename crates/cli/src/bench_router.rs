//! `bench router` and `bench inline`: how fast packets are forwarded.

use crate::bench_args::BenchRouter;
use crate::console::Console;
use crate::failure::Failure;

/// Which router is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Router {
    /// That of rehearsals.
    OfRehearsals,
    /// That between two devices.
    Inline,
}

/// `shortflow bench router` and `shortflow bench inline`.
#[cfg(live)]
pub(crate) fn bench(console: &Console, which: Router, args: &BenchRouter) -> Result<(), Failure> {
    use serde_json::json;
    use shortflow_rehearse::{SpeedPlan, Way, measure_speed, summary};
    use shortflow_run::Error;

    let seconds = args.time.as_secs_f64();
    if seconds <= 0.0 {
        return Err(Failure::Input("--time must be above 0\nas in --time '1 s'".to_owned()));
    }
    let (ways, reference) = match which {
        Router::OfRehearsals => (Way::ROUTER, "the FIFO"),
        Router::Inline => (Way::INLINE, "the bare one"),
    };
    let plan = SpeedPlan {
        ways: linux::chosen(ways, &args.ways)?,
        sizes: args.sizes.clone(),
        rounds: args.rounds,
        seconds,
    };
    let stop = crate::interrupt::stop_on_interrupt()?;
    let going_on = || !stop.load(std::sync::atomic::Ordering::Relaxed);
    let found = measure_speed(&plan, &mut |_| going_on()).map_err(|error| match error {
        Error::Interrupted => Failure::Interrupted("interrupted; no figures are kept".to_owned()),
        other => other.into(),
    })?;
    let ways = summary(&found);
    let warnings: Vec<String> = ways.iter().filter_map(linux::warning).collect();
    if args.json {
        let rows: Vec<_> = ways.iter().map(linux::row_as_json).collect();
        let found = json!({
            "rounds": args.rounds, "seconds": seconds, "ways": rows, "warnings": warnings,
        });
        return console.print_json(&found);
    }
    console.print(&format!("{}\n", linux::head(reference)))?;
    ways.iter().try_for_each(|row| console.print(&format!("{}\n", linux::row(row))))?;
    warnings.iter().for_each(|warning| console.warning(warning, linux::REMEDY));
    Ok(())
}

/// `shortflow bench router` and `shortflow bench inline`.
#[cfg(not(live))]
pub(crate) fn bench(_: &Console, which: Router, _: &BenchRouter) -> Result<(), Failure> {
    let what = "hosts are network namespaces, which require Linux\nmeasure it on a Linux machine";
    let command = match which {
        Router::OfRehearsals => "bench router",
        Router::Inline => "bench inline",
    };
    Err(Failure::not_built(command, what))
}

#[cfg(live)]
mod linux {
    use serde_json::{Value, json};
    use shortflow_rehearse::{SpeedSummary, Spread, Way};
    use shortflow_text::suggestion;

    use crate::failure::Failure;

    /// The ways of these names, in the order of `all`; all of them without names.
    pub(super) fn chosen(all: &[Way], names: &[String]) -> Result<Vec<Way>, Failure> {
        let known: Vec<&str> = all.iter().map(|way| way.name()).collect();
        if let Some(unknown) = names.iter().find(|name| !known.contains(&name.as_str())) {
            let help = suggestion(unknown, "ways", &known);
            return Err(Failure::Input(format!("unknown way `{unknown}` in --ways\n{help}")));
        }
        let is_chosen =
            |way: &&Way| names.is_empty() || names.iter().any(|name| name == way.name());
        Ok(all.iter().filter(is_chosen).copied().collect())
    }

    pub(super) fn head(reference: &str) -> String {
        let of = format!("of {reference}");
        format!(
            "{:<15}  {:>5}  {:>25}  {of:<20}  {:>13}  {of:<20}  {:>12}  {:>28}",
            "way",
            "bytes",
            "packets/s (least to most)",
            "CPU ns/packet",
            "late p99, us",
            "delay p99, us (at half load)"
        )
    }

    pub(super) fn row(row: &SpeedSummary) -> String {
        let SpeedSummary {
            way,
            size,
            per_second,
            cpu_nanos,
            of_reference,
            of_reference_by_cpu,
            late_nanos,
            delay_nanos,
            sender_late_nanos: _,
        } = row;
        let ratio = |of: &Option<Spread>| {
            of.map_or("–".to_owned(), |ratio| {
                let Spread { median, min, max } = ratio;
                format!("{median:.3} ({min:.3} to {max:.3})")
            })
        };
        let or_none = |spread: &Option<Spread>, unit: f64| {
            spread.map_or("–".to_owned(), |spread| format!("{:.0}", spread.median / unit))
        };
        format!(
            "{:<15}  {size:>5}  {:>25}  {:<20}  {:>13}  {:<20}  {:>12}  {:>28}",
            way.name(),
            format!("{:.0} ({:.0} to {:.0})", per_second.median, per_second.min, per_second.max),
            ratio(of_reference),
            or_none(cpu_nanos, 1.0),
            ratio(of_reference_by_cpu),
            or_none(late_nanos, 1000.0),
            or_none(delay_nanos, 1000.0),
        )
    }

    /// What to do about a warning.
    pub(super) const REMEDY: &str =
        "other programs kept a processor busy; measure again on an idle machine";

    /// What a reader of the row must know.
    pub(super) fn warning(row: &SpeedSummary) -> Option<String> {
        row.is_delay_of_sender().then(|| {
            let micros = |spread: Option<Spread>| spread.map_or(0.0, |it| it.median / 1000.0);
            format!(
                "{} with {} bytes: the sender itself sent {:.0} us late, so the delay of {:.0} us says little about the \
                 router",
                row.way.name(),
                row.size,
                micros(row.sender_late_nanos),
                micros(row.delay_nanos)
            )
        })
    }

    pub(super) fn row_as_json(row: &SpeedSummary) -> Value {
        let spread = |spread: &Spread| json!({ "median": spread.median, "least": spread.min, "most": spread.max });
        json!({
            "way": row.way.name(),
            "bytes": row.size,
            "packets_per_second": spread(&row.per_second),
            "of_reference": row.of_reference.as_ref().map(spread),
            "of_reference_by_cpu": row.of_reference_by_cpu.as_ref().map(spread),
            "cpu_ns_per_packet": row.cpu_nanos.as_ref().map(spread),
            "late_p99_ns": row.late_nanos.as_ref().map(spread),
            "delay_p99_ns_at_half_load": row.delay_nanos.as_ref().map(spread),
            "sender_late_p99_ns_at_half_load": row.sender_late_nanos.as_ref().map(spread),
        })
    }
}
