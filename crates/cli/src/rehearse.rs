//! `rehearse`.

use crate::args::Rehearse;
use crate::console::Console;
use crate::failure::Failure;

#[cfg(not(live))]
pub(crate) fn rehearse(_: &Console, _: &Rehearse) -> Result<(), Failure> {
    rehearsal_over_ipv4().map(|_| ())
}

/// The engine whose workloads speak IPv4.
#[cfg(not(live))]
pub(crate) fn rehearsal_over_ipv4() -> Result<&'static dyn shortflow_run::Engine, Failure> {
    let what = "hosts are network namespaces, which require Linux\nsimulate it, or rehearse it on a Linux machine";
    Err(Failure::not_built("rehearse", what))
}

#[cfg(live)]
pub(crate) use on_linux::{rehearsal_over_ipv4, rehearse};

#[cfg(live)]
mod on_linux {
    use std::io::{self, IsTerminal};
    use std::path::{Path, PathBuf};
    use std::sync::atomic::Ordering;

    use shortflow_rehearse::{
        HostProgram, HostPrograms, InteractiveRehearsal, IpVersion, Monitor, OnConsole, PortKind,
        ProgramObserver, Rehearsal, User,
    };
    use shortflow_run::{Case, Engine, Error, StartTap, Tap};
    use shortflow_scenario::{Overrides, Scenario};
    use shortflow_trace::Request;

    use super::{Console, Failure, Rehearse};
    use crate::args::{self, RunOne};
    use crate::background::with_background;
    use crate::conduct::{Looking, conduct};
    use crate::interrupt::stop_on_interrupt;
    use crate::live::{Shell, Watch};
    use crate::page::{NO_CONSOLE, Page};
    use crate::programs::{ProgramOutput, host, programs, refuse_several};
    use crate::simulate::{case_with, overrides, refuse_others, request, selection, target};
    use shortflow_shipped as shipped;

    /// The duration of endless traffic.
    const ENDLESS: &str = "24 h";

    /// `shortflow rehearse`.
    pub(crate) fn rehearse(console: &Console, args: &Rehearse) -> Result<(), Failure> {
        if args.run.options.how.jobs.is_some_and(|jobs| jobs > 1) {
            let what =
                "--jobs has no effect: replicas are rehearsed one at a time, in real time\nomit it";
            return Err(Failure::Input(what.to_owned()));
        }
        if args.shell.is_some() {
            Shell::refuse_without_terminal()?;
        } else if !args.policies.is_empty() && !args.live && args.console.is_none() {
            let what = "--policies needs a way to switch between them\nadd --live, --console or --shell HOST; \
                 `compare` runs them one after the other";
            return Err(Failure::Input(what.to_owned()));
        }
        if args.console.is_none() && args.console_token.console_token_file.is_some() {
            return Err(Failure::Input(NO_CONSOLE.to_owned()));
        }
        let is_measured = !args.until_done && args.shell.is_none();
        let rehearsal = rehearsal(args);
        let cases = cases(args, &rehearsal, is_measured)?;
        let on_terminal = args.shell.is_some() || args.live && console.shows_progress();
        if on_terminal && args.live && io::stdin().is_terminal() {
            let next = if args.policies.len() > 1 { "n switches to the next policy, " } else { "" };
            console.note(&format!("keys: {next}q quits"));
        }
        let is_shown = on_terminal || args.console.is_some();
        let monitor = is_shown.then(|| monitor(args, &cases)).transpose()?;
        let page =
            args.console.map(|at| Page::open(console, at, &args.console_token)).transpose()?;
        let web =
            page.as_ref().zip(monitor.as_ref()).map(|(page, monitor)| Web::new(page, monitor));
        let shown = Shown { monitor: monitor.as_ref(), on_terminal, web: web.as_ref() };
        for case in &cases[1..] {
            let scenario = &case.loaded.points()[0].scenario;
            rehearsal.check(scenario).map_err(Error::from)?;
            rehearsal.ready_for(scenario)?;
        }
        let run = || match is_measured {
            true => measured(console, args, &cases[0], rehearsal, shown),
            false => until_done(console, args, &cases[0], rehearsal, shown),
        };
        let Some(web) = &web else { return run() };
        console.note(&format!("console: {}", web.page.url));
        web.page.beside(web.shown.hub(), &web.shown, run)?
    }

    /// Where a rehearsal is shown while it runs.
    #[derive(Clone, Copy)]
    struct Shown<'s> {
        monitor: Option<&'s Monitor>,
        /// Whether in a line on the terminal.
        on_terminal: bool,
        web: Option<&'s Web<'s>>,
    }

    /// The live console of a rehearsal.
    struct Web<'w> {
        page: &'w Page,
        shown: OnConsole,
    }

    impl<'w> Web<'w> {
        fn new(page: &'w Page, monitor: &Monitor) -> Web<'w> {
            Web { page, shown: OnConsole::new(monitor) }
        }
    }

    impl Shown<'_> {
        fn port_tap(&self, scenario: &Scenario) -> Option<Box<dyn Tap>> {
            self.web.map(|web| web.shown.port_tap(scenario))
        }

        /// What is shown in a line on the terminal, if anything is.
        fn line(&self) -> Option<&Monitor> {
            self.monitor.filter(|_| self.on_terminal)
        }
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

    /// The scenario under each of the policies, or under the one that it has.
    fn cases<'e>(
        args: &Rehearse,
        engine: &'e Rehearsal,
        is_measured: bool,
    ) -> Result<Vec<Case<'e>>, Failure> {
        let RunOne { scenario, policy, options } = &args.run;
        let inputs = shipped::inputs();
        let set: &[(&str, &str)] = if is_measured { &[] } else { &[("duration", ENDLESS)] };
        let case = |policy: Option<&Path>| {
            let chosen = overrides(options, policy)?;
            // Programs are traffic enough where nothing is measured.
            let chosen = Overrides { needs_no_workload: !is_measured, ..chosen };
            case_with(&inputs, engine, scenario, chosen, set)
        };
        if args.policies.is_empty() {
            return Ok(vec![case(policy.as_deref())?]);
        }
        refuse_others(&inputs, scenario, &args.policies)?;
        args.policies.iter().map(|policy| case(Some(policy))).collect()
    }

    /// What is shown of the cases, which have one point each.
    fn monitor(args: &Rehearse, cases: &[Case<'_>]) -> Result<Monitor, Failure> {
        let of_file = |file: &PathBuf| file.display().to_string();
        let places: Vec<String> = args.policies.iter().map(of_file).collect();
        let named = match places.is_empty() {
            true => cases.to_vec(),
            false => Case::beside(cases.to_vec(), &places)?,
        };
        let policy = |case: Case<'_>| (case.label, case.loaded.points()[0].scenario.clone());
        Ok(Monitor::new(named.into_iter().map(policy).collect()))
    }

    /// Runs the scenario as long as it lasts, and shows what was measured.
    fn measured(
        console: &Console,
        args: &Rehearse,
        case: &Case<'_>,
        rehearsal: Rehearsal,
        shown: Shown<'_>,
    ) -> Result<(), Failure> {
        let options = &args.run.options;
        let loaded = &case.loaded;
        let target = target(options, &loaded.name, "-rehearsed");
        let trace = request(console, &args.trace, loaded)?;
        let trace = trace.map(|trace| args.trace_snap.into_iter().fold(trace, Request::keep_first));
        let selection = selection(&args.replicas, loaded, trace.as_ref())?;
        let tcp_info = args.tcp.tcp_info;
        let mut looking =
            Looking { trace: trace.as_ref(), selection, tcp_info, ..Looking::default() };
        let look = |scenario: &Scenario| Ok(shown.port_tap(scenario).expect("there is a console"));
        looking.tap = shown.web.map(|_| &look as &StartTap<'_>);
        if args.with.is_empty() && shown.monitor.is_none() {
            return conduct(console, &options.how, std::slice::from_ref(case), looking, &target);
        }
        if !args.with.is_empty() {
            refuse_several(loaded, true)?;
        }
        let all = programs(&loaded.points()[0].scenario, &args.with)?;
        let output = ProgramOutput::new(*console, &args.with, shown.on_terminal);
        let host_programs =
            (!all.is_empty()).then_some(HostPrograms { all: &all, audience: &output });
        let beside = |act: &mut dyn FnMut()| watched(&output, shown.line(), act);
        looking.beside = Some(&beside);
        let programs = || output.as_json();
        looking.programs = Some(&programs);
        let engine =
            InteractiveRehearsal { rehearsal, programs: host_programs, monitor: shown.monitor };
        let cases = Case::by_each(vec![case.clone()], &[&engine]);
        let shared = console.shared();
        let console_of_run =
            if shown.on_terminal || host_programs.is_some() { &shared } else { console };
        match conduct(console_of_run, &options.how, &cases, looking, &target) {
            Err(Failure::TooLate) => {
                // Unreliable results are reported in addition to programs that failed.
                output.end().inspect_err(|_| console.failure(&Failure::TooLate))?;
                Err(Failure::TooLate)
            }
            done => done.and_then(|()| output.end()),
        }
    }

    /// Runs programs, or a shell, until the last of them has ended.
    fn until_done(
        console: &Console,
        args: &Rehearse,
        case: &Case<'_>,
        rehearsal: Rehearsal,
        shown: Shown<'_>,
    ) -> Result<(), Failure> {
        refuse_several(&case.loaded, false)?;
        let scenario = &case.loaded.points()[0].scenario;
        let mut all = programs(scenario, &args.with)?;
        console.warnings(&case.loaded.warnings);
        rehearsal.check(scenario).map_err(Error::from)?;
        let message = rehearsal.tcp_notes(scenario).map_err(Error::from)?;
        message.iter().for_each(|message| console.note(message));
        let output = ProgramOutput::new(*console, &args.with, shown.on_terminal);
        let stop = stop_on_interrupt()?;
        let run = |all: &[HostProgram], audience: &dyn ProgramObserver| {
            let host_programs = Some(HostPrograms { all, audience });
            let interactive =
                InteractiveRehearsal { rehearsal, programs: host_programs, monitor: shown.monitor };
            interactive.run_until_done(scenario, shown.port_tap(scenario), &mut || {
                !stop.load(Ordering::Relaxed)
            })
        };
        let is_done = match (&args.shell, shown.monitor) {
            (Some(name), Some(monitor)) => {
                all.push(HostProgram {
                    host: host(scenario, name)?,
                    command: vec![shell().into()],
                });
                let shell = Shell::new(&output, all.len() - 1)?;
                let next = if monitor.has_others() {
                    "Ctrl-] n switches to the next policy, "
                } else {
                    ""
                };
                console.note(&format!(
                    "a shell on {name}; the rehearsal ends when it exits; {next}Ctrl-] q quits"
                ));
                with_background(|over| shell.talk(monitor, stop, over), || run(&all, &shell))?
            }
            _ => {
                let mut found = Ok(false);
                watched(&output, shown.line(), &mut || found = run(&all, &output));
                found
            }
        }?;
        output.end()?;
        if is_done || args.shell.is_some() && !stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        Err(Failure::Interrupted("interrupted before the program exited".to_owned()))
    }

    /// The shell of the user.
    fn shell() -> PathBuf {
        let own = || std::env::var_os("SHELL").filter(|shell| !shell.is_empty());
        let chosen = User::behind_sudo().map(|user| user.shell);
        chosen.or_else(|| own().map(PathBuf::from)).unwrap_or_else(|| "/bin/sh".into())
    }

    /// Does something while the board is shown at the foot of the screen of `output`, if there is one.
    fn watched(output: &ProgramOutput, monitor: Option<&Monitor>, act: &mut dyn FnMut()) {
        let (Some(monitor), Ok(quit)) = (monitor, stop_on_interrupt()) else { return act() };
        let watch = Watch { monitor, screen: output.screen(), quit };
        // Without a thread the line is not shown; the run itself goes on.
        if with_background(|over| watch.run(over), &mut *act).is_err() {
            act();
        }
    }
}
