//! What a session asks for over a connection, and who closes it.

/// Something to ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ask {
    /// What it is to the session.
    pub tag: Tag,
    /// Bytes that the client sends.
    pub request: u64,
    /// Bytes that the server sends back; with none, the request is the transfer.
    pub reply: u64,
    /// Whether it is a part of an object, by a byte-range request.
    pub is_range: bool,
}

impl Ask {
    /// Whether the request is the transfer.
    pub(crate) fn is_one_way(&self) -> bool {
        self.reply == 0
    }

    /// Bytes of what is transferred.
    pub(crate) fn size(&self) -> u64 {
        if self.is_one_way() { self.request } else { self.reply }
    }
}

/// What something is to its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tag {
    /// The number of the page, counted over the session.
    pub page: u32,
    /// 0 for its index, then its objects.
    pub object: u32,
}

/// Who closes the connection, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closing {
    /// The client, when it has sent what it was opened with.
    ClientAfterRequest,
    /// The server, when it has sent the replies to that.
    ServerAfterReply,
    /// The client, when the session says so.
    Later,
}
