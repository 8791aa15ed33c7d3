//! A web server: a repository as one text of entries (LDIF). The agent polls it, and the server sends it only if it
//! has changed (RFC 9110, §13.1.2).

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::crypto::ring::default_provider;
use rustls::pki_types::CertificateDer;
use shortflow_text::{Diagnostic, Diagnostics, MAX_TEXT};
use ureq::http::header::{AUTHORIZATION, CONTENT_LENGTH, ETAG, IF_NONE_MATCH, TRANSFER_ENCODING};
use ureq::http::{HeaderValue, StatusCode, Uri};
use ureq::tls::{Certificate, ClientCert, PrivateKey, RootCerts, TlsConfig};
use ureq::{Agent, Body};

use super::backoff::Backoff;
use super::tls::{self, CertificatesError, is_loopback};
use super::{Fetched, NotFetched, PublishError, Source, UNKNOWN_AUTHOR};
use crate::ldap;
use crate::verdict::Verdict;

/// How long a server may take from the name to the last byte.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(20);
/// The most bytes of a file with a token.
const MAX_TOKEN: u64 = 64_000;
/// The most bytes of the head of an answer.
const MAX_HEAD: usize = 16 << 10;

type Answer = ureq::http::Response<Body>;

/// The address of a repository at a web server, and the identity used there.
pub struct HttpsOptions {
    url: String,
    tls: TlsConfig,
    token: Option<PathBuf>,
}

/// Why these options are invalid.
#[derive(Debug, thiserror::Error)]
pub enum HttpsError {
    /// The URL is of another kind.
    #[error("invalid repository URL {0:?}: {1}")]
    Url(String, &'static str),
    /// http:// without protection against changes on the way.
    #[error("the answers of {0} can be changed on the way: use https://")]
    Clear(String),
    /// Certificates that cannot be used.
    #[error(transparent)]
    Certificates(#[from] CertificatesError),
    /// No token in its file.
    #[error("{0}")]
    Token(String),
}

impl HttpsOptions {
    /// The repository at `url`. The CAs in the file `authorities`, or else those that the machine trusts, verify the
    /// server's certificate. `identity` is a client certificate with its key. `token` is a file with a bearer token
    /// (RFC 6750) in its first line, which is read for every request.
    ///
    /// # Errors
    /// When the URL is of another kind or leads to another machine without TLS, or files cannot be read.
    pub fn new(
        url: &str,
        authorities: Option<&Path>,
        identity: Option<(&Path, &Path)>,
        token: Option<&Path>,
    ) -> Result<HttpsOptions, HttpsError> {
        let wrong = |what| HttpsError::Url(url.to_owned(), what);
        let parsed: Uri =
            url.parse().map_err(|_| wrong("write https://host/path, with the path in ASCII"))?;
        let host = parsed.host().filter(|host| !host.is_empty());
        let host = host.ok_or_else(|| wrong("the host is missing"))?;
        if parsed.authority().is_some_and(|authority| authority.as_str().contains('@')) {
            return Err(wrong("a user name or password is not allowed in it: use --token-file"));
        }
        // A port that is none would be that of the scheme.
        if parsed.authority().is_some_and(|authority| authority.as_str() != host)
            && parsed.port_u16().is_none()
        {
            return Err(wrong("the port must be a number up to 65535"));
        }
        match parsed.scheme_str() {
            Some("https") => {}
            Some("http") if is_loopback(host) => {}
            Some("http") => return Err(HttpsError::Clear(url.to_owned())),
            _ => return Err(wrong("it must begin with https://")),
        }
        if let Some(file) = token {
            bearer(file).map_err(HttpsError::Token)?;
        }
        let tls = client(authorities, identity)?;
        Ok(HttpsOptions { url: url.to_owned(), tls, token: token.map(Path::to_owned) })
    }
}

fn client(
    authorities: Option<&Path>,
    identity: Option<(&Path, &Path)>,
) -> Result<TlsConfig, CertificatesError> {
    let own = |found: Vec<CertificateDer<'_>>| -> Vec<Certificate<'static>> {
        found.iter().map(|one| Certificate::from_der(one).to_owned()).collect()
    };
    let roots = RootCerts::new_with_certs(&own(tls::authorities(authorities)?));
    let mut config = TlsConfig::builder()
        .unversioned_rustls_crypto_provider(Arc::new(default_provider()))
        .root_certs(roots);
    if let Some((certificate, key)) = identity {
        let chain = own(tls::certificates(certificate)?);
        let pem = tls::pem(key)?;
        let key =
            PrivateKey::from_pem(&pem).map_err(|error| CertificatesError::new(key, &error))?;
        config = config.client_cert(Some(ClientCert::new_with_certs(&chain, key)));
    }
    Ok(config.build())
}

/// The header field with the token of a file.
fn bearer(file: &Path) -> Result<HeaderValue, String> {
    let read = shortflow_files::read_input(file, MAX_TOKEN)
        .map_err(|error| format!("cannot read {}: {error}", file.display()))?;
    let read = String::from_utf8_lossy(&read);
    let token = read.lines().next().unwrap_or_default().trim();
    // b64token of RFC 6750, §2.1.
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte);
    if token.is_empty() || !token.bytes().all(allowed) {
        let what = "has no valid token in its first line: use letters, digits and -._~+/=";
        return Err(format!("{} {what}", file.display()));
    }
    let mut value = HeaderValue::try_from(format!("Bearer {token}")).map_err(|_| "no token")?;
    value.set_sensitive(true);
    Ok(value)
}

/// A repository at a web server.
pub struct Https {
    options: HttpsOptions,
    agent: Agent,
    /// What the server sent last that is whole, by its entity tag.
    last: Option<(HeaderValue, Fetched)>,
    backoff: Backoff,
}

impl Https {
    /// The repository at a server that need not be there yet.
    pub fn new(options: HttpsOptions) -> Https {
        Https::with_patience(options, RESPONSE_TIMEOUT)
    }

    fn with_patience(options: HttpsOptions, patience: Duration) -> Https {
        let config = Agent::config_builder()
            .tls_config(options.tls.clone())
            .timeout_global(Some(patience))
            .http_status_as_error(false)
            // A token is for the server that was named, and so is what comes from there.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(None)
            .max_response_header_size(MAX_HEAD)
            // Between two readings so much time passes that servers hang up.
            .max_idle_connections(0)
            .user_agent(concat!("shortflow/", env!("CARGO_PKG_VERSION")))
            .build();
        Https {
            options,
            agent: Agent::new_with_config(config),
            last: None,
            backoff: Backoff::default(),
        }
    }

    fn ask(&self) -> Result<Answer, String> {
        let mut request = self.agent.get(&self.options.url);
        if let Some(file) = &self.options.token {
            request = request.header(AUTHORIZATION, bearer(file)?);
        }
        if let Some((tag, _)) = &self.last {
            request = request.header(IF_NONE_MATCH, tag);
        }
        request.call().map_err(|error| error_text(&error))
    }

    fn read(&mut self) -> Result<Fetched, NotFetched> {
        let mut answer = self.ask()?;
        match (answer.status(), &self.last) {
            (StatusCode::OK, _) => {}
            (StatusCode::NOT_MODIFIED, Some((_, fetched))) => return Ok(fetched.clone()),
            (status, _) if status.is_redirection() && status != StatusCode::NOT_MODIFIED => {
                let why = "and redirects are not followed: give the final URL";
                return Err(format!("the server answers {status}, {why}").into());
            }
            (status, _) => return Err(format!("the server answers {status}").into()),
        }
        let text = text(&mut answer)?;
        if text.is_empty() {
            let help = "serve the text that `agent export` writes".to_owned();
            let message = "the server's answer is empty".to_owned();
            let empty = Diagnostic::of_whole(&self.name(), message, Some(help));
            return Err(Diagnostics::one(empty).into());
        }
        let bundle = ldap::read(&self.name(), text)?;
        let fetched = Fetched { bundle, who: UNKNOWN_AUTHOR.to_owned(), verdicts: Vec::new() };
        let tag = answer.headers_mut().remove(ETAG);
        self.last = tag.map(|tag| (tag, fetched.clone()));
        Ok(fetched)
    }
}

/// The text of an answer, if it is known to be whole.
fn text(answer: &mut Answer) -> Result<String, String> {
    let has_end = answer.headers().contains_key(CONTENT_LENGTH)
        || answer
            .headers()
            .get(TRANSFER_ENCODING)
            .is_some_and(|coding| coding.as_bytes().eq_ignore_ascii_case(b"chunked"));
    if !has_end {
        return Err(
            "the server's answer may be cut off: it must have Content-Length or be chunked"
                .to_owned(),
        );
    }
    let bytes = answer.body_mut().with_config().limit(MAX_TEXT).read_to_vec();
    let bytes = bytes.map_err(|error| error_text(&error))?;
    String::from_utf8(bytes).map_err(|error| {
        format!(
            "the server's answer is not valid UTF-8 from byte {}",
            error.utf8_error().valid_up_to() + 1
        )
    })
}

fn error_text(error: &ureq::Error) -> String {
    match error {
        ureq::Error::Timeout(_) => "the server does not answer in time".to_owned(),
        ureq::Error::HostNotFound => "unknown host".to_owned(),
        ureq::Error::BodyExceedsLimit(_) => {
            format!("the server's answer is larger than the limit of {} MB", MAX_TEXT / 1_000_000)
        }
        ureq::Error::LargeResponseHeader(..) => {
            "the header of the server's answer is too large".to_owned()
        }
        ureq::Error::Protocol(error) => format!("invalid HTTP/1.1 answer: {error}"),
        ureq::Error::Io(error) => format!("cannot read from the server: {error}"),
        other => format!("cannot read from the server: {other}"),
    }
}

impl Source for Https {
    fn name(&self) -> String {
        self.options.url.clone()
    }

    fn hurry(&mut self) {
        self.backoff.hurry();
    }

    fn fetch(&mut self) -> Result<Fetched, NotFetched> {
        if let Some(why) = self.backoff.holds(Instant::now()) {
            return Err(why.to_owned().into());
        }
        let read = self.read();
        match &read {
            Err(NotFetched::Unreadable(why)) => self.backoff.failed(Instant::now(), why),
            // Who sends mistakes is there.
            Ok(_) | Err(NotFetched::Mistakes(_)) => self.backoff.done(),
        }
        read
    }

    fn tell(&mut self, _: &Verdict) -> Result<(), PublishError> {
        Err(PublishError::Unsupported)
    }

    /// No server rings: the repository is asked for when one reads in any case.
    fn wait(&mut self, patience: Duration) -> bool {
        self.backoff.wait(patience).unwrap_or_else(|| {
            std::thread::sleep(patience);
            false
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_server_that_sends_a_little_now_and_then_is_left_when_its_time_is_over() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            let (mut client, _) = listener.accept().unwrap();
            let head = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n";
            let mut sent = client.write_all(head);
            while sent.is_ok() {
                std::thread::sleep(Duration::from_millis(20));
                sent = client.write_all(b"#");
            }
        });
        let options = HttpsOptions::new(&url, None, None, None).unwrap();
        let began = Instant::now();
        let why = Https::with_patience(options, Duration::from_millis(300))
            .fetch()
            .unwrap_err()
            .to_string();
        assert_eq!(why, "the server does not answer in time");
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    }
}
