//! Workloads of sessions as they are written: each does the next thing when the one before is done.

use schemars::JsonSchema;
use serde::Deserialize;
use shortflow_units::{Bytes, Duration};

use super::distribution::{CountsFile, TimesFile};
use super::list::OneOrList;
use super::{SizesFile, TcpFile};

/// Browsing over TCP: a page (its index, then the objects embedded in it), a time to think, the
/// next page. Say `page` and `think`, or `replay`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WebFile {
    /// The clients: a node, a group, a slice of one such as "user[2::5]", or a list of these.
    pub(crate) client: OneOrList<String>,
    /// The servers, likewise.
    pub(crate) server: OneOrList<String>,
    /// How many sessions; by default one for each pair. Session i runs between the i-th pair, round
    /// and round.
    pub(crate) sessions: Option<u32>,
    /// "1.0": a connection for each object, several at a time after the index. "1.1": one
    /// connection for all, the objects asked for at once when the index is there.
    pub(crate) http: HttpFile,
    /// Under HTTP/1.0, the most connections of a session at a time; 4 by default.
    pub(crate) connections: Option<u32>,
    /// Under HTTP/1.1, whether the connection stays open between pages; false by default.
    #[serde(default)]
    pub(crate) keep_alive: bool,
    /// Sizes of requests, of the index and of each object.
    pub(crate) request: SizesFile,
    /// The pages.
    pub(crate) page: Option<Box<PageFile>>,
    /// From the last byte of a page to the request of the next.
    pub(crate) think: Option<TimesFile>,
    /// Pages and times from a log instead.
    pub(crate) replay: Option<ReplayFile>,
    /// The server's port; 80 by default.
    pub(crate) port: Option<u16>,
    /// The earliest start; 0 s by default.
    pub(crate) start: Option<Duration>,
    /// Sessions start uniformly within this time after `start`; 0 s by default.
    pub(crate) start_window: Option<Duration>,
    /// No page is asked for from here on; by default with the run.
    pub(crate) stop: Option<Duration>,
    /// What differs from the scenario's TCP.
    #[serde(default)]
    pub(crate) tcp: TcpFile,
    /// The label by which a policy at a host knows its packets; by default the workload's name.
    pub(crate) label: Option<String>,
}

/// How a page is fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
pub(crate) enum HttpFile {
    /// HTTP/1.0.
    #[serde(rename = "1.0")]
    V10,
    /// HTTP/1.1.
    #[serde(rename = "1.1")]
    V11,
}

/// Pages.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PageFile {
    /// Sizes of indexes.
    pub(crate) index: SizesFile,
    /// How many objects are embedded in a page.
    pub(crate) objects: CountsFile,
    /// Sizes of embedded objects.
    pub(crate) object: SizesFile,
    /// How many pages there are, made once; each visit is to one of them at random. By default each
    /// visit is to a page of its own.
    pub(crate) pool: Option<u32>,
}

/// Accesses from a log.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReplayFile {
    /// The log, relative to this file: CSV as `measure.accesses` writes it. Of a list, the first
    /// replica has the first, and so on, round and round.
    pub(crate) file: OneOrList<String>,
    /// What a session does when a page comes before the one before is complete: "overlap" (the
    /// default) loads both, "wait" begins it then.
    #[serde(default)]
    pub(crate) busy: BusyFile,
}

/// What a session does when a page comes before the one before is complete.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum BusyFile {
    /// Both are loaded at a time.
    #[default]
    Overlap,
    /// The page begins when the one before is complete.
    Wait,
}

/// Typing over TCP: a character, its echo, a pause, the next character; one connection for each
/// session, with Nagle's algorithm unless `tcp.nagle` is false.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TelnetFile {
    /// The clients: a node, a group, a slice of one such as "user[2::5]", or a list of these.
    pub(crate) client: OneOrList<String>,
    /// The servers, likewise.
    pub(crate) server: OneOrList<String>,
    /// How many sessions; by default one for each pair.
    pub(crate) sessions: Option<u32>,
    /// The size of a packet with a character or its echo on the wire, headers included.
    pub(crate) packet: Bytes,
    /// From an echo to the next character.
    pub(crate) pause: TimesFile,
    /// The server's port; 23 by default.
    pub(crate) port: Option<u16>,
    /// The earliest start; 0 s by default.
    #[serde(default)]
    pub(crate) start: Duration,
    /// Sessions start uniformly within this time after `start`; 0 s by default.
    #[serde(default)]
    pub(crate) start_window: Duration,
    /// Nothing is typed from here on; by default with the run.
    pub(crate) stop: Option<Duration>,
    /// What differs from the scenario's TCP.
    #[serde(default)]
    pub(crate) tcp: TcpFile,
    /// The label by which a policy at a host knows its packets; by default the workload's name.
    pub(crate) label: Option<String>,
}

/// Files over TCP, one after another: a file over a connection of its own, a pause, the next file.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FtpFile {
    /// The senders: a node, a group, a slice of one such as "user[2::5]", or a list of these.
    pub(crate) from: OneOrList<String>,
    /// The receivers, likewise.
    pub(crate) to: OneOrList<String>,
    /// How many sessions; by default one for each pair.
    pub(crate) sessions: Option<u32>,
    /// Sizes of files.
    pub(crate) size: SizesFile,
    /// From the last byte of a file to the next file.
    pub(crate) pause: TimesFile,
    /// The receiver's port; 20 by default.
    pub(crate) port: Option<u16>,
    /// The earliest start; 0 s by default.
    #[serde(default)]
    pub(crate) start: Duration,
    /// Sessions start uniformly within this time after `start`; 0 s by default.
    #[serde(default)]
    pub(crate) start_window: Duration,
    /// No file is sent from here on; by default with the run.
    pub(crate) stop: Option<Duration>,
    /// What differs from the scenario's TCP.
    #[serde(default)]
    pub(crate) tcp: TcpFile,
    /// The label by which a policy at a host knows its packets; by default the workload's name.
    pub(crate) label: Option<String>,
}
