//! A connection to a directory.

use std::collections::HashSet;
use std::time::Duration;

use ldap3::adapters::{Adapter, PagedResults};
use ldap3::asn1::{PL, StructureTag};
use ldap3::controls::{RefreshMode, SyncRequest};
use ldap3::{
    Ldap, LdapConnAsync, LdapConnSettings, LdapError, Mod, Scope, SearchEntry, SearchStream,
};

use super::options::{Bind, DirectoryOptions};
use crate::ldap::{Entry, is_verdict};
use crate::source::UNKNOWN_AUTHOR;

/// The control of content synchronisation (RFC 4533, §2.2).
const SYNCHRONISATION: &str = "1.3.6.1.4.1.4203.1.9.1.1";
/// The control of paged results (RFC 2696, §2).
const PAGES: &str = "1.2.840.113556.1.4.319";
/// The entries of a page. Servers give 500 or 1000 at a time by default.
const PAGE: i32 = 500;
/// Entries that are ours.
const ENTRY_FILTER: &str = "(|(objectClass=shortflowTextEntry)(objectClass=shortflowPolicy)(objectClass=shortflowRule)\
                    (objectClass=shortflowVerdict))";
/// There is no such entry (RFC 4511, appendix A).
const NO_SUCH_ENTRY: u32 = 32;
/// The entries are at another server.
const REFERRAL: u32 = 10;
/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(10);
/// The most entries of an answer: more than a repository may have with the verdicts of its machines.
const MAX_ENTRIES: usize = 100_000;
/// The most bytes of an answer.
const MAX_BYTES: usize = 64 << 20;

type Search = SearchStream<'static, &'static str, Vec<&'static str>>;

/// An authenticated connection.
pub(super) struct Session {
    ldap: Ldap,
    /// Whether the server gives entries in pages.
    has_pages: bool,
    /// Where the server has content synchronisation.
    bell: Option<Search>,
}

impl Session {
    /// Connects, authenticates, and subscribes to changes if the server supports it.
    pub(super) async fn open(options: &DirectoryOptions) -> Result<Session, String> {
        let mut settings =
            LdapConnSettings::new().set_conn_timeout(CONNECT).set_starttls(options.starttls);
        if let Some(config) = options.tls.clone() {
            settings = settings.set_config(config);
        }
        let opened = LdapConnAsync::with_settings(settings, &options.url).await;
        let (connection, mut ldap) =
            opened.map_err(|error| error_text("cannot connect", &error))?;
        tokio::spawn(async move {
            // Whoever waits for an answer hears of the end of the connection.
            let _ = connection.drive().await;
        });
        let bound = match &options.bind {
            Bind::Anonymous => None,
            Bind::Simple { dn, password } => Some(ldap.simple_bind(dn, password).await),
            Bind::External => Some(ldap.sasl_external_bind().await),
        };
        if let Some(bound) = bound {
            bound
                .and_then(|result| result.success())
                .map_err(|error| error_text("authentication failed", &error))?;
        }
        let controls = supported_controls(&mut ldap).await?;
        let has = |control: &str| controls.iter().any(|one| one == control);
        let bell = match has(SYNCHRONISATION) {
            true => Some(bell(&mut ldap, &options.base).await?),
            false => None,
        };
        Ok(Session { ldap, has_pages: has(PAGES), bell })
    }

    /// All entries that are ours, in the order of their names, and who changed one of them last.
    pub(super) async fn read(&mut self, base: &str) -> Result<(Vec<Entry>, String), String> {
        let attributes = vec!["*", "modifyTimestamp", "modifiersName"];
        let mut adapters: Vec<Box<dyn Adapter<'static, _, _>>> = Vec::new();
        if self.has_pages {
            adapters.push(Box::new(PagedResults::new(PAGE)));
        }
        let asked = self.ldap.streaming_search_with(
            adapters,
            base,
            Scope::Subtree,
            ENTRY_FILTER,
            attributes,
        );
        let found = found(asked.await).await?;
        let mut newest = (String::new(), UNKNOWN_AUTHOR.to_owned());
        let mut entries: Vec<Entry> = Vec::new();
        for SearchEntry { dn, attrs, bin_attrs } in found {
            let one = |name: &str| attrs.get(name).and_then(|values| values.first()).cloned();
            let changed = one("modifyTimestamp").zip(one("modifiersName"));
            let texts = attrs.into_iter().flat_map(|(name, values)| {
                values.into_iter().map(move |value| (name.clone(), value.into_bytes()))
            });
            let bytes = bin_attrs.into_iter().flat_map(|(name, values)| {
                values.into_iter().map(move |value| (name.clone(), value))
            });
            let mut attributes: Vec<(String, Vec<u8>)> = texts.chain(bytes).collect();
            attributes.retain(|(name, _)| name != "modifyTimestamp" && name != "modifiersName");
            attributes.sort();
            let entry = Entry::new(dn, attributes);
            // What machines say of a version is no change of it.
            if !is_verdict(&entry)
                && let Some(changed) = changed
            {
                newest = newest.max(changed);
            }
            entries.push(entry);
        }
        entries.sort_by(|a, b| a.dn.cmp(&b.dn));
        Ok((entries, newest.1))
    }

    /// Writes a machine's verdict, and replaces its earlier one.
    pub(super) async fn tell(&mut self, entry: Entry) -> Result<(), String> {
        let changes = entry
            .attributes
            .iter()
            .filter(|(name, _)| name.starts_with("shortflow") || name == "description");
        let changes = changes.map(|(name, value)| {
            Mod::Replace(name.clone().into_bytes(), HashSet::from([value.clone()]))
        });
        let cannot = |error: LdapError| error_text("cannot write the verdict", &error);
        let changed = self.ldap.modify(&entry.dn, changes.collect()).await.map_err(cannot)?;
        if changed.rc != NO_SUCH_ENTRY {
            return changed.success().map(|_| ()).map_err(cannot);
        }
        let all = entry.attributes.into_iter();
        let all = all.map(|(name, value)| (name.into_bytes(), HashSet::from([value])));
        let added = self.ldap.add(&entry.dn, all.collect()).await;
        added.and_then(|result| result.success()).map(|_| ()).map_err(cannot)
    }

    /// Waits for a notification, at most for this time, and returns whether there may be a change. Without
    /// synchronisation there are no notifications.
    pub(super) async fn rings(&mut self, patience: Duration) -> Result<bool, LdapError> {
        let Some(bell) = &mut self.bell else {
            tokio::time::sleep(patience).await;
            return Ok(false);
        };
        match tokio::time::timeout(patience, bell.next()).await {
            Err(_) => Ok(false),
            Ok(Ok(Some(_))) => Ok(true),
            // It has the control, and not for these entries: it has answered once, and that is all.
            Ok(Ok(None)) => {
                self.bell = None;
                Ok(true)
            }
            Ok(Err(error)) => Err(error),
        }
    }
}

async fn supported_controls(ldap: &mut Ldap) -> Result<Vec<String>, String> {
    let asked = ldap.streaming_search("", Scope::Base, "(objectClass=*)", vec!["supportedControl"]);
    let roots = found(asked.await).await?.into_iter();
    Ok(roots
        .flat_map(|mut root| root.attrs.remove("supportedControl").unwrap_or_default())
        .collect())
}

/// The entries that a server finds. One that sends more than a repository can be is not heard to its end.
async fn found(asked: Result<Search, LdapError>) -> Result<Vec<SearchEntry>, String> {
    let cannot = |error: LdapError| error_text("cannot search", &error);
    let mut stream = asked.map_err(cannot)?;
    let (mut entries, mut bytes) = (Vec::new(), 0);
    while let Some(found) = stream.next().await.map_err(cannot)? {
        if found.is_ref() {
            return Err(elsewhere(&references(&found.0)));
        }
        if found.is_intermediate() {
            continue;
        }
        let entry = SearchEntry::construct(found);
        bytes += size(&entry);
        entries.push(entry);
        if entries.len() > MAX_ENTRIES || bytes > MAX_BYTES {
            let megabytes = MAX_BYTES >> 20;
            return Err(format!(
                "the answer is too large: more than {MAX_ENTRIES} entries or {megabytes} MB"
            ));
        }
    }
    let result = stream.finish().await;
    match result.rc {
        REFERRAL => Err(elsewhere(&result.refs)),
        _ => result.success().map(|_| entries).map_err(cannot),
    }
}

/// The addresses of a search result reference (RFC 4511, §4.5.3).
fn references(message: &StructureTag) -> Vec<String> {
    let PL::C(parts) = &message.payload else { return Vec::new() };
    let text = |part: &StructureTag| match &part.payload {
        PL::P(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        PL::C(_) => None,
    };
    parts.iter().filter_map(text).collect()
}

/// A part of a repository is on another server: half of one is never taken.
fn elsewhere(servers: &[String]) -> String {
    let servers = servers.join(", ");
    format!(
        "the server refers to another one for entries below the base: {servers}; the agent reads a repository from one \
         server: give that server, or a base below which all entries are here"
    )
}

/// The bytes of an entry's names and values.
fn size(entry: &SearchEntry) -> usize {
    let texts =
        entry.attrs.iter().map(|(name, values)| (name, values.iter().map(String::len).sum()));
    let binary =
        entry.bin_attrs.iter().map(|(name, values)| (name, values.iter().map(Vec::len).sum()));
    let attributes: usize =
        texts.chain(binary).map(|(name, values): (_, usize)| name.len() + values).sum();
    entry.dn.len() + attributes
}

/// Subscribes to changes. It asks for names alone, since what it says is that something may have changed.
async fn bell(ldap: &mut Ldap, base: &str) -> Result<Search, String> {
    let request =
        SyncRequest { mode: RefreshMode::RefreshAndPersist, cookie: None, reload_hint: false };
    let asked = ldap
        .with_controls(request)
        .streaming_search(base, Scope::Subtree, ENTRY_FILTER, vec!["1.1"])
        .await;
    asked.map_err(|error| error_text("cannot subscribe to changes", &error))
}

fn error_text(what: &str, error: &LdapError) -> String {
    match error {
        LdapError::LdapResult { result } => {
            let text =
                if result.text.is_empty() { String::new() } else { format!(": {}", result.text) };
            format!("{what}: LDAP result {} ({}){text}", result.rc, meaning(result.rc))
        }
        other => format!("{what}: {other}"),
    }
}

/// What operators meet (RFC 4511, appendix A).
fn meaning(code: u32) -> &'static str {
    match code {
        3 => "the server's time limit for a search was reached; raise it for the agent's name",
        4 => {
            "the server gives no more entries in one search; raise its size limit for the agent's name"
        }
        7 => "authentication method not supported",
        8 => "stronger authentication required",
        11 => "the server's administrative limit was exceeded; raise it for the agent's name",
        13 => "TLS required",
        32 => "no such entry",
        48 => "anonymous access not allowed",
        49 => "wrong name or password",
        50 => "insufficient access rights",
        51 | 52 => "the server is busy or unavailable",
        _ => "see RFC 4511",
    }
}
