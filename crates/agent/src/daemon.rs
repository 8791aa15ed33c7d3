//! An agent that runs: a source that is followed, requests that are answered, and time that passes.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, TryRecvError, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::agent::Agent;
use crate::control::{Ask, Asked, Control, serve};
use crate::event::Event;
use crate::metrics::{self, Metrics};
use crate::plane::DataPlane;
use crate::source::{Fetched, Source, follow};
use crate::store::{Store, StoreError};

/// How often time brings something.
const TICK: Duration = Duration::from_millis(200);

/// Where a running agent may be asked.
#[derive(Debug)]
pub struct Doors {
    /// For those who may also have it do something.
    pub control: Control,
    /// For monitoring, where that is wanted.
    pub metrics: Option<Metrics>,
}

/// Runs the agent of `machine` with its state in the folder `state` until `stop`; each event is told.
///
/// # Errors
/// When the state cannot be used.
pub fn run<P: DataPlane>(
    machine: &str,
    mut source: Box<dyn Source>,
    state: &Path,
    doors: &Doors,
    plane: P,
    stop: &'static AtomicBool,
    mut tell: impl FnMut(&Event) + 'static,
) -> Result<(), StoreError> {
    let opened = Store::open(state)?;
    let (events, happened) = channel();
    let told = Box::new(move |event: &Event| {
        tell(event);
        // The receiver lives as long as the agent does.
        let _ = events.send(event.json());
    });
    let mut agent = Agent::start(Instant::now(), machine, &source.name(), opened, plane, told);
    let nudge = AtomicBool::new(false);
    let (offers, offered) = channel();
    let (requests, asked) = channel();
    std::thread::scope(|scope| {
        let nudge = &nudge;
        scope.spawn(move || follow(source.as_mut(), nudge, stop, |fetched| give(&offers, fetched)));
        if let Some(scraped) = &doors.metrics {
            let requests = requests.clone();
            scope.spawn(move || metrics::serve(scraped, &requests, stop));
        }
        scope.spawn(move || serve(&doors.control, &requests, stop));
        let mut watchers: Vec<SyncSender<Value>> = Vec::new();
        while !stop.load(Ordering::Relaxed) {
            take_offers(&mut agent, &offered);
            match asked.recv_timeout(TICK) {
                Ok(asked) => {
                    watchers.extend(asked.events.clone());
                    answer(&mut agent, nudge, &asked);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            agent.tick(Instant::now());
            while let Ok(event) = happened.try_recv() {
                // Who does not take events fast enough hears no more of them, and keeps nobody waiting.
                watchers.retain(|watcher| watcher.try_send(event.clone()).is_ok());
            }
        }
        agent.stop();
    });
    Ok(())
}

fn give(offers: &Sender<Result<Fetched, String>>, fetched: Result<Fetched, String>) {
    // At the end nobody takes it, and nobody needs it.
    let _ = offers.send(fetched);
}

fn take_offers<P: DataPlane>(agent: &mut Agent<P>, offered: &Receiver<Result<Fetched, String>>) {
    loop {
        match offered.try_recv() {
            Ok(fetched) => agent.offer(Instant::now(), fetched),
            Err(TryRecvError::Empty | TryRecvError::Disconnected) => return,
        }
    }
}

fn answer<P: DataPlane>(agent: &mut Agent<P>, nudge: &AtomicBool, asked: &Asked) {
    let answer = match asked.ask {
        Ask::Status => Ok(agent.status()),
        Ask::Watch => Ok(json!({ "watching": true })),
        Ask::Reload => {
            nudge.store(true, Ordering::Relaxed);
            Ok(json!({ "reading": true }))
        }
        Ask::RollBack(to) => {
            let version = agent.roll_back(Instant::now(), to, &asked.who);
            version
                .map(|version| json!({ "version": version.number }))
                .map_err(|error| error.to_string())
        }
    };
    // Who asked may have hung up.
    let _ = asked.answer.send(answer);
}
