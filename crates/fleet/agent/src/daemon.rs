//! The main loop of an agent: it follows the source, answers requests and handles timers.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel};
use std::thread::{Builder, Scope};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::agent::{Agent, RollBackError};
use crate::console::{self, Page};
use crate::control::{Ask, Asked, Control, Refusal, serve};
use crate::event::Event;
use crate::metrics::{self, Metrics};
use crate::plane::DataPlane;
use crate::source::{Cues, News, Source, Stagger, follow};
use crate::store::{Store, StoreError};

/// How often time brings something.
const TICK: Duration = Duration::from_millis(200);

/// Where a running agent may be asked.
#[derive(Debug)]
pub struct Listeners {
    /// For those who may also have it do something.
    pub control: Control,
    /// For monitoring, where that is wanted.
    pub metrics: Option<Metrics>,
    /// For people with a browser, where that is wanted.
    pub page: Option<Page>,
}

/// Runs the agent of `machine` with its state in the folder `state` until `stop`, and reports each event.
///
/// # Errors
/// When the state cannot be used.
pub fn run<P: DataPlane>(
    machine: &str,
    mut source: Box<dyn Source>,
    state: &Path,
    listeners: &Listeners,
    plane: P,
    stop: &'static AtomicBool,
    mut tell: impl FnMut(&Event) + 'static,
) -> Result<(), StoreError> {
    let opened = Store::open(state)?;
    let (events, happened) = channel();
    let notify = Box::new(move |event: &Event| {
        tell(event);
        // The receiver lives as long as the agent does.
        let _ = events.send(event.json());
    });
    let (now, from, socket) = (Instant::now(), source.name(), listeners.control.path());
    let mut agent = Agent::start(now, machine, &from, socket, opened, plane, notify);
    if listeners.metrics.is_some() {
        agent.measure();
    }
    let (nudge, stagger) = (AtomicBool::new(false), Stagger::new(machine));
    let returns = agent.returns().clone();
    let (offers, offered) = channel();
    let (verdicts, to_tell) = channel();
    let (requests, asked) = channel();
    std::thread::scope(|scope| {
        let (nudge, stagger, returns) = (&nudge, &stagger, &returns);
        let follow = move || {
            let cues = Cues { verdicts: &to_tell, nudge, stagger, returns, stop };
            follow(source.as_mut(), &cues, |news| give(&offers, news));
        };
        let begun =
            begin(scope, "source", follow).and_then(|()| attend(scope, listeners, requests, stop));
        if begun.is_err() {
            stop.store(true, Ordering::Relaxed);
        }
        let mut watchers: Vec<SyncSender<Value>> = Vec::new();
        while !stop.load(Ordering::Relaxed) {
            take_offers(&mut agent, nudge, &offered);
            match asked.recv_timeout(TICK) {
                Ok(asked) => {
                    watchers.extend(asked.events.clone());
                    answer(&mut agent, nudge, &asked);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            agent.tick(Instant::now());
            stagger.among(agent.machines());
            if let Some(verdict) = agent.verdict() {
                // Who follows the source lives as long as the agent does.
                let _ = verdicts.send(verdict);
            }
            while let Ok(event) = happened.try_recv() {
                // Who does not take events fast enough hears no more of them, and keeps nobody waiting.
                watchers.retain(|watcher| watcher.try_send(event.clone()).is_ok());
            }
        }
        // Clients whose requests were not begun get a refusal.
        drop(asked);
        agent.stop();
        listeners.control.knock();
        begun
    })
}

/// Answers at all listeners until `stop`.
fn attend<'s>(
    scope: &'s Scope<'s, '_>,
    listeners: &'s Listeners,
    requests: Sender<Asked>,
    stop: &'static AtomicBool,
) -> Result<(), StoreError> {
    if let Some(scraped) = &listeners.metrics {
        let requests = requests.clone();
        begin(scope, "metrics", move || metrics::serve(scraped, &requests, stop))?;
    }
    if let Some(page) = &listeners.page {
        let requests = requests.clone();
        begin(scope, "console", move || console::serve(page, requests, stop))?;
    }
    begin(scope, "control", move || serve(&listeners.control, &requests, stop))
}

fn begin<'s>(
    scope: &'s Scope<'s, '_>,
    name: &str,
    act: impl FnOnce() + Send + 's,
) -> Result<(), StoreError> {
    let begun = Builder::new().name(name.to_owned()).spawn_scoped(scope, act);
    begun.map(drop).map_err(StoreError::NoThread)
}

fn give(offers: &Sender<News>, news: News) {
    // At the end nobody takes it, and nobody needs it.
    let _ = offers.send(news);
}

/// Takes the latest reading of the source; older ones that are still queued are dropped.
fn take_offers<P: DataPlane>(agent: &mut Agent<P>, nudge: &AtomicBool, offered: &Receiver<News>) {
    let mut newest = None;
    for news in offered.try_iter() {
        match news {
            News::Fetched { begun, fetched } => newest = Some((begun, fetched)),
            News::VerdictSent(result) => agent.verdict_sent(result),
        }
    }
    if let Some((begun, fetched)) = newest
        && !agent.offer(Instant::now(), begun, fetched)
    {
        nudge.store(true, Ordering::Relaxed);
    }
}

fn answer<P: DataPlane>(agent: &mut Agent<P>, nudge: &AtomicBool, asked: &Asked) {
    let answer = match asked.ask {
        Ask::Status => Ok(agent.status()),
        Ask::Watch => Ok(json!({ "watching": true })),
        Ask::Versions => Ok(agent.versions()),
        Ask::Preview(to) => {
            agent.preview(to).map(|preview| json!(preview)).map_err(|error| refusal(&error))
        }
        Ask::Reload => {
            nudge.store(true, Ordering::Relaxed);
            Ok(json!({ "reading": true }))
        }
        Ask::Resume => {
            let on_trial = agent.on_trial().map(str::to_owned);
            let resumed = agent.resume(&asked.who);
            nudge.store(true, Ordering::Relaxed);
            resumed.map_err(|error| Refusal::new(error.to_string())).map(
                |digest| json!({ "stays": Some(&digest) == on_trial.as_ref(), "resumed": digest }),
            )
        }
        Ask::RollBack(to) => {
            let before = agent.number();
            let version = agent.roll_back(Instant::now(), to, &asked.who);
            let (held, waiting) = (agent.held(), agent.waits_for());
            let reading = agent.returns().is_reading();
            version
                .map(|it| {
                    json!({
                        "version": it.number, "before": before, "held": held, "waiting": waiting,
                        "reading": reading,
                    })
                })
                .map_err(|error| refusal(&error))
        }
    };
    // Who asked may have hung up.
    let _ = asked.answer.send(answer);
}

/// Why one does not go back, and what to do where the disk is full.
fn refusal(error: &RollBackError) -> Refusal {
    match error {
        RollBackError::Store(StoreError::Io { path, source }) if is_full(source) => Refusal {
            why: format!(
                "the disk is full and {path} cannot be written; nothing has changed\nfree some \
                    space and run the command again; to show the free space: df -h {}",
                Path::new(path).parent().unwrap_or(Path::new(path)).display()
            ),
            is_of_machine: true,
        },
        RollBackError::Store(StoreError::Io { .. }) => {
            let why = format!("cannot read or write the agent's state: {error}");
            Refusal { why, is_of_machine: true }
        }
        _ => Refusal::new(error.to_string()),
    }
}

fn is_full(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}
