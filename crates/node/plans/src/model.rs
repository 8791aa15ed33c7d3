//! Checked plans.

use shortflow_text::Diagnostics;
use shortflow_units::Rate;

use crate::prefix::Prefix;

/// A direction, as customers see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    /// To customers: packets belong to the customer of their destination.
    Down,
    /// From customers: packets belong to the customer of their source.
    Up,
}

impl Direction {
    /// Both.
    pub const ALL: [Direction; 2] = [Direction::Down, Direction::Up];

    /// Its key in the files, and the option for its device.
    pub fn name(self) -> &'static str {
        match self {
            Direction::Down => "down",
            Direction::Up => "up",
        }
    }
}

/// A rate in each direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rates {
    /// To customers.
    pub down: Rate,
    /// From customers.
    pub up: Rate,
}

impl Rates {
    /// That of a direction.
    pub fn of(self, direction: Direction) -> Rate {
        match direction {
            Direction::Down => self.down,
            Direction::Up => self.up,
        }
    }
}

/// A place whose rate the customers behind it share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// Its name, unique among sites.
    pub name: String,
    /// The site in front of it, an index of [`Plans::sites`]; `None` for one that is directly behind the line.
    pub parent: Option<usize>,
    /// What it can carry.
    pub rates: Rates,
}

/// A customer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Customer {
    /// Its name, unique among customers.
    pub name: String,
    /// Its addresses, at least one.
    pub addresses: Vec<Prefix>,
    /// The plan: the most that it gets.
    pub plan: Rates,
    /// What it gets even if all others send, where that is guaranteed.
    pub at_least: Option<Rates>,
    /// The site, an index of [`Plans::sites`]; `None` for one that is directly behind the line.
    pub site: Option<usize>,
}

/// The queue of each customer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CustomerQueue {
    /// A queue for each flow, with CoDel (RFC 8290).
    #[default]
    FqCodel,
    /// One queue for all, for kernels without the other.
    Fifo,
}

impl CustomerQueue {
    /// All.
    pub const ALL: [CustomerQueue; 2] = [CustomerQueue::FqCodel, CustomerQueue::Fifo];

    /// Its name in the file.
    pub fn name(self) -> &'static str {
        match self {
            CustomerQueue::FqCodel => "fq-codel",
            CustomerQueue::Fifo => "fifo",
        }
    }
}

/// Customers, their plans and their sites.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plans {
    /// Their name.
    pub name: String,
    /// What the line carries, which all share.
    pub line: Rates,
    /// The most that addresses of no customer get; `None` for what customers leave.
    pub unknown: Option<Rates>,
    /// The queue of each customer.
    pub queue: CustomerQueue,
    /// The sites, in the order of the text.
    pub sites: Vec<Site>,
    /// The customers, in the order of the text.
    pub customers: Vec<Customer>,
    /// What is allowed, but probably a mistake.
    pub warnings: Diagnostics,
}

impl Plans {
    /// The least rate that can be written: with less, a queue could not keep delays short.
    pub const MIN_RATE: Rate = Rate::from_bits_per_sec(64_000);
    /// What each customer gets even without a guarantee, so that its connections stay open.
    pub const MIN_SHARE: Rate = Rate::from_bits_per_sec(8_000);
    /// How deep sites may be nested: the kernel's tree has 8 levels, of which the line and the customers take two.
    pub const MAX_DEPTH: usize = 6;
    /// How many customers and sites there may be together: each is a class with a number of 16 bits, and a change may need
    /// as many new ones before the old ones go.
    pub const MAX_CLASSES: usize = 30_000;

    /// Packets that wait for a customer at most, with a queue for each flow.
    pub const QUEUE_PACKETS: u32 = 1000;
    /// Queues of flows of each customer. On a device each takes 68 bytes, also without packets.
    pub const FLOW_QUEUES: u32 = 64;
    /// What a FIFO holds at least, in bytes: a piece of 64 KB that a device will segment, with the headers of its segments, and
    /// frames. A smaller one would drop each such piece.
    const MIN_FIFO: u64 = 72_000;

    /// What the FIFO of a customer with this plan holds, in bytes: what the plan sends in 100 ms, and at least a large piece.
    pub fn fifo_bytes(plan: Rate) -> u64 {
        (plan.bits_per_sec() / 8 / 10).max(Plans::MIN_FIFO)
    }

    /// What a customer gets even if all others send.
    pub fn floor(&self, customer: &Customer, direction: Direction) -> Rate {
        customer
            .at_least
            .map_or(Plans::MIN_SHARE, |rates| rates.of(direction))
            .max(Plans::MIN_SHARE)
    }

    /// The sites from a customer's or site's own one up to the line.
    pub fn path(&self, site: Option<usize>) -> impl Iterator<Item = usize> + '_ {
        std::iter::successors(site, |site| self.sites[*site].parent)
    }

    /// For each site, the sum of a rate over all customers behind it, in bits per second.
    pub fn sums(&self, rate: impl Fn(&Customer) -> Rate) -> Vec<u64> {
        let mut sums = vec![0; self.sites.len()];
        for customer in &self.customers {
            for site in self.path(customer.site) {
                sums[site] += rate(customer).bits_per_sec();
            }
        }
        sums
    }
}
