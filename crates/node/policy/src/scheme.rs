//! The definition of a scheme. One file has its name, its keys, their check, and how it is built. The files
//! are in `schemes`; their `mod.rs` lists them.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use shortflow_elements::queue::AnyGate;
use shortflow_elements::{Color, Marker, QueueDiscipline};
use shortflow_packet::Dscp;
use shortflow_units::{Rate, Rng};

use crate::Asked;
use crate::check::Checker;
use crate::schemes::queues::QueuePlan;

/// The keys of a marker. The doc comment of the type describes the marker; those of its fields describe the
/// keys.
pub(crate) trait MarkerScheme: DeserializeOwned + JsonSchema {
    /// The checked keys: parameters that are always valid.
    type Plan;
    /// The paper or RFC that the scheme comes from.
    const SOURCE: &'static str;
    /// An example: a class with this marker.
    const EXAMPLE: &'static str;

    /// Checks the keys at `path`. `None` after a mistake.
    fn check(&self, checker: &mut Checker<'_>, path: &str) -> Option<Self::Plan>;

    /// A new marker. `code_points` are those of green, yellow and red.
    fn build(plan: &Self::Plan, code_points: [Dscp; 3], rng: Rng) -> Box<dyn Marker>;

    /// What it needs to know from the sending host.
    fn asks(plan: &Self::Plan) -> Asked {
        let _ = plan;
        Asked::Nothing
    }

    /// The colours that it can give to a packet.
    fn colors(plan: &Self::Plan) -> &'static [Color];

    /// The code points that it can write; `colors` are those of green, yellow and red.
    fn writes(plan: &Self::Plan, colors: [Dscp; 3]) -> Vec<Dscp> {
        let _ = plan;
        colors.to_vec()
    }
}

/// Green only: the marker does not use colours.
pub(crate) const GREEN: &[Color] = &[Color::Green];
/// In profile and out of it.
pub(crate) const TWO_COLORS: &[Color] = &[Color::Green, Color::Yellow];

/// The keys of a queue. The doc comment of the type describes the queue; those of its fields describe the
/// keys.
pub(crate) trait QueueScheme: DeserializeOwned + JsonSchema {
    /// The checked keys: parameters that are always valid.
    type Plan;
    /// The paper or RFC that the scheme comes from.
    const SOURCE: &'static str;
    /// An example: a role with this queue.
    const EXAMPLE: &'static str;

    /// Checks the keys at `path`. `None` after a mistake.
    fn check(&self, checker: &mut Checker<'_>, path: &str) -> Option<Self::Plan>;

    /// A new queue for a port.
    fn build(plan: &Self::Plan, port: &Port<'_>) -> Box<dyn QueueDiscipline>;

    /// The queue's gate, if the queue is a gate before a FIFO.
    fn gate(plan: &Self::Plan, port: &Port<'_>) -> Option<AnyGate> {
        let _ = (plan, port);
        None
    }

    /// The rate limit that it sets, whatever the rate of its link. `None` if it has no limit, or one that
    /// depends on the packets.
    fn shaped_to(plan: &Self::Plan) -> Option<Rate> {
        let _ = plan;
        None
    }

    /// The rate that its classes together get at least. `None` if it guarantees none.
    fn guaranteed(plan: &Self::Plan) -> Option<Rate> {
        let _ = plan;
        None
    }

    /// What it needs to know from the sending host.
    fn asks(plan: &Self::Plan) -> Asked {
        let _ = plan;
        Asked::Nothing
    }

    /// Whether it withholds segments in the TCPs of the sending host.
    fn withholds(plan: &Self::Plan) -> bool {
        let _ = plan;
        false
    }

    /// The queues inside it.
    fn inner(plan: &Self::Plan) -> Vec<&QueuePlan> {
        let _ = plan;
        Vec::new()
    }

    /// The code points that it can write itself.
    fn writes(plan: &Self::Plan) -> Vec<Dscp> {
        let _ = plan;
        Vec::new()
    }

    /// Whether it marks packets itself (ECN).
    fn marks(plan: &Self::Plan) -> bool {
        let _ = plan;
        false
    }
}

/// Where a queue is built.
#[derive(Debug, Clone)]
pub(crate) struct Port<'a> {
    /// The port, unique in the scenario.
    pub(crate) name: &'a str,
    /// The run's seed.
    pub(crate) seed: u64,
    /// The rate of the link, above zero.
    pub(crate) rate: Rate,
    /// The position of the queue in the port: `queue`, or `queue/1` for the second queue inside it.
    pub(crate) path: String,
}

impl Port<'_> {
    /// The queue's own random stream, named after its position.
    pub(crate) fn stream(&self) -> Rng {
        Rng::stream(self.seed, &format!("{}/{}", self.name, self.path))
    }

    /// The position of the queue `index` inside this one.
    pub(crate) fn inner(&self, index: usize) -> Self {
        Port { path: format!("{}/{index}", self.path), ..self.clone() }
    }
}

/// Lists the markers: their keys, their plans and their descriptions.
macro_rules! register_markers {
    ($($module:ident $Scheme:ident),+ $(,)?) => {
        /// A marker, by its scheme.
        #[derive(Debug, Clone, serde::Deserialize, schemars::JsonSchema)]
        #[serde(rename_all = "kebab-case")]
        pub(crate) enum MarkerKeys { $($Scheme($module::Keys)),+ }

        impl MarkerKeys {
            /// Checks the keys at `path`. `None` after a mistake.
            pub(crate) fn check(
                &self,
                checker: &mut crate::check::Checker<'_>,
                path: &str,
            ) -> Option<MarkerPlan> {
                match self {
                    $(MarkerKeys::$Scheme(keys) => {
                        let path = format!("{path}.{}", $crate::scheme::kebab(stringify!($module)));
                        crate::scheme::MarkerScheme::check(keys, checker, &path)
                            .map(MarkerPlan::$Scheme)
                    })+
                }
            }
        }

        /// The parameters of a marker, by its scheme.
        #[derive(Debug, Clone)]
        #[allow(missing_docs, reason = "each scheme says what it is in its own file")]
        pub enum MarkerPlan { $($Scheme($module::Plan)),+ }

        impl MarkerPlan {
            /// The name of the scheme in policies.
            pub fn scheme(&self) -> String {
                match self { $(MarkerPlan::$Scheme(_) => $crate::scheme::kebab(stringify!($module))),+ }
            }

            /// What it needs to know from the sending host.
            pub fn asks(&self) -> crate::Asked {
                use crate::scheme::MarkerScheme;
                match self { $(MarkerPlan::$Scheme(plan) => $module::Keys::asks(plan)),+ }
            }

            /// The colours that it can give to a packet.
            pub fn colors(&self) -> &'static [shortflow_elements::Color] {
                use crate::scheme::MarkerScheme;
                match self { $(MarkerPlan::$Scheme(plan) => $module::Keys::colors(plan)),+ }
            }

            /// The code points that it can write; `colors` are those of green, yellow and red.
            pub fn writes(
                &self,
                colors: [shortflow_packet::Dscp; 3],
            ) -> Vec<shortflow_packet::Dscp> {
                use crate::scheme::MarkerScheme;
                match self { $(MarkerPlan::$Scheme(plan) => $module::Keys::writes(plan, colors)),+ }
            }

            /// A new marker.
            pub(crate) fn build(
                &self,
                code_points: [shortflow_packet::Dscp; 3],
                rng: shortflow_units::Rng,
            ) -> Box<dyn shortflow_elements::Marker> {
                use crate::scheme::MarkerScheme;
                match self {
                    $(MarkerPlan::$Scheme(plan) => $module::Keys::build(plan, code_points, rng)),+
                }
            }
        }

        /// The descriptions of all markers.
        pub(crate) fn schemes() -> Vec<crate::explain::Scheme> {
            use crate::scheme::MarkerScheme;
            vec![$(crate::explain::Scheme::new::<$module::Keys>(
                crate::explain::SchemeKind::Marker,
                $crate::scheme::kebab(stringify!($module)),
                $module::Keys::SOURCE,
                $module::Keys::EXAMPLE,
            )),+]
        }
    };
}
pub(crate) use register_markers;

/// Lists the queues: their keys, their plans and their descriptions.
macro_rules! register_queues {
    ($($module:ident $Scheme:ident),+ $(,)?) => {
        /// A queue, by its scheme.
        #[derive(Debug, Clone, serde::Deserialize, schemars::JsonSchema)]
        #[serde(rename_all = "kebab-case")]
        pub(crate) enum QueueKeys { $($Scheme($module::Keys)),+ }

        impl QueueKeys {
            /// Checks the keys at `path`. `None` after a mistake.
            pub(crate) fn check(
                &self,
                checker: &mut crate::check::Checker<'_>,
                path: &str,
            ) -> Option<QueuePlan> {
                match self {
                    $(QueueKeys::$Scheme(keys) => {
                        let path = format!("{path}.{}", $crate::scheme::kebab(stringify!($module)));
                        crate::scheme::QueueScheme::check(keys, checker, &path)
                            .map(QueuePlan::$Scheme)
                    })+
                }
            }
        }

        /// The parameters of a queue, by its scheme.
        #[derive(Debug, Clone)]
        #[allow(missing_docs, reason = "each scheme says what it is in its own file")]
        pub enum QueuePlan { $($Scheme($module::Plan)),+ }

        impl QueuePlan {
            /// The name of the scheme in policies.
            pub fn scheme(&self) -> String {
                match self { $(QueuePlan::$Scheme(_) => $crate::scheme::kebab(stringify!($module))),+ }
            }

            /// The rate limit that it sets, whatever the rate of its link. `None` if it has no limit, or one
            /// that depends on the packets.
            pub fn shaped_to(&self) -> Option<shortflow_units::Rate> {
                use crate::scheme::QueueScheme;
                match self { $(QueuePlan::$Scheme(plan) => $module::Keys::shaped_to(plan)),+ }
            }

            /// The rate that its classes together get at least. `None` if it guarantees none.
            pub fn guaranteed(&self) -> Option<shortflow_units::Rate> {
                use crate::scheme::QueueScheme;
                match self { $(QueuePlan::$Scheme(plan) => $module::Keys::guaranteed(plan)),+ }
            }

            /// The queues inside it, in order. Most queues have none.
            pub fn inner(&self) -> Vec<&QueuePlan> {
                use crate::scheme::QueueScheme;
                match self { $(QueuePlan::$Scheme(plan) => $module::Keys::inner(plan)),+ }
            }

            /// The code points that it, or a queue inside it, can write.
            pub fn writes(&self) -> Vec<shortflow_packet::Dscp> {
                use crate::scheme::QueueScheme;
                let mut written = match self {
                    $(QueuePlan::$Scheme(plan) => $module::Keys::writes(plan)),+
                };
                written.extend(self.inner().into_iter().flat_map(QueuePlan::writes));
                written
            }

            /// What it, or a queue inside it, needs to know from the sending host.
            pub fn asks(&self) -> crate::Asked {
                use crate::scheme::QueueScheme;
                let asks = match self {
                    $(QueuePlan::$Scheme(plan) => $module::Keys::asks(plan)),+
                };
                self.inner().into_iter().map(QueuePlan::asks).fold(asks, Ord::max)
            }

            /// Whether it, or a queue inside it, withholds segments in the TCPs of the sending host.
            pub fn withholds(&self) -> bool {
                use crate::scheme::QueueScheme;
                let withholds = match self {
                    $(QueuePlan::$Scheme(plan) => $module::Keys::withholds(plan)),+
                };
                withholds || self.inner().into_iter().any(QueuePlan::withholds)
            }

            /// Whether it, or a queue inside it, marks packets (ECN).
            pub fn marks(&self) -> bool {
                use crate::scheme::QueueScheme;
                let marks = match self {
                    $(QueuePlan::$Scheme(plan) => $module::Keys::marks(plan)),+
                };
                marks || self.inner().into_iter().any(QueuePlan::marks)
            }

            /// A new queue for a port.
            pub(crate) fn build(
                &self,
                port: &crate::scheme::Port<'_>,
            ) -> Box<dyn shortflow_elements::QueueDiscipline> {
                use crate::scheme::QueueScheme;
                match self { $(QueuePlan::$Scheme(plan) => $module::Keys::build(plan, port)),+ }
            }

            /// The queue's gate, if the queue is a gate before a FIFO.
            pub(crate) fn gate(
                &self,
                port: &crate::scheme::Port<'_>,
            ) -> Option<shortflow_elements::queue::AnyGate> {
                use crate::scheme::QueueScheme;
                match self { $(QueuePlan::$Scheme(plan) => $module::Keys::gate(plan, port)),+ }
            }
        }

        /// The descriptions of all queues.
        pub(crate) fn schemes() -> Vec<crate::explain::Scheme> {
            use crate::scheme::QueueScheme;
            vec![$(crate::explain::Scheme::new::<$module::Keys>(
                crate::explain::SchemeKind::Queue,
                $crate::scheme::kebab(stringify!($module)),
                $module::Keys::SOURCE,
                $module::Keys::EXAMPLE,
            )),+]
        }
    };
}
pub(crate) use register_queues;

/// The name in policies of the scheme that this file defines.
pub(crate) fn kebab(module: &str) -> String {
    module.replace('_', "-")
}
