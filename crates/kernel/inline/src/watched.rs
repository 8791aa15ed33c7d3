//! Notices when the bridge or its ports are no longer what they were.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::Error;
use crate::bridge::Bridge;
use crate::router::deployed_on;

/// How often the bridge is examined.
const INTERVAL: Duration = Duration::from_secs(2);

/// A bridge that must not change while the router runs.
#[derive(Debug, Clone)]
pub(crate) struct Watched {
    bridge: Bridge,
    devices: [String; 2],
}

impl Watched {
    pub(crate) fn new(bridge: Bridge, devices: [&str; 2]) -> Watched {
        Watched { bridge, devices: devices.map(str::to_owned) }
    }

    /// Calls `act` with a flag that is set when the bridge changes.
    ///
    /// # Errors
    /// That of `act`, or else what changed.
    pub(crate) fn while_it_lasts(
        &self,
        act: impl FnOnce(&AtomicBool) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let (has_changed, is_over) = (AtomicBool::new(false), AtomicBool::new(false));
        let why = Mutex::new(None);
        let done = std::thread::scope(|scope| {
            let watching = scope.spawn(|| {
                let mut examined = Instant::now();
                while !is_over.load(Ordering::Relaxed) {
                    std::thread::park_timeout(INTERVAL);
                    if examined.elapsed() < INTERVAL || is_over.load(Ordering::Relaxed) {
                        continue;
                    }
                    examined = Instant::now();
                    if let Some(found) = self.change() {
                        *why.lock().expect("nobody panics with it") = Some(found);
                        has_changed.store(true, Ordering::Relaxed);
                        return;
                    }
                }
            });
            let done = act(&has_changed);
            is_over.store(true, Ordering::Relaxed);
            watching.thread().unpark();
            done
        });
        done?;
        match why.into_inner().expect("nobody panics with it") {
            Some(why) => Err(Error::Changed { bridge: self.bridge.name.clone(), why }),
            None => Ok(()),
        }
    }

    /// What has changed.
    fn change(&self) -> Option<String> {
        let Watched { bridge, devices } = self;
        let devices = [devices[0].as_str(), devices[1].as_str()];
        let deployed = |device: &str| {
            deployed_on(device).map(|policy| format!("policy {policy:?} was deployed on {device}"))
        };
        if let Some(found) = devices.into_iter().find_map(deployed) {
            return Some(found);
        }
        match Bridge::examine(&bridge.name, devices, bridge.is_new) {
            Ok(now) if now == *bridge => None,
            Ok(now) if now.devices != bridge.devices => Some("a device was replaced".to_owned()),
            Ok(_) => Some("an address of this machine changed".to_owned()),
            Err(error) => {
                let text = error.to_string();
                Some(text.lines().next().unwrap_or_default().to_owned())
            }
        }
    }
}
