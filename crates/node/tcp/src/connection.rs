//! One endpoint of a connection, which combines the sending and the receiving half.

use std::sync::Arc;

use shortflow_packet::{Phase, SenderView, TcpFlags};
use shortflow_units::{Bytes, Duration, Instant};

use crate::congestion::CongestionControl;
use crate::receiver::{AckDue, Receiver};
use crate::recovery::LossPhase;
use crate::sender::Sender;
use crate::state::{Failure, Role, State};
use crate::{Config, Extent, Stats};

/// One endpoint. The host calls it with segments, expired deadlines and the application's requests. After
/// each call it takes segments from [`poll_transmit`](Self::poll_transmit) until that returns `None`. The
/// crate's documentation has an example.
#[derive(Debug)]
pub struct Connection {
    pub(crate) config: Arc<Config>,
    pub(crate) state: State,
    pub(crate) role: Role,
    pub(crate) failure: Option<Failure>,
    pub(crate) control: Control,
    pub(crate) sender: Sender,
    pub(crate) receiver: Receiver,
    /// When TIME-WAIT ends.
    pub(crate) linger: Instant,
}

/// The number of bytes of an endless transfer.
pub const ENDLESS: u64 = u64::MAX / 2;

/// A segment without data that waits to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Control {
    Nothing,
    Syn,
    SynAck,
    /// A reset with this sequence number, and this acknowledgement if it has one.
    Reset {
        seq: u32,
        ack: u32,
        flags: TcpFlags,
    },
    /// An acknowledgement of data before a change of the mark, with the earlier echo (RFC 8257 §3.2).
    Acknowledgement {
        ack: u32,
        echo: TcpFlags,
    },
}

impl Connection {
    /// A closed endpoint.
    pub fn new(config: Arc<Config>, role: Role) -> Self {
        Connection {
            state: State::Closed,
            role,
            failure: None,
            control: Control::Nothing,
            sender: Sender::new(&config),
            receiver: Receiver::new(&config),
            linger: Instant::NEVER,
            config,
        }
    }

    /// Sets the initial sequence number, which is zero otherwise.
    #[must_use]
    pub fn with_initial_sequence(mut self, initial: u32) -> Self {
        self.sender.initial = initial;
        self
    }

    /// Sets another congestion control, for example one that shares state with others. Call it before `open`.
    #[must_use]
    pub fn with_congestion_control(mut self, control: Box<dyn CongestionControl>) -> Self {
        self.sender.set_congestion_control(control, &self.config);
        self
    }

    /// Opens: the active end sends its SYN, the passive end waits for one. Call it once.
    pub fn open(&mut self, _now: Instant) {
        if self.state != State::Closed || self.sender.max > 0 {
            return;
        }
        match self.role {
            Role::Active => {
                self.state = State::SynSent;
                self.control = Control::Syn;
            }
            Role::Passive => self.state = State::Listen,
        }
    }

    /// The application writes `bytes`; [`ENDLESS`] never ends. Has no effect after [`close`](Self::close).
    pub fn write(&mut self, _now: Instant, bytes: u64) {
        self.sender.write(bytes);
    }

    /// The application has no more to send: a FIN follows the last byte. Before the connection is established
    /// this waits, as `shutdown` after `connect` does.
    pub fn close(&mut self, _now: Instant) {
        self.sender.close(&self.config);
    }

    /// Ends the connection at once, with a reset if the peer knows the connection (RFC 9293 §3.10.5).
    pub fn abort(&mut self) {
        let peer_knows = matches!(
            self.state,
            State::SynReceived
                | State::Established
                | State::FinWait1
                | State::FinWait2
                | State::CloseWait
        );
        if self.state != State::Closed {
            self.fail(Failure::Aborted);
        }
        if peer_knows {
            let seq = self.sequence_of(self.sender.max);
            self.control =
                Control::Reset { seq, ack: self.acknowledgement(), flags: TcpFlags::ACK };
        }
    }

    /// The earliest timer, at which the host calls [`on_timer`](Self::on_timer). Any call may move it to a
    /// later time, so an early call of `on_timer` is allowed.
    #[inline]
    pub fn deadline(&self) -> Instant {
        self.sender.deadline().min(self.receiver.timer).min(self.linger)
    }

    /// Runs the timers that have expired by `now`.
    pub fn on_timer(&mut self, now: Instant) {
        if self.linger <= now {
            self.finish();
        }
        if self.receiver.timer <= now {
            self.receiver.on_timer(&self.config, &self.sender);
        }
        if let Some(rates) = &mut self.sender.rates {
            rates.on_wake(now);
        }
        if self.sender.timer <= now {
            self.on_retransmission_timer(now);
        }
    }

    fn on_retransmission_timer(&mut self, now: Instant) {
        let retries = if self.state.is_synchronized() {
            self.config.data_retries
        } else {
            self.config.syn_retries.map(|retries| retries.saturating_add(self.graces()))
        };
        if retries.is_some_and(|retries| u32::from(self.sender.expiries) >= retries) {
            self.fail(Failure::TimedOut);
            return;
        }
        match self.state {
            State::SynSent | State::SynReceived => self.on_syn_timeout(),
            _ => self.sender.on_timer(now, &self.config),
        }
    }

    /// Ends the connection. Segments that are due are still sent.
    pub(crate) fn finish(&mut self) {
        self.state = State::Closed;
        self.linger = Instant::NEVER;
        self.sender.timer = Instant::NEVER;
        self.receiver.timer = Instant::NEVER;
    }

    pub(crate) fn fail(&mut self, failure: Failure) {
        self.failure = Some(failure);
        self.control = Control::Nothing;
        self.receiver.due = AckDue::No;
        self.finish();
    }

    /// Whether an acknowledgement is due that a kernel sends before the application is notified of the data.
    #[inline]
    pub fn acknowledges_first(&self) -> bool {
        self.receiver.due == AckDue::First
    }

    /// In-order bytes delivered to the application so far.
    pub fn received(&self) -> u64 {
        self.receiver.delivered()
    }

    /// Whether the peer's FIN and everything before it have arrived.
    pub fn peer_closed(&self) -> bool {
        self.receiver.is_finished()
    }

    /// Bytes of the application that the peer has acknowledged.
    pub fn acknowledged(&self) -> u64 {
        self.sender.acknowledged()
    }

    /// The state of the connection.
    pub fn state(&self) -> State {
        self.state
    }

    /// Whether the handshake is complete and neither end has closed.
    pub fn is_established(&self) -> bool {
        self.state == State::Established
    }

    /// Whether the connection is over, or was never opened.
    pub fn is_closed(&self) -> bool {
        self.state == State::Closed
    }

    /// Why the connection ended early, if it did.
    pub fn failure(&self) -> Option<Failure> {
        self.failure
    }

    /// Its settings.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Its settings, shared.
    pub fn shared_config(&self) -> &Arc<Config> {
        &self.config
    }

    /// The counters.
    pub fn stats(&self) -> &Stats {
        &self.sender.stats
    }

    /// The state that a marker at this host sees between two segments. The host adds `received_dscp` and
    /// `label`.
    #[inline]
    pub fn sender_view(&self) -> SenderView {
        let window = self.congestion_window().min(u64::from(self.sender.peer_window));
        // SYN and FIN are not part of the written data.
        let written = self.sender.end - 1;
        let sent = self.sender.max.saturating_sub(1).min(written);
        SenderView {
            window_segments: Some((window / u64::from(self.sender.mss)) as u32),
            phase: Some(self.phase()),
            smoothed_rtt: self.smoothed_rtt(),
            sent: Bytes(sent),
            remaining: (written < ENDLESS).then_some(Bytes(written - sent)),
            ..SenderView::default()
        }
    }

    /// The state that a marker at this host sees for a segment of this extent, which
    /// [`poll_transmit`](Self::poll_transmit) has just returned. `sent` and `remaining` are the values before it.
    #[inline]
    pub fn view_of(&self, segment: Extent) -> SenderView {
        let mut view = self.sender_view();
        view.is_retransmission = Some(segment.is_retransmission);
        // A window probe is beyond what counts as sent.
        let behind = self.sequence_of(self.sender.max).wrapping_sub(segment.seq);
        if !segment.is_retransmission && behind >= u32::from(segment.payload) {
            let payload = Bytes(u64::from(segment.payload)).min(view.sent);
            view.sent -= payload;
            if let Some(remaining) = &mut view.remaining {
                *remaining += payload;
            }
        }
        view
    }

    /// The first byte of a segment of this extent in what the application has written, from 0 on; of a SYN 0.
    #[inline]
    pub fn first_byte(&self, segment: Extent) -> u64 {
        // A window probe is beyond what counts as sent.
        let behind = self.sequence_of(self.sender.max).wrapping_sub(segment.seq).cast_signed();
        // The SYN has the number before the first byte.
        self.sender.max.saturating_add_signed(-i64::from(behind)).saturating_sub(1)
    }

    #[inline]
    fn phase(&self) -> Phase {
        match self.sender.recovery.phase() {
            LossPhase::Fast => Phase::FastRecovery,
            LossPhase::Loss => Phase::LossRecovery,
            LossPhase::Open if self.sender.una == 0 => Phase::Handshake,
            LossPhase::Open if self.sender.congestion.is_slow_start() => Phase::SlowStart,
            LossPhase::Open => Phase::CongestionAvoidance,
        }
    }

    /// The congestion window in bytes, without the temporary inflation of fast recovery.
    pub fn congestion_window(&self) -> u64 {
        self.sender.congestion.window().0
    }

    /// The smoothed round-trip time, once there is a sample.
    pub fn smoothed_rtt(&self) -> Option<Duration> {
        self.sender.rtt.smoothed()
    }

    /// The retransmission timeout, with its back-off.
    pub fn rto(&self) -> Duration {
        self.sender.rtt.rto()
    }
}
