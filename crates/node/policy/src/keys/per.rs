//! The `per` key: which packets share an account.

use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{self, Deserializer, IntoDeserializer, MapAccess, Visitor};
use shortflow_elements::{Aggregate, Per};
use shortflow_units::Duration;

use super::{OneOf, choices};
use crate::check::Checker;

/// Which packets share an account: a name, or a table with the name and its limits.
#[derive(Debug, Clone)]
pub(crate) struct PerKey(pub(crate) PerSettings);

/// Which packets share an account, and how many accounts are kept.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PerSettings {
    /// Which packets share an account.
    pub(crate) each: OneOf<Option<Aggregate>>,
    /// How many accounts are kept. A new account replaces the least recently used one.
    #[serde(default = "table_size")]
    pub(crate) table_size: usize,
    /// An account that has been idle for this long is removed. Default: 60 s, or longer if an account takes
    /// longer to return to its initial state.
    pub(crate) idle_timeout: Option<Duration>,
    /// The length of the prefix that identifies an IPv6 host. Providers give one user a prefix, such as a /64
    /// (the default) or a /56.
    #[schemars(range(min = 1, max = 128), extend("x-range" = "1 to 128"))]
    pub(crate) ipv6_prefix: Option<u8>,
}

impl PerSettings {
    fn new(each: OneOf<Option<Aggregate>>) -> Self {
        PerSettings { each, table_size: table_size(), idle_timeout: None, ipv6_prefix: None }
    }
}

choices!(Option<Aggregate> as "Aggregate" {
    /// One account per flow (5-tuple).
    "flow" => Some(Aggregate::Flow),
    /// One account per pair of source and destination address.
    "host-pair" => Some(Aggregate::HostPair),
    /// One account per source address.
    "source" => Some(Aggregate::Source),
    /// One account per destination address.
    "destination" => Some(Aggregate::Destination),
    /// One account for all packets.
    "all" => None,
});

impl<'de> Deserialize<'de> for PerKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Forms;
        impl<'de> Visitor<'de> for Forms {
            type Value = PerKey;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "a name such as \"source\", or { each = \"source\", table_size = 1000 }",
                )
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<PerKey, E> {
                let each = OneOf::<Option<Aggregate>>::deserialize(text.into_deserializer())?;
                Ok(PerKey(PerSettings::new(each)))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<PerKey, A::Error> {
                let map = de::value::MapAccessDeserializer::new(map);
                PerSettings::deserialize(map).map(PerKey)
            }
        }
        deserializer.deserialize_any(Forms)
    }
}

impl JsonSchema for PerKey {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Per".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let name = generator.subschema_for::<OneOf<Option<Aggregate>>>();
        let settings = generator.subschema_for::<PerSettings>();
        schemars::json_schema!({ "anyOf": [name, settings] })
    }
}

/// The default number of accounts. Memory is used only for accounts in use.
fn table_size() -> usize {
    65_536
}

const DEFAULT_IDLE_TIMEOUT: Duration = Duration::from_secs(60);

impl Checker<'_> {
    /// Which packets share an account; the inner `None` means that all share one, and the outer `None` is a
    /// mistake. After an idle time of `settled` an account is back in its initial state.
    pub(crate) fn per(
        &mut self,
        path: &str,
        key: Option<&PerKey>,
        settled: Duration,
    ) -> Option<Option<Per>> {
        let Some(PerKey(settings)) = key else { return Some(None) };
        if let (Some(_), None | Some(Aggregate::Flow)) = (settings.ipv6_prefix, settings.each.0) {
            let message = "ipv6_prefix has no effect here: accounts do not belong to hosts";
            let help = "remove it, or set `each` to `source`, `destination` or `host-pair`";
            self.document.mistake_in_key(&format!("{path}.per.ipv6_prefix"), message, help);
        }
        let OneOf(Some(aggregate)) = settings.each else { return Some(None) };
        let idle_timeout = settings.idle_timeout.unwrap_or(DEFAULT_IDLE_TIMEOUT.max(settled));
        let per = Per::new(aggregate, settings.table_size, idle_timeout);
        let per = per.and_then(|per| per.settling_in(settled));
        let per = per.and_then(|per| match settings.ipv6_prefix {
            Some(length) => per.with_ipv6_prefix(length),
            None => Ok(per),
        });
        self.accept(&format!("{path}.per"), per).map(Some)
    }

    /// As [`per`](Self::per), but the default is one account per flow, and `all` is refused.
    pub(crate) fn per_flow(
        &mut self,
        path: &str,
        key: Option<&PerKey>,
        settled: Duration,
    ) -> Option<Per> {
        let Some(key) = key else {
            let idle_timeout = DEFAULT_IDLE_TIMEOUT.max(settled);
            return self.accept(path, Per::new(Aggregate::Flow, table_size(), idle_timeout));
        };
        let per = self.per(path, Some(key), settled)?;
        if per.is_none() {
            let message = "`per` cannot be \"all\" here: all packets would share one account";
            let help = "allowed here: `flow`, `host-pair`, `source`, `destination`";
            self.document.mistake(&format!("{path}.per"), message, help);
        }
        per
    }
}
