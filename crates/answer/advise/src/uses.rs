//! The uses of a network, and the assumptions about each.

use crate::error::UnknownName;

/// What people do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Use {
    /// Web pages.
    Web,
    /// Calls.
    Voice,
    /// Video meetings.
    Meetings,
    /// Films and clips over HTTP.
    Streaming,
    /// Games.
    Games,
    /// Terminals.
    Shell,
    /// Uploads without end.
    Backup,
    /// Downloads without end.
    Downloads,
}

/// The properties of a use.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// Its name.
    pub name: &'static str,
    /// Of how many users one does it at a time.
    pub one_of: u32,
    /// What is assumed of it, for readers.
    pub assumed: &'static str,
}

/// The approximate load of this number of users on a line.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Offer {
    /// Bits per second over TCP, going out and coming in; without end where they take what they get.
    pub(crate) up: f64,
    pub(crate) down: f64,
    /// Other packets per second, both ways.
    pub(crate) datagrams: f64,
}

/// Datagrams at a constant rate, each way, that cannot wait.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stream {
    /// What many of them are called, and one.
    pub(crate) name: &'static str,
    pub(crate) one: &'static str,
    pub(crate) kbit_per_s: u32,
    /// Bytes of a packet.
    pub(crate) packet: u32,
    /// Its mark, if it has one.
    pub(crate) dscp: &'static str,
}

/// A figure by which a use is judged: as `tune` names it, `p95:pages`, and what it is, for readers.
pub type Figure = (&'static str, &'static str);

impl Use {
    /// All uses, those first whose times matter most to people.
    pub const ALL: [Use; 8] = [
        Use::Web,
        Use::Voice,
        Use::Meetings,
        Use::Streaming,
        Use::Games,
        Use::Shell,
        Use::Backup,
        Use::Downloads,
    ];

    /// Its properties.
    pub const fn row(self) -> Row {
        const fn row(name: &'static str, one_of: u32, assumed: &'static str) -> Row {
            Row { name, one_of, assumed }
        }
        match self {
            Use::Web => row(
                "web",
                1,
                "every user reads pages of 1.6 MB with about 35 objects, 40 s each (HTTP Archive \
                    2024: median 2.3 to 2.7 MB)",
            ),
            Use::Voice => row(
                "voice",
                10,
                "one user in ten is in a call: 200 bytes every 20 ms each way (G.711), marked EF",
            ),
            Use::Meetings => row(
                "meetings",
                10,
                "one user in ten is in a video meeting: 1.2 Mbit/s each way, marked AF41",
            ),
            Use::Streaming => row(
                "streaming",
                5,
                "one user in five watches a film: 2.5 MB every 4 s (5 Mbit/s) if the line allows it",
            ),
            Use::Games => row(
                "games",
                10,
                "one user in ten plays: 100 bytes 60 times a second each way, not marked",
            ),
            Use::Shell => row("shell", 10, "one user in ten types into a terminal"),
            Use::Backup => {
                row("backup", 25, "one user in 25 uploads continuously over two connections")
            }
            Use::Downloads => {
                row("downloads", 25, "one user in 25 downloads continuously over two connections")
            }
        }
    }

    /// By what it is judged, the first as its goal.
    pub const fn figures(self) -> &'static [Figure] {
        match self {
            Use::Web => &[("median:pages", "a page, median"), ("p95:pages", "a page, 95 %")],
            Use::Voice => &[
                ("p99:calls_up", "call, going out, 99 %"),
                ("loss:calls_up", "call, going out, lost"),
                ("p99:calls_down", "call, coming in, 99 %"),
                ("loss:calls_down", "call, coming in, lost"),
            ],
            Use::Meetings => &[
                ("p99:meetings_up", "meeting, going out, 99 %"),
                ("loss:meetings_up", "meeting, going out, lost"),
                ("p99:meetings_down", "meeting, coming in, 99 %"),
                ("loss:meetings_down", "meeting, coming in, lost"),
            ],
            Use::Streaming => &[("p95:films", "4 s of a film, 95 %")],
            Use::Games => &[
                ("p99:games_up", "game, going out, 99 %"),
                ("p99:games_down", "game, coming in, 99 %"),
            ],
            Use::Shell => &[("p95:terminals", "a key's echo, 95 %")],
            Use::Backup => &[("goodput:backups", "all uploads")],
            Use::Downloads => &[("goodput:downloads", "all downloads")],
        }
    }

    /// What it sends, where that cannot wait.
    pub(crate) const fn stream(self) -> Option<Stream> {
        const fn stream(
            (name, one): (&'static str, &'static str),
            kbit_per_s: u32,
            packet: u32,
            dscp: &'static str,
        ) -> Option<Stream> {
            Some(Stream { name, one, kbit_per_s, packet, dscp })
        }
        match self {
            Use::Voice => stream(("calls", "a call"), 80, 200, "EF"),
            Use::Meetings => stream(("meetings", "a meeting"), 1200, 1200, "AF41"),
            Use::Games => stream(("games", "a game"), 48, 100, ""),
            _ => None,
        }
    }

    /// The use of this name.
    ///
    /// # Errors
    /// When no use has the name.
    pub fn parse(name: &str) -> Result<Use, UnknownName> {
        Use::ALL.into_iter().find(|one| one.row().name == name).ok_or_else(|| {
            let names = Use::ALL.map(|one| one.row().name);
            UnknownName::new("use", name, "uses", &names)
        })
    }

    /// The number of these users who are active at a time.
    pub fn number(self, users: u32) -> u32 {
        users.div_ceil(self.row().one_of)
    }

    /// What `users` of it offer, pages and films being `sizes` times as large as assumed.
    pub(crate) fn offer(self, users: u32, sizes: f64) -> Offer {
        let users = f64::from(users);
        let none = Offer::default();
        match self {
            Use::Web => Offer { down: users * sizes * 0.32e6, ..none },
            Use::Streaming => Offer { down: users * sizes * 5e6, ..none },
            Use::Voice => Offer { datagrams: users * 100.0, ..none },
            Use::Meetings => Offer { datagrams: users * 250.0, ..none },
            Use::Games => Offer { datagrams: users * 120.0, ..none },
            Use::Shell => Offer { datagrams: users * 15.0, ..none },
            Use::Backup => Offer { up: f64::INFINITY, ..none },
            Use::Downloads => Offer { down: f64::INFINITY, ..none },
        }
    }
}
