//! Hands packets to a capture without blocking the router.
//!
//! ```text
//! LiveNetwork ── Sightings ──▶ Capture ══ full batches ══▶ Writer ── sights with bytes ──▶ the tap
//!    (the router's thread)        ◀══════ empty batches ══     (a thread of its own)
//! ```
//!
//! The router copies packets into a preallocated batch, and hands it over when it is full or old. The number of
//! batches is fixed: if the tap is so slow that none is empty, packets are skipped and counted, and the tap learns
//! how many are missing at that place.

mod batch;
mod sightings;
mod writer;

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use shortflow_run::Tap;
use shortflow_scenario::Scenario;
use shortflow_sim::LiveNetwork;
use shortflow_units::{Duration, Instant};

use crate::router::Frames;
use batch::Batch;
use sightings::Sightings;
pub(crate) use writer::Writer;

/// How many batches there are: with all of them 32 MiB, more than two seconds of 100 Mbit/s.
const BATCHES: usize = 128;

/// How long a packet waits at most to be handed on, while the router is awake.
const MAX_DELAY: Duration = Duration::from_millis(20);

/// The router's side of a capture.
#[derive(Debug)]
pub(crate) struct Capture {
    sightings: Sightings,
    /// What is being filled; none while all batches are at the writer.
    batch: Option<Batch>,
    filled: SyncSender<Batch>,
    emptied: Receiver<Batch>,
    /// When the batch is handed on, full or not; never as long as it is empty.
    due: Instant,
    /// Packets skipped since the last captured one, and in total.
    missed: u64,
    missed_in_all: u64,
}

impl Capture {
    /// Lets `tap` look at a network from now on, with a writer that shows it what passes.
    pub(crate) fn begin(
        tap: Box<dyn Tap>,
        scenario: &Scenario,
        network: &mut LiveNetwork,
    ) -> (Capture, Writer) {
        let sightings = Sightings::begin(&*tap, scenario, network);
        let ((filled, to_write), (to_fill, emptied)) =
            (sync_channel(BATCHES), sync_channel(BATCHES));
        for _ in 1..BATCHES {
            to_fill.send(Batch::new()).expect("there is room for all batches");
        }
        let capture = Capture {
            sightings,
            batch: Some(Batch::new()),
            filled,
            emptied,
            due: Instant::NEVER,
            missed: 0,
            missed_in_all: 0,
        };
        (capture, Writer::new(tap, to_write, to_fill))
    }

    /// Copies what the network has shown since this was called last. All these packets are still in `frames`.
    pub(crate) fn take_in(&mut self, frames: &Frames) {
        let Capture { sightings, batch, filled, emptied, due, missed, missed_in_all } = self;
        sightings.drain(|seen| {
            let bytes = frames.bytes(&seen.packet);
            let at = seen.now;
            if batch.as_ref().is_some_and(|batch| !batch.has_room(bytes.len())) {
                send(batch.take(), filled);
                *due = Instant::NEVER;
            }
            if batch.is_none() {
                *batch = emptied.try_recv().ok();
            }
            match batch {
                Some(batch) => {
                    batch.push(seen, bytes, std::mem::take(missed));
                    *due = (*due).min(at + MAX_DELAY);
                }
                None => {
                    *missed += 1;
                    *missed_in_all += 1;
                }
            }
        });
    }

    /// Hands on what has waited long enough.
    pub(crate) fn hand_on(&mut self, now: Instant) {
        if now >= self.due {
            send(self.batch.take(), &self.filled);
            self.due = Instant::NEVER;
        }
    }

    /// Hands over the rest, and returns the number of skipped packets.
    pub(crate) fn end(self) -> u64 {
        send(self.batch, &self.filled);
        self.missed_in_all
    }
}

/// Never waits: there is room for all batches. A writer that is gone has no more use for them.
fn send(batch: Option<Batch>, to: &SyncSender<Batch>) {
    if let Some(batch) = batch {
        let _ = to.try_send(batch);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use shortflow_measure::results;
    use shortflow_packet::Packet;
    use shortflow_run::Sight;
    use shortflow_scenario::{NodeId, Overrides, from_texts};
    use shortflow_sim::Hosts;

    use super::*;

    /// Counts packets and events, and checks that each packet has the bytes with which it was sent.
    #[derive(Default)]
    struct Counting(Arc<Mutex<[u64; 2]>>);

    impl Tap for Counting {
        fn watches(&self, from: NodeId, _: NodeId) -> bool {
            from == NodeId(0)
        }

        fn see(&mut self, sight: &Sight<'_>) {
            let bytes = sight.bytes.unwrap();
            let number = u32::from_be_bytes(*bytes.last_chunk().unwrap());
            let [seen, missed] = &mut *self.0.lock().unwrap();
            assert_eq!((bytes.len(), u64::from(number)), (1400, *seen + *missed));
            *seen += 1;
        }

        fn missed(&mut self, packets: u64) {
            self.0.lock().unwrap()[1] += packets;
        }

        fn finish(self: Box<Self>) -> Result<(), results::Error> {
            Ok(())
        }
    }

    /// Packets that have left the network.
    struct Left(Frames);

    impl Hosts for Left {
        fn deliver(&mut self, _: Instant, _: NodeId, packet: Packet) {
            self.0.release(&packet);
        }

        fn dropped(&mut self, _: Instant, packet: Packet) {
            self.0.release(&packet);
        }
    }

    /// A datagram from the first node to the second, which ends in its number.
    fn datagram(number: u32) -> Vec<u8> {
        let mut bytes = vec![0; 1400];
        bytes[..8].copy_from_slice(&[0x45, 0, 5, 120, 0, 0, 0, 0]);
        bytes[8..20].copy_from_slice(&[64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        *bytes.last_chunk_mut().unwrap() = number.to_be_bytes();
        bytes
    }

    #[test]
    fn a_tap_that_is_too_slow_keeps_nobody_waiting_and_is_told_what_it_has_missed() {
        let text = r#"
            duration = "1 s"
            hosts = { a = {}, b = {} }
            links.line = { between = ["a", "b"], rate = "1 Gbit/s", delay = "1 s", queue = "1 pkt" }
            workloads.file.bulk = { from = "a", to = "b" }
        "#;
        let loaded = from_texts(&[("s.toml", text)], &Overrides::default()).unwrap();
        let scenario = &loaded.points()[0].scenario;
        let mut network = LiveNetwork::new(scenario, 0);
        let counts = Arc::default();
        let tap = Box::new(Counting(Arc::clone(&counts)));
        let (mut capture, writer) = Capture::begin(tap, scenario, &mut network);
        let mut left = Left(Frames::new(1, 1400));
        let mut send = |numbers: std::ops::Range<u32>, capture: &mut Capture| {
            for number in numbers {
                let bytes = datagram(number);
                let read = |place: &mut [u8]| -> Result<usize, ()> {
                    place.copy_from_slice(&bytes);
                    Ok(bytes.len())
                };
                let packet = left.0.take_in(read).unwrap().unwrap();
                let now = Instant::START + Duration::from_micros(u64::from(number) * 20);
                network.send(now, NodeId(0), packet, None, &mut left).unwrap();
                capture.take_in(&left.0);
            }
        };
        // Nobody writes: 128 batches of 187 packets, and then nothing.
        send(0..30_000, &mut capture);
        let writing = std::thread::spawn(|| writer.run());
        // Once packets of the second are shown, the first is empty.
        while counts.lock().unwrap()[0] <= 187 {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        // There is room again.
        send(30_000..30_100, &mut capture);
        let missed = capture.end();
        writing.join().unwrap();
        let expected = 30_000 - 128 * 187;
        assert_eq!((missed, *counts.lock().unwrap()), (expected, [30_100 - expected, expected]));
    }
}
