//! What meters find within their profiles, and the share of packets that this makes.

use crate::marks::{Protected, Share};
use crate::precedences;

/// What a meter finds of the packets that it sees: the shares within its profile of those that it protects first and of
/// the others, and the share of these within its peak rate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Within {
    pub(crate) first: f64,
    pub(crate) rest: f64,
    pub(crate) peak: f64,
    /// How many times the rate of its profile comes.
    pub(crate) times: f64,
}

impl Within {
    /// All of them.
    pub(crate) const ALL: Within = Within { first: 1.0, rest: 1.0, peak: 1.0, times: 1.0 };
}

/// The share of packets that a share stands for, when meters find these shares within their profiles.
pub(crate) fn value(share: Share, within: &[Within]) -> f64 {
    let of = |meter: usize, who| match who {
        Protected::First => within[meter].first,
        Protected::Rest => within[meter].rest,
    };
    match share {
        Share::All => 1.0,
        Share::Within(meter, who) => of(meter, who),
        Share::Beyond(meter, who) => 1.0 - of(meter, who),
        Share::Between(meter) => within[meter].peak - within[meter].rest,
        Share::Above(meter) => 1.0 - within[meter].peak,
        Share::Precedence(meter, precedence) => precedences::share(precedence, within[meter].times),
        Share::Part(part) => part,
    }
}
