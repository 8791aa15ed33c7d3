//! `inline`: a policy's elements between two devices of this machine.

#[cfg(not(live))]
pub(crate) fn inline(
    _: &crate::console::Console,
    _: &crate::inline_args::Inline,
) -> Result<(), crate::failure::Failure> {
    let what = "`inline` requires Linux\nsimulate the policy, or run it on a Linux machine";
    Err(crate::failure::Failure::not_built("inline", what))
}

#[cfg(live)]
pub(crate) use on_linux::inline;

#[cfg(live)]
mod on_linux {
    use std::ops::ControlFlow;
    use std::time::SystemTime;

    use serde_json::{Value, json};
    use shortflow_deploy::{Warning, link};
    use shortflow_inline::{
        Bridge, Change, DirectionReport, Error, Plan, Report, acting_roles, warnings,
    };
    use shortflow_policy::QueuePlan;
    use shortflow_shipped as shipped;
    use shortflow_units::{Duration, Rate};

    use crate::console::Console;
    use crate::deploy::read;
    use crate::failure::Failure;
    use crate::inline_args::Inline;
    use crate::interrupt::stop_on_interrupt;
    use crate::live::Screen;

    impl From<Error> for Failure {
        fn from(error: Error) -> Self {
            match error.is_of_input() {
                true => Failure::Input(error.to_string()),
                false => Failure::Machine(error.to_string()),
            }
        }
    }

    /// How often it is shown what passes.
    const INTERVAL: Duration = Duration::from_secs(1);

    /// `shortflow inline`.
    pub(crate) fn inline(console: &Console, args: &Inline) -> Result<(), Failure> {
        let policy = read(console, &shipped::inputs(), &args.policy, &args.set)?;
        let refused = |error: &dyn std::error::Error| Failure::Input(error.to_string());
        let roles_of = |names| acting_roles(&policy, names).map_err(|error| refused(&error));
        let roles = roles_of(&args.role)?;
        let back = match &args.role_back[..] {
            [] => roles.clone(),
            names => roles_of(names)?,
        };
        let between: Vec<&str> = args.between.iter().map(|name| name.trim()).collect();
        let [first, second] = between[..] else {
            let what = format!(
                "--between names {}, and must name two devices: those between which packets pass\n\
                 separate them by a comma, as in `--between eth1,eth2`; `ip link` lists them",
                between.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
            );
            return Err(Failure::Input(what));
        };
        let devices = [first, second];
        let has_shaper =
            roles.iter().chain(&back).any(|role| matches!(role.queue, Some(QueuePlan::Shaper(_))));
        let rates = rates(args, devices)?;
        let layer = args.link.layer().unwrap_or_default();
        let plan = Plan::new(roles, rates, layer, args.seed.unwrap_or_else(any_seed));
        let plan = plan.and_then(|plan| plan.with_roles_back(back));
        let plan = plan.map_err(|error| refused(&error))?;
        let stop = stop_on_interrupt()?;
        let bridge = Bridge::join(devices)?;
        let router = shortflow_inline::Inline::attach(&bridge, devices, &plan);
        let mut router = router.inspect_err(|_| bridge.undo())?;
        let mut warned = warnings(&plan, devices)?;
        warned.extend(has_shaper.then(shaper_warning));
        announce(console, &policy.name, &bridge, rates, &router.report());
        warned.iter().for_each(|warning| console.warning(&warning.what, &warning.remedy));
        let screen = Screen::default();
        let (mut before, mut intervals) = (None::<Report>, 0);
        let done = router.run(stop, INTERVAL, |report| {
            intervals += 1;
            if args.json {
                // If the reader has gone, there is nobody to route for.
                if console.print(&format!("{}\n", as_json(report, &warned))).is_err() {
                    return ControlFlow::Break(());
                }
            } else if console.shows_progress() {
                screen.set_foot(foot(report, before.as_ref()));
            }
            before = Some(report.clone());
            match args.seconds {
                Some(seconds) if intervals >= seconds => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        })?;
        let change = router.change();
        drop(router);
        if args.json {
            return console.print(&format!("{}\n", as_json(&done, &warned)));
        }
        if console.shows_progress() {
            screen.set_foot(String::new());
        }
        tell_end(console, &bridge, change.as_ref());
        console.print(&text(&done))
    }

    fn shaper_warning() -> Warning {
        Warning {
            what: "the policy has a shaper of its own, whose rate and link layer limit packets besides --rate"
                .to_owned(),
            remedy: "set its rate above --rate, or take a policy without it".to_owned(),
        }
    }

    /// What becomes of packets now.
    fn tell_end(console: &Console, bridge: &Bridge, change: Option<&Change>) {
        let name = &bridge.name;
        if let Some(Change { what, undo, .. }) = change {
            let what =
                format!("the router has ended, and the bridge {name} or its ports changed: {what}");
            return match undo.as_str() {
                "" => console.note(&what),
                undo => console.warning(&what, undo),
            };
        }
        // A bridge of the user's own is the user's affair.
        let removal = match bridge.is_made_here() {
            true => format!(" (`ip link del {name}` removes it)"),
            false => String::new(),
        };
        console.note(&format!(
            "the router has ended; the bridge {name} forwards all packets{removal}"
        ));
    }

    /// The rates from the first device to the second, and back.
    fn rates(args: &Inline, devices: [&str; 2]) -> Result<[Rate; 2], Failure> {
        let speed = |device: &str| -> Result<Rate, Failure> {
            let none = || Error::NoRate { device: device.to_owned() }.into();
            link(device)?.speed.ok_or_else(none)
        };
        let there = args.rate.map_or_else(|| speed(devices[1]), Ok)?;
        let back = args.rate_back.or(args.rate).map_or_else(|| speed(devices[0]), Ok)?;
        match there.bits_per_sec() > 0 && back.bits_per_sec() > 0 {
            true => Ok([there, back]),
            false => Err(Failure::Input("the rate is zero\ngive a rate above zero".to_owned())),
        }
    }

    /// Elements of two runs decide differently, unless the user wants the same.
    fn any_seed() -> u64 {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        since.map_or(0, |since| since.as_nanos() as u64)
    }

    fn announce(
        console: &Console,
        policy: &str,
        bridge: &Bridge,
        rates: [Rate; 2],
        report: &Report,
    ) {
        let made = if bridge.is_new { "new " } else { "" };
        let ways = report
            .directions
            .iter()
            .zip(rates)
            .map(|(way, rate)| format!("{} at {rate}", way.name));
        let ways = ways.collect::<Vec<_>>().join(", ");
        console.note(&format!(
            "policy {policy:?} routes {ways}; both devices are ports of the {made}bridge {}; Ctrl-C ends it",
            bridge.name
        ));
        if !report.is_preferred {
            console.warning(
                "the router has no real-time priority, so other programs may delay packets",
                "run it as root, or give it CAP_SYS_NICE",
            );
        }
    }

    /// One line on what passes now.
    fn foot(report: &Report, before: Option<&Report>) -> String {
        let ways = report.directions.iter().enumerate().map(|(number, way)| {
            let bytes = before.map_or(0, |before| before.directions[number].bytes);
            let rate = Rate::from_bits_per_sec((way.bytes - bytes) * 8);
            let dropped: u64 = way.dropped.iter().map(|(_, count)| count).sum();
            format!("{}: {rate}, {} waiting, {dropped} dropped", way.name, way.backlog.packets)
        });
        ways.collect::<Vec<_>>().join(" | ")
    }

    /// The report as text.
    fn text(report: &Report) -> String {
        report.directions.iter().map(way_text).collect()
    }

    fn way_text(way: &DirectionReport) -> String {
        let mut text = format!(
            "{}\n  sent            {} packets, {} bytes\n  waiting         {} packets\n",
            way.name, way.packets, way.bytes, way.backlog.packets
        );
        let mut line =
            |name: &str, value: String| text.push_str(&format!("  {name:<15} {value}\n"));
        let dropped = way.dropped.iter().map(|(reason, count)| format!("{count} {reason}"));
        let dropped = dropped.collect::<Vec<_>>().join(", ");
        line("dropped", if dropped.is_empty() { "none".to_owned() } else { dropped });
        if way.ecn_marks > 0 {
            line("ECN marks", format!("{} packets", way.ecn_marks));
        }
        for class in &way.classes {
            let [green, yellow, red] = class.packets;
            line(
                &format!("class {}", class.class),
                format!("{green} green, {yellow} yellow, {red} red"),
            );
        }
        if way.to_bridge + way.too_long > 0 {
            let (other, long) = (way.to_bridge, way.too_long);
            line(
                "by the bridge",
                format!("{other} frames without IP, to many or to this machine; {long} too long"),
            );
        }
        if way.no_socket > 0 {
            let count = way.no_socket;
            line(
                "unshaped",
                format!("{count} frames by a queue that the device did not have at the start"),
            );
        }
        if way.while_silent > 0 {
            line(
                "unshaped",
                format!(
                    "{} frames that the bridge forwarded while the router was late",
                    way.while_silent
                ),
            );
        }
        if way.lost > 0 {
            line("lost", format!("{} frames that came faster than they were taken", way.lost));
        }
        text
    }

    fn as_json(report: &Report, warned: &[Warning]) -> Value {
        let ways = report.directions.iter().map(|way| {
            let dropped =
                way.dropped.iter().map(|(reason, count)| ((*reason).to_owned(), json!(count)));
            let classes = way.classes.iter().map(|class| {
                let marker =
                    class.marker.iter().map(|(name, count)| ((*name).to_owned(), json!(count)));
                json!({
                    "class": class.class,
                    "packets": class.packets,
                    "bytes": class.bytes,
                    "marker": marker.collect::<serde_json::Map<_, _>>(),
                })
            });
            json!({
                "direction": way.name,
                "packets": way.packets,
                "bytes": way.bytes,
                "waiting_packets": way.backlog.packets,
                "waiting_bytes": way.backlog.bytes.0,
                "dropped": dropped.collect::<serde_json::Map<_, _>>(),
                "ecn_marks": way.ecn_marks,
                "classes": classes.collect::<Vec<_>>(),
                "to_bridge": way.to_bridge,
                "too_long": way.too_long,
                "while_silent": way.while_silent,
                "no_socket": way.no_socket,
                "lost": way.lost,
            })
        });
        json!({
            "directions": ways.collect::<Vec<_>>(),
            "real_time": report.is_preferred,
            "warnings": warned.iter().map(Warning::json).collect::<Vec<_>>(),
        })
    }
}
