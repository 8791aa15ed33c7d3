//! Markers as they are written.

use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};
use shortflow_units::{Bytes, Duration, Rate};

use super::{AdmissionFile, DstfFile, PerFile, SrptFile, TcpStateFile};

/// A marker, by its scheme.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum MarkerFile {
    /// One code point for all.
    Fixed(FixedFile),
    /// In the bucket's profile green, else yellow.
    TokenBucket(TokenBucketFile),
    /// Single rate three colour marker (RFC 2697).
    Srtcm(SrTcmFile),
    /// Two rate three colour marker (RFC 2698).
    Trtcm(TrTcmFile),
    /// Time sliding window two colour marker (RFC 2859 with its peak rate at the committed rate).
    Tsw2cm(Tsw2CmFile),
    /// Time sliding window three colour marker (RFC 2859).
    Tsw3cm(Tsw3CmFile),
    /// Marks the first packets of each flow green, the rest by what is left of the profile
    /// (Casetti & Mellia 2005).
    FairMarker(FairMarkerFile),
    /// Two token buckets tried in turn: the first's packets are green, the second's yellow, the
    /// rest red (Noureddine & Tobagi 2002).
    TwoBuckets(TwoBucketsFile),
    /// The less a flow has sent, the better its priority (DSTF, Guo et al. 2005).
    Dstf(DstfFile),
    /// The less remains of a message, the better its priority (SRPT-FP, Guo et al. 2005).
    Srpt(SrptFile),
    /// By the state of the sending TCP (Noureddine & Tobagi 2002).
    TcpState(TcpStateFile),
    /// Admission control of streams by measured load (Jamin et al. 1997).
    Admission(AdmissionFile),
}

/// One code point for all packets.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FixedFile {
    /// The code point.
    pub(crate) dscp: String,
    /// Packets that find no tokens here are yellow, and `police` may drop or remark them; by
    /// default all are green.
    pub(crate) bucket: Option<TokenBucketFile>,
}

/// A token bucket: packets that find tokens are green, the others yellow.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TokenBucketFile {
    /// The rate at which tokens come.
    pub(crate) rate: Rate,
    /// The greatest burst.
    pub(crate) depth: Bytes,
    /// Whose packets have a bucket of their own: "flow", "source" and so on; "all" share one by
    /// default.
    pub(crate) per: Option<PerFile>,
}

/// A pair of token buckets, tried in turn.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TwoBucketsFile {
    /// The bucket of green packets.
    pub(crate) green: BucketFile,
    /// The bucket of packets that find no tokens in the first: they are yellow.
    pub(crate) yellow: BucketFile,
    /// Whether the colour that a packet comes with counts: then it is never moved up; false by
    /// default.
    #[serde(default)]
    pub(crate) color_aware: bool,
    /// Whose packets have buckets of their own: "flow", "source" and so on; "all" share them by
    /// default.
    pub(crate) per: Option<PerFile>,
}

/// A bucket.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BucketFile {
    /// The rate at which tokens come.
    pub(crate) rate: Rate,
    /// The greatest burst.
    pub(crate) depth: Bytes,
}

/// Single rate three colour marker (RFC 2697).
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SrTcmFile {
    /// Committed information rate.
    pub(crate) cir: Rate,
    /// Committed burst size.
    pub(crate) cbs: Bytes,
    /// Excess burst size.
    pub(crate) ebs: Bytes,
    /// Whether the colour that a packet comes with counts; false by default.
    #[serde(default)]
    pub(crate) color_aware: bool,
    /// Whose packets have buckets of their own: "flow", "source" and so on; "all" share them by
    /// default.
    pub(crate) per: Option<PerFile>,
}

/// Two rate three colour marker (RFC 2698).
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TrTcmFile {
    /// Committed information rate.
    pub(crate) cir: Rate,
    /// Committed burst size.
    pub(crate) cbs: Bytes,
    /// Peak information rate.
    pub(crate) pir: Rate,
    /// Peak burst size.
    pub(crate) pbs: Bytes,
    /// Whether the colour that a packet comes with counts; false by default.
    #[serde(default)]
    pub(crate) color_aware: bool,
    /// Whose packets have buckets of their own: "flow", "source" and so on; "all" share them by
    /// default.
    pub(crate) per: Option<PerFile>,
}

/// Time sliding window two colour marker (RFC 2859).
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tsw2CmFile {
    /// Committed information rate.
    pub(crate) cir: Rate,
    /// The window of the rate estimator; 1 s by default.
    pub(crate) window: Option<Duration>,
    /// Where the rate estimate starts: "committed" (the default, RFC 2859 Figure 2) or "zero".
    pub(crate) initial_rate: Option<InitialRateFile>,
}

/// Time sliding window three colour marker (RFC 2859).
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tsw3CmFile {
    /// Committed information rate.
    pub(crate) cir: Rate,
    /// Peak information rate.
    pub(crate) pir: Rate,
    /// The window of the rate estimator; 1 s by default.
    pub(crate) window: Option<Duration>,
    /// Where the rate estimate starts: "committed" (the default, RFC 2859 Figure 2) or "zero".
    pub(crate) initial_rate: Option<InitialRateFile>,
}

/// Where a rate estimate starts.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum InitialRateFile {
    /// At the committed rate (RFC 2859, Figure 2).
    #[default]
    Committed,
    /// At zero.
    Zero,
}

/// The Fair Marker (Casetti & Mellia 2005).
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FairMarkerFile {
    /// Committed information rate.
    pub(crate) cir: Rate,
    /// The window of the rate estimators; 1 s by default.
    pub(crate) window: Option<Duration>,
    /// Where the rate estimates start: "committed" (the default) or "zero".
    pub(crate) initial_rate: Option<InitialRateFile>,
    /// How many packets of a flow are marked green first (t_ft); 7 by default.
    pub(crate) threshold: Option<u64>,
    /// How many flows the Short-Range Flow Table holds, 0 for TSW2CM, or "unlimited"; 30 by
    /// default.
    pub(crate) table_size: Option<TableSizeFile>,
    /// After which silence a flow leaves an unlimited table.
    pub(crate) idle_timeout: Option<Duration>,
}

/// A number of flows, or no limit to them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TableSizeFile {
    AtMost(usize),
    Unlimited,
}

impl<'de> Deserialize<'de> for TableSizeFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Forms;
        impl Visitor<'_> for Forms {
            type Value = TableSizeFile;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of flows from 0 to 10000000, or \"unlimited\"")
            }
            fn visit_i64<E: de::Error>(self, flows: i64) -> Result<TableSizeFile, E> {
                match usize::try_from(flows) {
                    Ok(size) if size <= 10_000_000 => Ok(TableSizeFile::AtMost(size)),
                    _ => Err(E::invalid_value(de::Unexpected::Signed(flows), &self)),
                }
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<TableSizeFile, E> {
                match text {
                    "unlimited" => Ok(TableSizeFile::Unlimited),
                    _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
                }
            }
        }
        deserializer.deserialize_any(Forms)
    }
}

impl JsonSchema for TableSizeFile {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "TableSize".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "anyOf": [{ "type": "integer", "minimum": 0 }, { "const": "unlimited" }],
        })
    }
}
