//! Keys that schemes with a CoDel queue per flow share.

/// Defines a table of keys: those of per-flow queues, and more.
macro_rules! flow_queue_keys {
    ($(#[$attribute:meta])* struct Keys { $($own:tt)* }) => {
        crate::keys::key_table! {
            $(#[$attribute])*
            struct Keys {
                /// Limit of all queues together.
                #[serde(default = "defaults::limit")]
                #[schemars(extend("x-range" = "at least 1 pkt or 1 B"))]
                limit: shortflow_units::Length,
                /// Number of queues; each flow is hashed to one.
                #[serde(default = "defaults::queues")]
                #[schemars(extend("x-range" = "1 to 65536"))]
                queues: u32,
                /// Bytes that a queue may send per turn.
                #[serde(default = "defaults::frame")]
                #[schemars(extend("x-range" = "above zero"))]
                quantum: shortflow_units::Bytes,
                /// Acceptable queueing delay.
                #[serde(default = "defaults::target")]
                #[schemars(extend("x-range" = "above zero"))]
                target: shortflow_units::Duration,
                /// How long the delay may stay above `target`: a typical round-trip time.
                #[serde(default = "defaults::interval")]
                #[schemars(extend("x-range" = "above `target`"))]
                interval: shortflow_units::Duration,
                /// CoDel drops nothing while no more than this is queued behind the head.
                #[serde(default = "defaults::frame")]
                mtu: shortflow_units::Bytes,
                /// Whether ECN-capable packets are marked instead of dropped.
                #[serde(default = "defaults::ecn")]
                ecn: bool,
                $($own)*
            }
        }

        impl Keys {
            fn settings(
                &self,
                checker: &mut crate::check::Checker<'_>,
                path: &str,
            ) -> Option<shortflow_elements::queue::FlowQueueSettings> {
                use shortflow_elements::queue::{CoDelParams, EcnMode, FlowQueueSettings};
                checker.managed_limit(path, self.limit);
                let codel = CoDelParams::new(self.target, self.interval, self.mtu);
                Some(FlowQueueSettings {
                    limit: self.limit,
                    queues: self.queues as usize,
                    quantum: self.quantum,
                    codel: checker.accept(path, codel)?,
                    ecn: if self.ecn { EcnMode::Mark } else { EcnMode::Drop },
                })
            }
        }

        /// RFC 8290 §5.2: the parameters and their defaults.
        mod defaults {
            use shortflow_units::{Bytes, Duration, Length};

            pub(super) fn limit() -> Length {
                Length::Packets(10_240)
            }
            pub(super) fn queues() -> u32 {
                1024
            }
            /// The largest frame of an Ethernet link, which is both the quantum and CoDel's MTU.
            pub(super) fn frame() -> Bytes {
                Bytes(1514)
            }
            pub(super) fn target() -> Duration {
                Duration::from_millis(5)
            }
            pub(super) fn interval() -> Duration {
                Duration::from_millis(100)
            }
            pub(super) fn ecn() -> bool {
                true
            }
        }
    };
}
pub(crate) use flow_queue_keys;
