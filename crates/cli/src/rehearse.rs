//! `rehearse`.

use crate::args::Rehearse;
use crate::console::Console;
use crate::failure::Failure;

#[cfg(not(target_os = "linux"))]
pub(crate) fn rehearse(_: &Console, _: &Rehearse) -> Result<(), Failure> {
    rehearsal_over_ipv4().map(|_| ())
}

/// The engine whose workloads speak IPv4.
#[cfg(not(target_os = "linux"))]
pub(crate) fn rehearsal_over_ipv4() -> Result<&'static dyn shortflow_run::Engine, Failure> {
    let what = "hosts are network namespaces, which only Linux has\nsimulate it, or rehearse it on a Linux machine";
    Err(Failure::Machine(what.to_owned()))
}

#[cfg(target_os = "linux")]
pub(crate) use on_linux::{rehearsal_over_ipv4, rehearse};

#[cfg(target_os = "linux")]
mod on_linux {
    use std::sync::atomic::Ordering;

    use shortflow_rehearse::{Attended, Guests, IpVersion, PortKind, Rehearsal};
    use shortflow_run::{Case, Engine, Error};
    use shortflow_text::InputFiles;
    use shortflow_trace::Request;

    use super::{Console, Failure, Rehearse};
    use crate::args::{self, RunOne};
    use crate::guests::{Crew, guests, refuse_several};
    use crate::interrupt::stop_on_interrupt;
    use crate::simulate::{Looking, case, conduct, request, target};

    /// How long traffic goes on that has no end of its own.
    const ENDLESS: &str = "24 h";

    /// `shortflow rehearse`.
    pub(crate) fn rehearse(console: &Console, args: &Rehearse) -> Result<(), Failure> {
        let RunOne { scenario, policy, options } = &args.run;
        let inputs = InputFiles::default();
        let rehearsal = rehearsal(args);
        let engine: &dyn Engine = &rehearsal;
        let case =
            |set: &[(&str, &str)]| case(&inputs, engine, scenario, policy.as_deref(), options, set);
        if args.until_done {
            return until_done(console, args, &case(&[("duration", ENDLESS)])?);
        }
        let case = case(&[])?;
        let target = target(options, &case.loaded.name, "-rehearsed");
        let trace = request(console, &args.trace, &case.loaded)?;
        let trace = trace.map(|trace| args.trace_snap.into_iter().fold(trace, Request::keep_first));
        let looking = Looking { trace: trace.as_ref(), tcp_info: args.tcp_info };
        if args.with.is_empty() {
            return conduct(console, options, &[case], looking, &target);
        }
        refuse_several(&case.loaded, true)?;
        let all = guests(&case.loaded.points()[0].scenario, &args.with)?;
        let crew = Crew::new(*console, &args.with);
        let guests = Guests { all: &all, audience: &crew };
        let attended = Attended { rehearsal, guests };
        let cases = Case::by_each(vec![case], &[&attended]);
        conduct(&console.shared(), options, &cases, looking, &target)?;
        crew.end()
    }

    /// The engine whose workloads speak IPv4.
    pub(crate) fn rehearsal_over_ipv4() -> Result<&'static dyn Engine, Failure> {
        Ok(&Rehearsal::OVER_IPV4)
    }

    fn rehearsal(args: &Rehearse) -> Rehearsal {
        let ip = if args.ipv6 { IpVersion::V6 } else { IpVersion::V4 };
        let ports = match args.ports {
            args::Ports::Tun => PortKind::Tun,
            args::Ports::Packet => PortKind::Packet,
            args::Ports::Xdp => PortKind::Xdp,
        };
        Rehearsal { ip, ports }
    }

    /// Runs programs until the last of them has ended.
    fn until_done(console: &Console, args: &Rehearse, case: &Case<'_>) -> Result<(), Failure> {
        refuse_several(&case.loaded, false)?;
        let scenario = &case.loaded.points()[0].scenario;
        let all = guests(scenario, &args.with)?;
        console.warnings(&case.loaded.warnings);
        let crew = Crew::new(*console, &args.with);
        let guests = Guests { all: &all, audience: &crew };
        let attended = Attended { rehearsal: rehearsal(args), guests };
        attended.check(scenario).map_err(Error::from)?;
        let stop = stop_on_interrupt()?;
        let is_done = attended.run_until_done(scenario, &mut || !stop.load(Ordering::Relaxed))?;
        crew.end()?;
        if is_done {
            return Ok(());
        }
        Err(Failure::Interrupted("interrupted before the program has ended".to_owned()))
    }
}
