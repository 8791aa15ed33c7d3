//! HTTP responses.

use std::fmt;
use std::io::{self, Write};
use std::net::TcpStream;
use std::os::fd::AsFd;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::request::Refusal;

/// Writes a live answer, until it ends or the client disconnects.
type Writing<'a> = Box<dyn FnOnce(&mut Line<'_>) -> io::Result<()> + Send + 'a>;

/// An answer.
pub enum Answer<'a> {
    /// It is there, whole.
    Whole {
        /// The status line's code and phrase: `200 OK`.
        status: &'static str,
        /// Fields of the head besides those of every answer, each with its line end.
        fields: String,
        /// What it is about.
        body: Vec<u8>,
    },
    /// It continues while the client reads.
    Live {
        /// Whether its client may make changes: then it is closed only to make room for another one of these.
        is_kept: bool,
        /// Fields of the head besides those of every answer, each with its line end.
        fields: String,
        /// Writes it, until it ends or the client disconnects.
        write: Writing<'a>,
    },
}

impl Answer<'_> {
    /// What was asked for, of this media type.
    pub fn ok(media_type: &str, body: impl Into<Vec<u8>>) -> Self {
        let fields = format!("Content-Type: {media_type}\r\n");
        Answer::Whole { status: "200 OK", fields, body: body.into() }
    }

    /// The same with more fields in its head, each with its line end.
    #[must_use]
    pub fn with(mut self, more: &str) -> Self {
        let (Answer::Whole { fields, .. } | Answer::Live { fields, .. }) = &mut self;
        fields.push_str(more);
        self
    }
}

impl From<Refusal> for Answer<'_> {
    fn from(Refusal { status, more, says }: Refusal) -> Self {
        let fields = format!("Content-Type: text/plain; charset=utf-8\r\n{more}");
        Answer::Whole { status, fields, body: says.into() }
    }
}

impl fmt::Debug for Answer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Answer::Whole { status, .. } => write!(f, "Answer({status})"),
            Answer::Live { .. } => f.write_str("Answer(live)"),
        }
    }
}

/// The stream to the client of a live answer.
#[derive(Debug)]
pub struct Line<'s> {
    pub(crate) stream: &'s TcpStream,
}

impl Line<'_> {
    /// Sends this at once.
    ///
    /// # Errors
    /// When nobody reads it, or too slowly.
    pub fn send(&mut self, text: &str) -> io::Result<()> {
        self.stream.write_all(text.as_bytes())
    }

    /// Whether the client has disconnected.
    pub fn is_closed(&self) -> bool {
        let mut look = [PollFd::new(self.stream.as_fd(), PollFlags::POLLHUP)];
        poll(&mut look, PollTimeout::ZERO).is_ok_and(|ready| ready > 0)
    }
}
