//! The thread that shows packets to the tap.

use std::sync::mpsc::{Receiver, SyncSender, TryRecvError};
use std::thread::sleep;
use std::time::Duration;

use shortflow_run::{Sight, Tap};
use shortflow_tcp::TcpHeader;

use super::batch::Batch;

/// How often is looked for packets. To be woken would cost the router a system call, and could make it wait.
const PAUSE: Duration = Duration::from_millis(5);

/// Shows a tap what was captured, which may take as long as it takes.
pub(crate) struct Writer {
    tap: Box<dyn Tap>,
    filled: Receiver<Batch>,
    emptied: SyncSender<Batch>,
}

impl Writer {
    pub(crate) fn new(
        tap: Box<dyn Tap>,
        filled: Receiver<Batch>,
        emptied: SyncSender<Batch>,
    ) -> Self {
        Writer { tap, filled, emptied }
    }

    /// Shows everything until the router has come to its end, and gives the tap back.
    pub(crate) fn run(mut self) -> Box<dyn Tap> {
        loop {
            match self.filled.try_recv() {
                Ok(mut batch) => {
                    self.show(&batch);
                    batch.clear();
                    // There is room for all batches, and a router that is gone needs none.
                    let _ = self.emptied.try_send(batch);
                }
                Err(TryRecvError::Empty) => sleep(PAUSE),
                Err(TryRecvError::Disconnected) => return self.tap,
            }
        }
    }

    fn show(&mut self, batch: &Batch) {
        // What TCP says is in the bytes.
        let header = &TcpHeader::default();
        for (seen, bytes, missed) in batch.packets() {
            if missed > 0 {
                self.tap.missed(missed);
            }
            self.tap.see(&Sight {
                now: seen.now,
                from: seen.from,
                to: seen.to,
                event: seen.event,
                packet: &seen.packet,
                bytes: Some(bytes),
                sent_at: seen.sent_at,
                header,
                tcp: None,
            });
        }
    }
}
