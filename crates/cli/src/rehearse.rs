//! `rehearse`.

use crate::args::Rehearse;
use crate::console::Console;
use crate::failure::Failure;

#[cfg(not(target_os = "linux"))]
pub(crate) fn rehearse(_: &Console, _: &Rehearse) -> Result<(), Failure> {
    let what = "hosts are network namespaces, which only Linux has\nsimulate it, or rehearse it on a Linux machine";
    Err(Failure::Machine(what.to_owned()))
}

#[cfg(target_os = "linux")]
pub(crate) use on_linux::rehearse;

#[cfg(target_os = "linux")]
mod on_linux {
    use std::sync::atomic::Ordering;

    use shortflow_rehearse::{Attended, Guests, Rehearsal};
    use shortflow_run::{Case, Engine, Error};
    use shortflow_text::InputFiles;
    use shortflow_trace::Request;

    use super::{Console, Failure, Rehearse};
    use crate::args::RunOne;
    use crate::guests::{Crew, guests, refuse_several};
    use crate::interrupt::stop_on_interrupt;
    use crate::simulate::{Looking, case, conduct, request, target};

    /// How long traffic goes on that has no end of its own.
    const ENDLESS: &str = "24 h";

    /// `shortflow rehearse`.
    pub(crate) fn rehearse(console: &Console, args: &Rehearse) -> Result<(), Failure> {
        let RunOne { scenario, policy, options } = &args.run;
        let inputs = InputFiles::default();
        let case = |set: &[(&str, &str)]| case(&inputs, scenario, policy.as_deref(), options, set);
        if args.until_done {
            return until_done(console, args, &case(&[("duration", ENDLESS)])?);
        }
        let case = case(&[])?;
        let target = target(options, &case.loaded.name, "-rehearsed");
        let trace = request(console, &args.trace, &case.loaded)?;
        let trace = trace.map(|trace| args.trace_snap.into_iter().fold(trace, Request::keep_first));
        let looking = Looking { trace: trace.as_ref(), tcp_info: args.tcp_info };
        let cases = &[case];
        let conduct = |console: &Console, engine: &dyn Engine| {
            conduct(console, engine, options, cases, looking, &target)
        };
        if args.with.is_empty() {
            return conduct(console, &rehearsal(args));
        }
        refuse_several(&cases[0].loaded, true)?;
        let all = guests(&cases[0].loaded.points()[0].scenario, &args.with)?;
        let crew = Crew::new(*console, &args.with);
        let guests = Guests { all: &all, audience: &crew };
        conduct(&console.shared(), &Attended { rehearsal: rehearsal(args), guests })?;
        crew.end()
    }

    fn rehearsal(args: &Rehearse) -> Rehearsal {
        if args.ipv6 { Rehearsal::OVER_IPV6 } else { Rehearsal::OVER_IPV4 }
    }

    /// Runs programs until the last of them has ended.
    fn until_done(console: &Console, args: &Rehearse, case: &Case) -> Result<(), Failure> {
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
