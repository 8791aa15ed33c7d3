//! The inline router between two hosts.

use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

use nix::sys::time::TimeValLike;
use nix::time::{ClockId, clock_gettime};
use shortflow_inline::{Bridge, Inline, Plan, acting_roles};
use shortflow_run::Error;
use shortflow_testbed::{Checksums, Home, HostSpec, KernelPath};
use shortflow_units::{Duration, LinkLayer, Rate};

use super::forward::{Processors, Received, flood, sockets};
use super::{keep_on_processor, lacking};

/// The rate of the line, which never limits.
const RATE: Rate = Rate::from_bits_per_sec(100_000_000_000);

/// The datagrams that arrived, and nanoseconds of CPU time of the router for each packet that it sent. A bare router
/// has no elements.
pub(super) fn measure(
    home: &Home,
    policy: &str,
    is_bare: bool,
    specs: &[HostSpec; 2],
    to: SocketAddr,
    size: u32,
    seconds: f64,
) -> Result<(Received, f64), Error> {
    let path = KernelPath::make(home, [&specs[0], &specs[1]], Checksums::ByHosts);
    let path = path.map_err(lacking)?;
    let sockets = sockets(home, [&path.hosts[0], &path.hosts[1]], to)?;
    let stop = AtomicBool::new(false);
    let (is_ready, ready) = mpsc::channel();
    std::thread::scope(|scope| {
        let routing = scope.spawn(|| {
            let routed = path.at_router(home, || route(policy, is_bare, &stop, &is_ready));
            // Whoever waits for a router that failed must not wait for ever.
            drop(is_ready);
            routed.map_err(lacking)?
        });
        let found = match ready.recv() {
            Ok(()) => flood(sockets, size, seconds, Processors(1, 2)),
            Err(_) => Ok(Received::default()),
        };
        stop.store(true, Ordering::Relaxed);
        let cpu = routing.join().expect("the router does not panic")?;
        Ok((found?, cpu))
    })
}

/// Routes until `stop`: nanoseconds of CPU time for each packet.
fn route(
    policy: &str,
    is_bare: bool,
    stop: &AtomicBool,
    is_ready: &mpsc::Sender<()>,
) -> Result<f64, Error> {
    keep_on_processor(0).map_err(lacking)?;
    let policy = shortflow_policy::from_text("policy.toml", policy, &[]);
    let policy = policy.map_err(|mistakes| Error::Machine(mistakes.to_string()))?;
    let roles = acting_roles(&policy, &[]).map_err(lacking)?;
    let plan = Plan::new(roles, [RATE; 2], LinkLayer::default(), 1).map_err(lacking)?;
    let bridge = Bridge::join(KernelPath::ENDS).map_err(lacking)?;
    let mut router = Inline::attach(&bridge, KernelPath::ENDS, &plan).map_err(lacking)?;
    let _ = is_ready.send(());
    let spent = || clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_err(lacking);
    let before = spent()?;
    let sent = if is_bare {
        router.forward_bare(stop).map_err(lacking)?
    } else {
        let hour = Duration::from_secs(3600);
        let report = router.run(stop, hour, |_| ControlFlow::Continue(())).map_err(lacking)?;
        report.directions.iter().map(|way| way.packets).sum()
    };
    let spent = (spent()? - before).num_nanoseconds() as f64;
    Ok(spent / sent.max(1) as f64)
}
