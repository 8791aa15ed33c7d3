//! Notices when the bridge or its ports are no longer what they were.

use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::Error;
use crate::bridge::Bridge;
use crate::ip::all;
use crate::occupied::deployed_on;

/// How often the bridge is examined.
const INTERVAL: Duration = Duration::from_secs(2);

/// What has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// What, as a sentence without its end.
    pub what: String,
    /// What to do before the router can start again; empty if nothing.
    pub undo: String,
    /// How to start it again.
    start: String,
}

impl Change {
    fn new(what: String, undo: String) -> Change {
        Change { what, undo, start: "start it again".to_owned() }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Change { what, undo, start } = self;
        match undo.as_str() {
            "" => write!(f, "{what}\n{start}"),
            undo => write!(f, "{what}\n{undo}; then {start}"),
        }
    }
}

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
            Some(change) => Err(Error::Changed { bridge: self.bridge.name.clone(), change }),
            None => Ok(()),
        }
    }

    /// What has changed of the bridge, its ports and what is deployed there.
    fn change(&self) -> Option<Change> {
        let deployed = self.devices.iter().find_map(|device| deployed_on(device)).map(|it| {
            let what = format!("policy {:?} was deployed on {}", it.policy, it.device);
            Change::new(what, format!("remove it (`{}`)", it.undeploy))
        });
        deployed.or_else(|| self.change_of_bridge())
    }

    /// What has changed of the bridge and its ports.
    pub(crate) fn change_of_bridge(&self) -> Option<Change> {
        let found = self.missing().and_then(|missing| match missing {
            None => self.examined(),
            found => Ok(found),
        });
        found.unwrap_or_else(|error| {
            let text = error.to_string();
            let (what, remedy) = text.split_once('\n').unwrap_or((&text, ""));
            Some(Change::new(what.to_owned(), remedy.to_owned()))
        })
    }

    /// What is gone, or no longer where it was.
    fn missing(&self) -> Result<Option<Change>, Error> {
        let Watched { bridge, devices } = self;
        let links = all()?;
        if !links.iter().any(|link| link["ifname"] == bridge.name.as_str()) {
            return Ok(Some(Change::new(format!("{} is gone", bridge.name), String::new())));
        }
        let mut found = devices.iter().zip(bridge.devices);
        Ok(found.find_map(|(device, number)| self.moved(&links, device, number)))
    }

    /// What became of a device with this name and this number.
    fn moved(&self, links: &[Value], device: &str, number: u32) -> Option<Change> {
        let bridge = &self.bridge;
        let link = links.iter().find(|link| link["ifname"] == device);
        let numbered = links.iter().find(|link| link["ifindex"] == number);
        let Some(link) = link else {
            let Some(name) = numbered.and_then(|link| link["ifname"].as_str()) else {
                let what = format!("{device} was removed, or moved to another network namespace");
                return Some(Change::new(what, "bring it back".to_owned()));
            };
            let mut change = Change::new(format!("{device} was renamed to {name}"), String::new());
            change.start = format!("start it with the new name {name} in --between");
            return Some(change);
        };
        // A device alone comes back by itself to a bridge that was made here.
        let undo = match link["master"].as_str() {
            Some(master) if master == bridge.name => String::new(),
            None if bridge.is_made_here() => String::new(),
            _ => format!("put it back (`ip link set dev {device} master {}`)", bridge.name),
        };
        if link["ifindex"] != number {
            return Some(Change::new(format!("{device} was replaced by another device"), undo));
        }
        let is_port = link["master"] == bridge.name.as_str();
        (!is_port).then(|| Change::new(format!("{device} is no port of {}", bridge.name), undo))
    }

    /// What the bridge does now that it did not.
    fn examined(&self) -> Result<Option<Change>, Error> {
        let Watched { bridge, devices } = self;
        let devices = [devices[0].as_str(), devices[1].as_str()];
        match Bridge::examine(&bridge.name, devices, bridge.is_new) {
            Ok(now) if now == *bridge => Ok(None),
            Ok(_) => {
                let what = "an Ethernet address of this machine changed";
                Ok(Some(Change::new(what.to_owned(), String::new())))
            }
            Err(Error::Bridge { bridge, what, undo }) => {
                Ok(Some(Change::new(format!("{bridge} {what}"), undo)))
            }
            Err(Error::Down { device }) => {
                let undo = format!("switch it on (`ip link set dev {device} up`)");
                Ok(Some(Change::new(format!("{device} is down"), undo)))
            }
            Err(error) => Err(error),
        }
    }
}
