//! The counters of an endpoint.

/// Counters of one endpoint since its creation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stats {
    /// Segments of every kind handed out for sending.
    pub segments_sent: u32,
    /// Segments with data or a FIN that were retransmitted: by fast retransmit, recovery or timeout.
    pub retransmitted_segments: u32,
    /// SYNs or SYN-ACKs sent again.
    pub syn_retransmissions: u32,
    /// Expiries of the retransmission timer with data outstanding.
    pub timeouts: u32,
    /// Entries into fast recovery.
    pub fast_retransmits: u32,
    /// Window reductions because of an ECN echo.
    pub ecn_reductions: u32,
    /// Probes of a closed window.
    pub window_probes: u32,
}
