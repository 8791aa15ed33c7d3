//! Access control: who may read, and who may make changes.
//!
//! A browser sends requests for any open page, from any site. So the console grants nothing for what a browser sends
//! by itself: it uses no cookies. To make a change, the page sends the token in a header field that pages of other
//! origins cannot set (Fetch, §4.8, CORS). The console refuses any request from another site (Fetch Metadata,
//! `Sec-Fetch-Site`; RFC 6454, `Origin`).

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use shortflow_files::reason;
use shortflow_http::{Names, Refusal, Request};

/// Who may read, and who may change anything.
#[derive(Debug)]
pub struct Guard {
    names: Names,
    token: Option<Token>,
}

/// What is known to those who may.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

/// Why there is no token.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// It cannot be read.
    #[error("cannot read the token in {path}: {}", reason(.source))]
    Unreadable {
        /// The file.
        path: String,
        /// Why not.
        source: io::Error,
    },
    /// The token is too weak, or missing.
    #[error(
        "invalid token in the first line of {path}: use {MAX_SHORT} to {MAX_LONG} letters, digits, \
            `-`, `.` and `_`"
    )]
    Unfit {
        /// The file.
        path: String,
    },
}

/// The most bytes of its file.
const MAX_FILE: u64 = 4096;
/// The minimum and maximum length of a token.
const MAX_SHORT: usize = 16;
const MAX_LONG: usize = 512;

const FOREIGN: Refusal = Refusal::new(
    "403 Forbidden",
    "cross-site request refused\nopen the console's address directly\n",
);
const TOKEN: Refusal = Refusal {
    status: "401 Unauthorized",
    more: "WWW-Authenticate: Bearer\r\n",
    says: "missing or wrong token\nthe token is in the address printed at the start, and in the \
        token file\n",
};
const READ_ONLY: Refusal = Refusal::new(
    "403 Forbidden",
    "this console is read-only because it was started without a token\nto make changes, start it \
        with --console-token-file FILE\n",
);
const JSON: Refusal = Refusal::new("415 Unsupported Media Type", "send application/json\n");

impl Guard {
    /// Guards an address with these names; a client with `token` may make changes, and without a token no client may.
    ///
    /// # Panics
    /// When others than this machine may ask, and there is no token.
    pub fn new(names: Names, token: Option<Token>) -> Guard {
        assert!(
            names == Names::Loopback || token.is_some(),
            "who asks from elsewhere shows a token"
        );
        Guard { names, token }
    }

    /// Refuses what comes from elsewhere.
    pub(crate) fn admit(&self, request: &Request) -> Result<(), Refusal> {
        let site = request.field("sec-fetch-site");
        if !matches!(site, None | Some("same-origin" | "none")) {
            return Err(FOREIGN);
        }
        let Some(origin) = request.field("origin") else { return Ok(()) };
        let of_scheme = |scheme| origin.strip_prefix(scheme);
        let from = of_scheme("http://").or_else(|| of_scheme("https://"));
        match (from, request.field("host")) {
            (Some(from), Some(host)) if from.eq_ignore_ascii_case(host) => Ok(()),
            _ => Err(FOREIGN),
        }
    }

    /// Refuses a client that may not read.
    pub(crate) fn reads(&self, request: &Request) -> Result<(), Refusal> {
        match self.names {
            Names::Loopback => Ok(()),
            Names::Addresses => self.shows_token(request),
        }
    }

    /// Refuses who may not change anything.
    pub(crate) fn changes(&self, request: &Request) -> Result<(), Refusal> {
        if self.token.is_none() {
            return Err(READ_ONLY);
        }
        self.shows_token(request)?;
        match request.field("content-type") {
            Some("application/json") => Ok(()),
            _ => Err(JSON),
        }
    }

    /// Whether any client may make changes.
    pub(crate) fn may_change(&self) -> bool {
        self.token.is_some()
    }

    /// Whether the request shows the token.
    pub(crate) fn knows(&self, request: &Request) -> bool {
        self.shows_token(request).is_ok()
    }

    fn shows_token(&self, request: &Request) -> Result<(), Refusal> {
        let shown = request.field("authorization").and_then(|field| field.split_once(' '));
        let shown = shown.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        match (&self.token, shown) {
            (Some(token), Some((_, shown))) if token.is(shown.trim_start()) => Ok(()),
            _ => Err(TOKEN),
        }
    }
}

impl Token {
    /// A new token: 128 bits of the kernel's randomness.
    ///
    /// # Errors
    /// When the kernel gives none.
    pub fn random() -> io::Result<Token> {
        let mut bytes = [0; 16];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        Ok(Token(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// The first line of a file.
    ///
    /// # Errors
    /// When it cannot be read, or can be guessed.
    pub fn read(path: &Path) -> Result<Token, TokenError> {
        let name = || path.display().to_string();
        let read = shortflow_files::read_input(path, MAX_FILE).map_err(io::Error::from);
        let read = read.map_err(|source| TokenError::Unreadable { path: name(), source })?;
        let text = String::from_utf8_lossy(&read);
        let line = text.lines().next().unwrap_or_default().trim();
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
        let is_fit = (MAX_SHORT..=MAX_LONG).contains(&line.len()) && line.bytes().all(is_plain);
        if is_fit { Ok(Token(line.to_owned())) } else { Err(TokenError::Unfit { path: name() }) }
    }

    /// The token as part of an address.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this is it; that takes as long whatever differs.
    fn is(&self, shown: &str) -> bool {
        let differs = |(a, b): (u8, u8)| a ^ b;
        self.0.len() == shown.len()
            && self.0.bytes().zip(shown.bytes()).map(differs).fold(0, |all, one| all | one) == 0
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(fields: &str) -> Request {
        let head = format!("POST /switch HTTP/1.1\r\nHost: 127.0.0.1:9856\r\n{fields}\r\n");
        Request::parse(head.as_bytes(), Names::Loopback).unwrap()
    }

    fn status(result: Result<(), Refusal>) -> &'static str {
        result.map_or_else(|refusal| &refusal.status[..3], |()| "200")
    }

    fn guard(names: Names) -> Guard {
        Guard::new(names, Some(Token("0123456789abcdef".to_owned())))
    }

    const SHOWN: &str = "Authorization: Bearer 0123456789abcdef\r\n";
    const SENT: &str = "Content-Type: application/json\r\n";

    #[test]
    fn what_comes_from_a_page_of_another_site_is_refused_whatever_it_shows() {
        let guard = guard(Names::Loopback);
        for (fields, wanted) in [
            ("", "200"),
            ("Sec-Fetch-Site: none\r\n", "200"),
            ("Sec-Fetch-Site: same-origin\r\nOrigin: http://127.0.0.1:9856\r\n", "200"),
            ("Origin: https://127.0.0.1:9856\r\n", "200"),
            ("Sec-Fetch-Site: cross-site\r\n", "403"),
            ("Sec-Fetch-Site: same-site\r\n", "403"),
            ("Sec-Fetch-Site: \r\n", "403"),
            ("Origin: http://127.0.0.1:9857\r\n", "403"),
            ("Origin: http://127.0.0.1\r\n", "403"),
            ("Origin: http://localhost:9856\r\n", "403"),
            ("Origin: http://evil.example\r\n", "403"),
            ("Origin: ftp://127.0.0.1:9856\r\n", "403"),
            ("Origin: null\r\n", "403"),
            ("Origin: \r\n", "403"),
            ("Sec-Fetch-Site: same-origin\r\nOrigin: http://evil.example\r\n", "403"),
        ] {
            let fields = format!("{fields}{SHOWN}{SENT}");
            assert_eq!(status(guard.admit(&request(&fields))), wanted, "{fields}");
        }
    }

    #[test]
    fn who_shows_the_token_may_change_something_and_nobody_else() {
        let guard = guard(Names::Loopback);
        for (fields, wanted) in [
            (format!("{SHOWN}{SENT}"), "200"),
            (format!("authorization: bearer 0123456789abcdef\r\n{SENT}"), "200"),
            (SENT.to_owned(), "401"),
            (format!("Authorization: Bearer 0123456789abcdeF\r\n{SENT}"), "401"),
            (format!("Authorization: Bearer 0123456789abcde\r\n{SENT}"), "401"),
            (format!("Authorization: Bearer\r\n{SENT}"), "401"),
            (format!("Authorization: Basic 0123456789abcdef\r\n{SENT}"), "401"),
            (format!("Cookie: token=0123456789abcdef\r\n{SENT}"), "401"),
            // What a form of another site can send without asking.
            (SHOWN.to_owned(), "415"),
            (format!("{SHOWN}Content-Type: text/plain\r\n"), "415"),
        ] {
            assert_eq!(status(guard.changes(&request(&fields))), wanted, "{fields}");
        }
        let message = Guard::new(Names::Loopback, None).changes(&request(SHOWN)).unwrap_err();
        assert!(message.says.contains("this console is read-only"), "{}", message.says);
    }

    #[test]
    fn reading_from_elsewhere_needs_the_token_and_reading_here_does_not() {
        assert_eq!(status(guard(Names::Loopback).reads(&request(""))), "200");
        assert_eq!(status(guard(Names::Addresses).reads(&request(""))), "401");
        assert_eq!(status(guard(Names::Addresses).reads(&request(SHOWN))), "200");
    }

    #[test]
    fn a_token_that_can_be_guessed_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let read = |text: &str| {
            std::fs::write(&path, text).unwrap();
            Token::read(&path).map(|token| token.0)
        };
        assert_eq!(read("  0123456789abcdef \nmore").unwrap(), "0123456789abcdef");
        for text in
            ["", "\n0123456789abcdef", "0123456789abcde", "0123456789 abcdef", "0123456789abcdéf"]
        {
            assert!(matches!(read(text), Err(TokenError::Unfit { .. })), "{text:?}");
        }
        let absent = Token::read(&folder.path().join("absent"));
        assert!(matches!(absent, Err(TokenError::Unreadable { .. })));
        let (one, other) = (Token::random().unwrap(), Token::random().unwrap());
        assert!(one != other && one.0.len() == 32);
        assert_eq!(format!("{one:?}"), "Token(…)", "no log has it");
    }
}
