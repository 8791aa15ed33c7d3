//! The kind of items that a workload's results count.

use serde::{Deserialize, Serialize};

/// What is timed from its beginning to its end, and counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Item {
    /// A request and its reply, or a flow that ends.
    #[default]
    Transfer,
    /// An index and the objects embedded in it.
    Page,
    /// The index, or one of the embedded objects.
    Object,
    /// A character that is typed, and comes back.
    Echo,
    /// One of the files that are sent one after another.
    File,
}

impl Item {
    /// One of them: "page".
    pub fn singular(self) -> &'static str {
        match self {
            Item::Transfer => "transfer",
            Item::Page => "page",
            Item::Object => "object",
            Item::Echo => "echo",
            Item::File => "file",
        }
    }

    /// Many of them: "pages".
    pub fn plural(self) -> &'static str {
        match self {
            Item::Transfer => "transfers",
            Item::Page => "pages",
            Item::Object => "objects",
            Item::Echo => "echoes",
            Item::File => "files",
        }
    }

    /// Any of them, at the beginning of a sentence: "A page", "An echo".
    pub fn any(self) -> String {
        let article = match self {
            Item::Transfer | Item::Page | Item::File => "A",
            Item::Object | Item::Echo => "An",
        };
        format!("{article} {}", self.singular())
    }

    /// Whether it is a transfer, which results do not write.
    pub(crate) fn is_transfer(&self) -> bool {
        *self == Item::Transfer
    }
}
