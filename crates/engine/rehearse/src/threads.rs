//! The threads of a rehearsal: load, router, programs beside them, and the writer of a capture.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::Builder;

use shortflow_run::{Error, Stalls, Tap};
use shortflow_scenario::Scenario;
use shortflow_units::Instant;

use crate::capture::Writer;
use crate::interactive::Companions;
use crate::open_files::refused;
use crate::realtime::Priority;
use crate::router::{Routed, Router};
use crate::thread_load;
use crate::traffic::{Load, LongFlow, Place};

/// What runs in threads of its own beside the load, and what it needs.
pub(crate) struct Threads<'t> {
    pub(crate) router: Router<'t>,
    pub(crate) writer: Option<Writer>,
    pub(crate) companions: Option<&'t Companions<'t>>,
    pub(crate) place: Place<'t>,
    pub(crate) scenario: &'t Scenario,
}

/// What the threads return.
pub(crate) struct Carried {
    pub(crate) routed: Routed,
    pub(crate) long_flows: Vec<LongFlow>,
    pub(crate) stalls: Stalls,
    /// The share of the time in which the load's thread has worked.
    pub(crate) load_is_busy: f64,
    pub(crate) tap: Option<Box<dyn Tap>>,
}

impl Threads<'_> {
    /// Runs the load in this thread, and everything else beside it. Calls `look` with the time, and stops when it
    /// returns `false`.
    ///
    /// # Errors
    /// [`Error::Interrupted`] when `look` stopped the run; [`Error::Machine`] when the machine lacks something.
    pub(crate) fn run(
        self,
        load: Load<'_>,
        look: &mut dyn FnMut(Instant) -> bool,
    ) -> Result<Carried, Error> {
        let Threads { router, writer, companions, place, scenario } = self;
        let (clock, end) = (router.clock, router.times.end);
        let (stop, open) = (AtomicBool::new(false), AtomicU32::new(0));
        std::thread::scope(|scope| {
            let closing = companions.map(Companions::closing);
            let routing = Builder::new().spawn_scoped(scope, || router.run(&stop, &open));
            let routing = routing.map_err(no_thread)?;
            let start_others = || {
                let writing =
                    writer.map(|writer| Builder::new().spawn_scoped(scope, || writer.run()));
                let attending = companions.map(|all| {
                    Builder::new().spawn_scoped(scope, || all.run(place, scenario, clock))
                });
                Ok((writing.transpose()?, attending.transpose()?))
            };
            let (writing, attending) = start_others().map_err(|error| {
                stop.store(true, Ordering::Release);
                no_thread(error)
            })?;
            // A router that is finished before its time has met with an error.
            let is_lost = || routing.is_finished() && clock.now() < end;
            let is_over = || companions.is_some_and(Companions::is_over);
            let mut look = |now| look(now) && !is_lost() && !is_over();
            let (found, busy) = thread_load::measure(Priority::Load, || load.run(&open, &mut look));
            // Programs may say their last word while packets are still carried.
            drop(closing);
            let interactive = attending.map(|all| all.join().expect("programs are only looked at"));
            stop.store(true, Ordering::Release);
            let routed = routing.join().expect("the router keeps every packet");
            let tap = writing.map(|writing| writing.join().expect("a tap takes what it is shown"));
            interactive.unwrap_or(Ok(()))?;
            let routed = routed.map_err(refused)?;
            let found = found.map_err(|error| Error::Machine(error.to_string()))?;
            let (long_flows, stalls) = found.ok_or(Error::Interrupted)?;
            let load_is_busy = busy.map_err(refused)?;
            Ok(Carried { routed, long_flows, stalls, load_is_busy, tap })
        })
    }
}

fn no_thread(error: std::io::Error) -> Error {
    Error::Machine(format!("cannot start a thread: {error}"))
}
