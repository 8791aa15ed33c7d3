//! What a scheme is: one file that says what it is called, which keys it has, what they come to,
//! and how it is built. `schemes` holds the files; `build.rs` lists them.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use shortflow_elements::queue::AnyGate;
use shortflow_elements::{Color, Dscp, Marker, QueueDiscipline};
use shortflow_units::{Rate, Rng};

use crate::Asked;
use crate::check::Checker;
use crate::schemes::queues::QueuePlan;

/// The keys of a marker. The doc comment of the type says what the marker does, those of its
/// fields what the keys mean.
pub(crate) trait MarkerScheme: DeserializeOwned + JsonSchema {
    /// What the keys come to: parameters that cannot be invalid.
    type Plan;
    /// The paper or RFC that the scheme comes from.
    const SOURCE: &'static str;
    /// A class that is marked so.
    const EXAMPLE: &'static str;

    /// What the keys, which stand at `path`, come to; none when there is a mistake.
    fn check(&self, checker: &mut Checker<'_>, path: &str) -> Option<Self::Plan>;

    /// A fresh marker; `code_points` are those of green, yellow and red.
    fn build(plan: &Self::Plan, code_points: [Dscp; 3], rng: Rng) -> Box<dyn Marker>;

    /// What it asks of a connection's own host.
    fn asks(plan: &Self::Plan) -> Asked {
        let _ = plan;
        Asked::Nothing
    }

    /// The colours that it may give to a packet.
    fn colors(plan: &Self::Plan) -> &'static [Color];

    /// The code points that it may write, where `colors` are those of green, yellow and red.
    fn writes(plan: &Self::Plan, colors: [Dscp; 3]) -> Vec<Dscp> {
        let _ = plan;
        colors.to_vec()
    }
}

/// Green alone: the marker does not tell packets apart by colour.
pub(crate) const GREEN: &[Color] = &[Color::Green];
/// In profile and out of it.
pub(crate) const TWO_COLORS: &[Color] = &[Color::Green, Color::Yellow];

/// The keys of a queue. The doc comment of the type says what the queue does, those of its fields
/// what the keys mean.
pub(crate) trait QueueScheme: DeserializeOwned + JsonSchema {
    /// What the keys come to: parameters that cannot be invalid.
    type Plan;
    /// The paper or RFC that the scheme comes from.
    const SOURCE: &'static str;
    /// A role with such a queue.
    const EXAMPLE: &'static str;

    /// What the keys, which stand at `path`, come to; none when there is a mistake.
    fn check(&self, checker: &mut Checker<'_>, path: &str) -> Option<Self::Plan>;

    /// A fresh queue for a port.
    fn build(plan: &Self::Plan, port: &Port<'_>) -> Box<dyn QueueDiscipline>;

    /// The gate of that queue, where it is first in, first out behind a gate.
    fn gate(plan: &Self::Plan, port: &Port<'_>) -> Option<AnyGate> {
        let _ = (plan, port);
        None
    }

    /// The rate above which it lets nothing leave, whatever its line could carry; none when that is
    /// the line's, or depends on the packets.
    fn shaped_to(plan: &Self::Plan) -> Option<Rate> {
        let _ = plan;
        None
    }

    /// What it asks of a connection's own host.
    fn asks(plan: &Self::Plan) -> Asked {
        let _ = plan;
        Asked::Nothing
    }

    /// The queues inside it.
    fn inner(plan: &Self::Plan) -> Vec<&QueuePlan> {
        let _ = plan;
        Vec::new()
    }

    /// The code points that it may write itself.
    fn writes(plan: &Self::Plan) -> Vec<Dscp> {
        let _ = plan;
        Vec::new()
    }

    /// Whether it marks packets itself to tell of congestion (ECN).
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
    /// The queue's place in the port: `queue`, or `queue/1` for the second one inside it.
    pub(crate) path: String,
}

impl Port<'_> {
    /// A random stream of the queue's own, named after its place.
    pub(crate) fn stream(&self) -> Rng {
        Rng::stream(self.seed, &format!("{}/{}", self.name, self.path))
    }

    /// The place of the queue `index` inside this one.
    pub(crate) fn inner(&self, index: usize) -> Self {
        Port { path: format!("{}/{index}", self.path), ..self.clone() }
    }
}

/// Lists the markers: what is written, what it comes to, and what is said about it.
macro_rules! register_markers {
    ($($module:ident $Scheme:ident),+ $(,)?) => {
        /// A marker, by its scheme.
        #[derive(Debug, Clone, serde::Deserialize, schemars::JsonSchema)]
        #[serde(rename_all = "kebab-case")]
        pub(crate) enum MarkerKeys { $($Scheme($module::Keys)),+ }

        impl MarkerKeys {
            /// What is written at `path` comes to; none when there is a mistake.
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

            /// What it asks of a connection's own host.
            pub fn asks(&self) -> crate::Asked {
                use crate::scheme::MarkerScheme;
                match self { $(MarkerPlan::$Scheme(plan) => $module::Keys::asks(plan)),+ }
            }

            /// The colours that it may give to a packet.
            pub fn colors(&self) -> &'static [shortflow_elements::Color] {
                use crate::scheme::MarkerScheme;
                match self { $(MarkerPlan::$Scheme(plan) => $module::Keys::colors(plan)),+ }
            }

            /// The code points that it may write, where `colors` are those of green, yellow and
            /// red.
            pub fn writes(
                &self,
                colors: [shortflow_elements::Dscp; 3],
            ) -> Vec<shortflow_elements::Dscp> {
                use crate::scheme::MarkerScheme;
                match self { $(MarkerPlan::$Scheme(plan) => $module::Keys::writes(plan, colors)),+ }
            }

            /// A fresh marker.
            pub(crate) fn build(
                &self,
                code_points: [shortflow_elements::Dscp; 3],
                rng: shortflow_units::Rng,
            ) -> Box<dyn shortflow_elements::Marker> {
                use crate::scheme::MarkerScheme;
                match self {
                    $(MarkerPlan::$Scheme(plan) => $module::Keys::build(plan, code_points, rng)),+
                }
            }
        }

        /// What there is to say about each marker.
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

/// Lists the queues: what is written, what it comes to, and what is said about it.
macro_rules! register_queues {
    ($($module:ident $Scheme:ident),+ $(,)?) => {
        /// A queue, by its scheme.
        #[derive(Debug, Clone, serde::Deserialize, schemars::JsonSchema)]
        #[serde(rename_all = "kebab-case")]
        pub(crate) enum QueueKeys { $($Scheme($module::Keys)),+ }

        impl QueueKeys {
            /// What is written at `path` comes to; none when there is a mistake.
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

            /// The rate above which it lets nothing leave, whatever its line could carry; none when
            /// that is the line's, or depends on the packets.
            pub fn shaped_to(&self) -> Option<shortflow_units::Rate> {
                use crate::scheme::QueueScheme;
                match self { $(QueuePlan::$Scheme(plan) => $module::Keys::shaped_to(plan)),+ }
            }

            /// The queues inside it, in their order; none in most.
            pub fn inner(&self) -> Vec<&QueuePlan> {
                use crate::scheme::QueueScheme;
                match self { $(QueuePlan::$Scheme(plan) => $module::Keys::inner(plan)),+ }
            }

            /// The code points that it, or a queue inside it, may write.
            pub fn writes(&self) -> Vec<shortflow_elements::Dscp> {
                use crate::scheme::QueueScheme;
                let mut written = match self {
                    $(QueuePlan::$Scheme(plan) => $module::Keys::writes(plan)),+
                };
                written.extend(self.inner().into_iter().flat_map(QueuePlan::writes));
                written
            }

            /// What it, or a queue inside it, asks of a connection's own host.
            pub fn asks(&self) -> crate::Asked {
                use crate::scheme::QueueScheme;
                let asks = match self {
                    $(QueuePlan::$Scheme(plan) => $module::Keys::asks(plan)),+
                };
                self.inner().into_iter().map(QueuePlan::asks).fold(asks, Ord::max)
            }

            /// Whether it, or a queue inside it, marks packets to tell of congestion (ECN).
            pub fn marks(&self) -> bool {
                use crate::scheme::QueueScheme;
                let marks = match self {
                    $(QueuePlan::$Scheme(plan) => $module::Keys::marks(plan)),+
                };
                marks || self.inner().into_iter().any(QueuePlan::marks)
            }

            /// A fresh queue for a port.
            pub(crate) fn build(
                &self,
                port: &crate::scheme::Port<'_>,
            ) -> Box<dyn shortflow_elements::QueueDiscipline> {
                use crate::scheme::QueueScheme;
                match self { $(QueuePlan::$Scheme(plan) => $module::Keys::build(plan, port)),+ }
            }

            /// The gate of that queue, where it is first in, first out behind a gate.
            pub(crate) fn gate(
                &self,
                port: &crate::scheme::Port<'_>,
            ) -> Option<shortflow_elements::queue::AnyGate> {
                use crate::scheme::QueueScheme;
                match self { $(QueuePlan::$Scheme(plan) => $module::Keys::gate(plan, port)),+ }
            }
        }

        /// What there is to say about each queue.
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

/// The name in policies of the scheme in the file of this name.
pub(crate) fn kebab(module: &str) -> String {
    module.replace('_', "-")
}
