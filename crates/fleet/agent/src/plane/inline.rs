//! Routers between two devices, each on a thread of the agent.
//!
//! A router ends with the agent. The bridge that it leaves forwards all packets, unshaped, until the agent is back.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use shortflow_deploy::Warning;
use shortflow_inline::{
    Bridge, DirectionReport, Error, Inline, Plan, Report, acting_roles, warnings,
};
use shortflow_units::{Duration, Rate};

use super::kernel::one_line;
use super::{Installed, Trouble};
use crate::fleet::{Between, Target};

/// How often a router reports.
const INTERVAL: Duration = Duration::from_secs(1);

/// The routers of a machine, by the names of both devices.
#[derive(Debug, Default)]
pub(super) struct Routers(BTreeMap<String, Router>);

#[derive(Debug)]
struct Router {
    target: Target,
    rates: [Rate; 2],
    stop: Arc<AtomicBool>,
    seen: Arc<Mutex<Seen>>,
    thread: Option<JoinHandle<()>>,
}

/// What a router has said.
#[derive(Debug, Default)]
struct Seen {
    report: Option<Report>,
    /// Why it has ended.
    ended: Option<String>,
}

impl Routers {
    /// Starts a router with the policy of the target, after the one that runs there has ended.
    pub(super) fn install(
        &mut self,
        target: &Target,
        between: &Between,
    ) -> Result<Installed, Trouble> {
        // A fleet without this rate is refused.
        let there = target.rate.ok_or_else(|| Trouble("no rate is set".to_owned()))?;
        let rates = [there, between.rate_back.unwrap_or(there)];
        self.stop(&target.device);
        let (stop, seen) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::default()));
        let (begun, begins) = channel();
        let (of, devices) = (target.clone(), between.devices.clone());
        let (stops, sees) = (stop.clone(), Arc::clone(&seen));
        let work = move || {
            let done = route(&of, &devices, rates, &stops, &sees, &begun);
            let why = done.err().map_or("it was stopped".to_owned(), |trouble| trouble.0);
            lock(&sees).ended = Some(why);
        };
        let thread = Builder::new().name("inline".to_owned()).spawn(work);
        let thread = thread.map_err(|error| Trouble(format!("cannot start a thread: {error}")))?;
        let mut router = Router { target: target.clone(), rates, stop, seen, thread: Some(thread) };
        // A thread that does not begin says why as its end.
        let Ok((bridge, warnings)) = begins.recv() else {
            router.end();
            let why = lock(&router.seen).ended.take();
            return Err(Trouble(why.unwrap_or_else(|| "the router has ended".to_owned())));
        };
        self.0.insert(target.device.clone(), router);
        let summary =
            format!(", inline, {} there and {} back, bridge {bridge}", rates[0], rates[1]);
        Ok(Installed { summary, warnings })
    }

    /// Whether a router runs as the target says.
    pub(super) fn is_running(&self, target: &Target) -> bool {
        let router = self.0.get(&target.device);
        router.is_some_and(|router| router.target.differences(target).is_empty())
    }

    /// The routers that have ended by themselves, and why; reported once.
    pub(super) fn ended(&mut self) -> Vec<(String, String)> {
        let why = |router: &Router| lock(&router.seen).ended.clone();
        let ended = self.0.iter().filter_map(|(devices, it)| Some((devices.clone(), why(it)?)));
        let ended: Vec<(String, String)> = ended.collect();
        ended.iter().for_each(|(devices, _)| self.stop(devices));
        ended
    }

    /// Ends the router at two devices, if there is one.
    pub(super) fn stop(&mut self, devices: &str) {
        self.0.remove(devices);
    }

    /// How a router stands: its directions take the place of the classes of a device.
    pub(super) fn status(&self, devices: &str) -> Value {
        let Some(router) = self.0.get(devices) else { return Value::Null };
        let seen = lock(&router.seen);
        let Some(report) = &seen.report else { return Value::Null };
        json!({
            "device": devices, "direction": "inline", "policy": router.target.policy.name,
            "rate_bit_per_s": router.rates[0].bits_per_sec(),
            "rate_back_bit_per_s": router.rates[1].bits_per_sec(),
            "real_time": report.is_preferred, "ended": seen.ended,
            "classes": report.directions.iter().map(direction).collect::<Vec<_>>(),
        })
    }
}

impl Router {
    fn end(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // One that panicked has ended, too.
            let _ = thread.join();
        }
    }
}

impl Drop for Router {
    fn drop(&mut self) {
        self.end();
    }
}

/// Routes packets until `stop`. Says when it has begun, at which bridge, and what may go wrong.
fn route(
    target: &Target,
    devices: &[String; 2],
    rates: [Rate; 2],
    stop: &AtomicBool,
    seen: &Mutex<Seen>,
    begun: &Sender<(String, Vec<Warning>)>,
) -> Result<(), Trouble> {
    let names = [devices[0].as_str(), devices[1].as_str()];
    let roles = acting_roles(&target.policy, &target.roles);
    let roles = roles.map_err(|error| Trouble(one_line(&error.to_string())))?;
    // Elements of two runs decide differently.
    let seed = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |it| it.as_nanos() as u64);
    let plan = Plan::new(roles, rates, target.link_layer.unwrap_or_default(), seed);
    let plan = plan.map_err(|refused| Trouble(one_line(&refused.to_string())))?;
    let bridge = Bridge::join(names)?;
    // If that fails, the bridge stays: it carries the line.
    let mut router = Inline::attach(&bridge, names, &plan)?;
    let first = router.report();
    let mut warned = warnings(&plan, names)?;
    warned.extend((!first.is_preferred).then(|| Warning {
        what:
            "the router has no real-time priority, so other programs may delay packets".to_owned(),
        remedy: "give the agent CAP_SYS_NICE".to_owned(),
    }));
    lock(seen).report = Some(first);
    // Who started it waits for this.
    let _ = begun.send((bridge.name.clone(), warned));
    router.run(stop, INTERVAL, |report| {
        lock(seen).report = Some(report.clone());
        ControlFlow::Continue(())
    })?;
    Ok(())
}

fn direction(way: &DirectionReport) -> Value {
    let dropped: u64 = way.dropped.iter().map(|(_, count)| count).sum();
    json!({
        "class": way.name, "packets": way.packets, "bytes": way.bytes, "dropped": dropped,
        "marked": way.ecn_marks, "waiting": way.backlog.packets,
        "waiting_bytes": way.backlog.bytes.0, "delay_s": null,
        "to_bridge": way.to_bridge, "unshaped": way.while_silent + way.no_socket + way.too_long,
        "lost": way.lost,
    })
}

fn lock(seen: &Mutex<Seen>) -> std::sync::MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Trouble {
        Trouble(one_line(&error.to_string()))
    }
}
