//! The tokens that each connection holds.

use super::{Depths, Rooms, Sharing};

/// Tokens in the units of [`Tokens`](crate::meter::bucket::Tokens); negative values are debts.
pub(super) type Units = i128;

/// The tokens of one bucket of depth B, and their owners.
///
/// Tokens are distributed in rounds of one unit per connection. In a partitioned bucket each of n connections
/// gets one, and a full connection's unit is lost. In a logical bucket each connection that is not full gets
/// one, which is the result of equal rates and equal sharing of the overflow. The rest below a round waits in
/// the pool. It is lost only if all held tokens, with the pool, would exceed B.
///
/// A packet conforms if the connection's bucket holds its tokens. If the bucket is not deep enough, it must
/// be full, and the aggregate must hold the tokens. The connection then owes the missing tokens, and pays
/// them from its own share. (The paper requires buckets that are deep enough, b_i ≥ rtt_i · r_i.)
///
/// O(n) for n connections at each distribution, because the amount per connection depends on which others are
/// full.
#[derive(Debug, Clone)]
pub(super) struct SharedTokens {
    sharing: Sharing,
    depth: Units,
    /// By the number of the connection.
    shares: Vec<Option<Share>>,
    connections: Units,
    /// The tokens of all connections.
    held: Units,
    /// Tokens without an owner, or the debt of a connection that has left.
    pool: Units,
}

#[derive(Debug, Clone, Default)]
struct Share {
    held: Units,
    depth: Units,
    /// The round-trip time in microseconds; zero if unknown.
    rtt: u32,
}

impl Share {
    fn space(&self) -> Units {
        self.depth - self.held
    }
}

impl SharedTokens {
    /// A full bucket of `depth`, without connections.
    pub(super) fn new(sharing: Sharing, depth: Units) -> Self {
        SharedTokens { sharing, depth, shares: Vec::new(), connections: 0, held: 0, pool: depth }
    }

    /// Reserves memory for `connections` in total.
    pub(super) fn reserve(&mut self, connections: usize) {
        self.shares.reserve(connections.saturating_sub(self.shares.len()));
    }

    /// All tokens held, minus debts.
    pub(super) fn total(&self) -> Units {
        self.held + self.pool
    }

    fn shares(&self) -> impl Iterator<Item = &Share> {
        self.shares.iter().flatten()
    }

    fn share(&self, connection: u32) -> &Share {
        let share = self.shares.get(connection as usize).and_then(Option::as_ref);
        share.expect("a connection joins before it is asked for")
    }

    fn share_mut(&mut self, connection: u32) -> &mut Share {
        let share = self.shares.get_mut(connection as usize).and_then(Option::as_mut);
        share.expect("a connection joins before it is asked for")
    }

    /// `connection` has a share from now on. It gets what others hold above their new depths.
    pub(super) fn join(&mut self, connection: u32) {
        if self.sharing == Sharing::Common {
            return;
        }
        let place = connection as usize;
        if place >= self.shares.len() {
            self.shares.resize(place + 1, None);
        }
        self.shares[place] = Some(Share::default());
        self.connections += 1;
        self.set_depths();
        let given = self.pool.clamp(0, self.share(connection).depth);
        self.pool -= given;
        self.held += given;
        self.share_mut(connection).held = given;
        self.level_out();
    }

    /// `connection` loses its share. What it holds goes to the others; its debt is paid before they earn
    /// again.
    pub(super) fn leave(&mut self, connection: u32) {
        if self.sharing == Sharing::Common {
            return;
        }
        let share = self.shares[connection as usize].take();
        let held = share.expect("a connection joins before it leaves").held;
        self.held -= held;
        self.pool += held;
        self.connections -= 1;
        self.set_depths();
        self.level_out();
    }

    /// Sets the round-trip time of `connection` to `micros`, above zero.
    pub(super) fn set_rtt(&mut self, connection: u32, micros: u32) {
        let by_rtt = matches!(
            self.sharing,
            Sharing::Partitioned(Depths::ByRtt) | Sharing::Logical(Depths::ByRtt)
        );
        if by_rtt && self.share(connection).rtt != micros {
            self.share_mut(connection).rtt = micros;
            self.set_depths();
            self.level_out();
        }
    }

    /// Divides the depth again, exactly. What a connection holds above its own depth goes to the pool.
    fn set_depths(&mut self) {
        let by_rtt = !matches!(
            self.sharing,
            Sharing::Partitioned(Depths::Equal) | Sharing::Logical(Depths::Equal)
        );
        let known = self.shares().filter(|share| share.rtt > 0);
        let (count, sum) =
            known.fold((0, 0), |(count, sum), share| (count + 1, sum + Units::from(share.rtt)));
        let unknown = if by_rtt && count > 0 { (sum / count).max(1) } else { 1 };
        let weight = |share: &Share| match share.rtt {
            rtt if by_rtt && rtt > 0 => Units::from(rtt),
            _ => unknown,
        };
        let all: Units = self.shares().map(weight).sum();
        let (mut weights, mut given, mut held) = (0, 0, 0);
        for share in self.shares.iter_mut().flatten() {
            weights += weight(share);
            share.depth = self.depth * weights / all - given;
            given += share.depth;
            let kept = share.held.min(share.depth);
            self.pool += share.held - kept;
            share.held = kept;
            held += kept;
        }
        self.held = held;
    }

    /// Adds `earned`.
    #[inline]
    pub(super) fn earn(&mut self, earned: Units) {
        self.pool += earned;
        if matches!(self.sharing, Sharing::Partitioned(_)) && self.connections > 0 {
            let max = self.shares().map(Share::space).max().unwrap_or(0);
            let rounds = (self.pool / self.connections).clamp(0, max);
            self.pool -= rounds * self.connections;
            self.hand_out(rounds);
        }
        if let Sharing::Logical(_) = self.sharing {
            self.level_out();
        }
        self.pool = self.pool.min(self.depth - self.held);
    }

    /// Gives each connection this many units, up to its depth.
    fn hand_out(&mut self, rounds: Units) {
        for share in self.shares.iter_mut().flatten() {
            let given = rounds.min(share.space());
            share.held += given;
            self.held += given;
        }
    }

    /// Distributes the pool to connections that are not full. Each pass fills one, or is the last.
    fn level_out(&mut self) {
        loop {
            let (open, min) = self.open_above(0);
            let Some(each) = self.pool.checked_div(open) else { break };
            let each = each.min(min);
            if each <= 0 {
                break;
            }
            self.pool -= each * open;
            self.hand_out(each);
        }
        self.pool = self.pool.min(self.depth - self.held);
    }

    /// The number of connections with room for more than `units`, and the smallest room of one of them.
    fn open_above(&self, units: Units) -> (Units, Units) {
        let spaces = self.shares().map(Share::space).filter(|&space| space > units);
        spaces.fold((0, Units::MAX), |(open, min), space| (open + 1, min.min(space)))
    }

    /// Whether a packet of `size` units, at most B, of `connection` conforms.
    #[inline]
    pub(super) fn holds(&self, connection: u32, size: Units) -> bool {
        if self.sharing == Sharing::Common {
            return self.pool >= size;
        }
        let share = self.share(connection);
        share.held >= size.min(share.depth) && self.held + self.pool.min(0) >= size
    }

    /// Takes the tokens of a packet that conforms.
    #[inline]
    pub(super) fn take(&mut self, connection: u32, size: Units) {
        assert!(self.holds(connection, size), "only a packet that conforms takes tokens");
        if self.sharing == Sharing::Common {
            self.pool -= size;
            return;
        }
        self.share_mut(connection).held -= size;
        self.held -= size;
    }

    /// The rooms that connections have now, for [`lacking`](Self::lacking).
    pub(super) fn look(&self, rooms: &mut Rooms) {
        rooms.set(self.shares().map(Share::space));
    }

    /// How much must be earned until a packet of `size` units, at most B, conforms, if no tokens are taken
    /// meanwhile; zero if it conforms now. `rooms` are the [present](Self::look) ones.
    pub(super) fn lacking(&self, rooms: &Rooms, connection: u32, size: Units) -> Units {
        if self.sharing == Sharing::Common {
            return (size - self.pool).max(0);
        }
        let share = self.share(connection);
        let own = size.min(share.depth) - share.held;
        let rounds = own.max(rooms.rounds_to_gain(size - self.held));
        let price = match self.sharing {
            _ if rounds <= 0 => size - self.held,
            Sharing::Partitioned(_) => rounds * self.connections,
            _ => rooms.gained(rounds),
        };
        (price - self.pool).max(0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The shares as one would tell them, unit by unit: a list of connections, in the order of their
    /// numbers, each with what it holds and what it may hold.
    struct Oracle {
        sharing: Sharing,
        depth: Units,
        /// Number, held, depth, round-trip time.
        list: Vec<(u32, Units, Units, u32)>,
        pool: Units,
    }

    impl Oracle {
        fn held(&self) -> Units {
            self.list.iter().map(|one| one.1).sum()
        }

        /// The depths by the formula of §4.2: all units in a row, of which each connection has those
        /// that its weight covers.
        fn share_out(&mut self) {
            let known: Vec<Units> =
                self.list.iter().filter(|one| one.3 > 0).map(|one| Units::from(one.3)).collect();
            let mean = match known.len() {
                0 => 1,
                known_count => known.iter().sum::<Units>() / known_count as Units,
            };
            let is_equal = matches!(
                self.sharing,
                Sharing::Partitioned(Depths::Equal) | Sharing::Logical(Depths::Equal)
            );
            let weights: Vec<Units> = self
                .list
                .iter()
                .map(|one| {
                    if is_equal {
                        1
                    } else if one.3 > 0 {
                        one.3.into()
                    } else {
                        mean
                    }
                })
                .collect();
            let all: Units = weights.iter().sum();
            for (place, one) in self.list.iter_mut().enumerate() {
                let before: Units = weights[..place].iter().sum();
                let after = before + weights[place];
                // Unit u belongs to the connection whose weights cover (u + 1)/B of all.
                one.2 = (1..=self.depth)
                    .filter(|&unit| unit * all <= after * self.depth)
                    .filter(|&unit| unit > before * self.depth / all)
                    .count() as Units;
                while one.1 > one.2 {
                    one.1 -= 1;
                    self.pool += 1;
                }
            }
        }

        /// One unit to each that has room, as long as there is one for each of them.
        fn level_out(&mut self) {
            loop {
                let open = self.list.iter().filter(|one| one.1 < one.2).count() as Units;
                if open == 0 || self.pool < open {
                    break;
                }
                self.list.iter_mut().filter(|one| one.1 < one.2).for_each(|one| one.1 += 1);
                self.pool -= open;
            }
            self.overflow();
        }

        fn overflow(&mut self) {
            while self.pool + self.held() > self.depth {
                self.pool -= 1;
            }
        }

        fn earn_one(&mut self) {
            self.pool += 1;
            let all = self.list.len() as Units;
            match self.sharing {
                Sharing::Partitioned(_) => {
                    while self.pool >= all && self.list.iter().any(|one| one.1 < one.2) {
                        self.pool -= all;
                        for one in self.list.iter_mut().filter(|one| one.1 < one.2) {
                            one.1 += 1;
                        }
                    }
                }
                Sharing::Common => {}
                Sharing::Logical(_) => self.level_out(),
            }
        }

        fn join(&mut self, number: u32) {
            let place = self.list.partition_point(|one| one.0 < number);
            self.list.insert(place, (number, 0, 0, 0));
            self.share_out();
            while self.pool > 0 && self.list[place].1 < self.list[place].2 {
                self.pool -= 1;
                self.list[place].1 += 1;
            }
            self.level_out();
        }

        fn leave(&mut self, number: u32) {
            let place = self.list.iter().position(|one| one.0 == number).unwrap();
            self.pool += self.list.remove(place).1;
            self.share_out();
            self.level_out();
        }

        fn holds(&self, number: u32, size: Units) -> bool {
            if self.sharing == Sharing::Common {
                return self.pool >= size;
            }
            let one = self.list.iter().find(|one| one.0 == number).unwrap();
            // Deep enough and holding it; or not so deep, full, and the aggregate holds it.
            let own = if one.2 >= size { one.1 >= size } else { one.1 == one.2 };
            own && self.held() + self.pool.min(0) >= size
        }
    }

    #[derive(Debug, Clone, Copy)]
    enum Step {
        Earn(Units),
        Send(u32, Units),
        ComeOrGo(u32),
        Rtt(u32, u32),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            4 => (0..80i128).prop_map(Step::Earn),
            6 => (0..5u32, 1..40i128).prop_map(|(number, size)| Step::Send(number, size)),
            1 => (0..5u32).prop_map(Step::ComeOrGo),
            1 => (0..5u32, 1..20u32).prop_map(|(number, rtt)| Step::Rtt(number, rtt)),
        ];
        prop::collection::vec(step, 0..150)
    }

    proptest! {
        #[test]
        fn tokens_are_shared_as_one_would_hand_them_out_unit_by_unit(
            depth in 40..120i128, steps in steps(),
        ) {
            for sharing in Sharing::ALL {
                let mut tokens = SharedTokens::new(sharing, depth);
                let mut oracle = Oracle { sharing, depth, list: Vec::new(), pool: depth };
                let is_common = sharing == Sharing::Common;
                let mut rooms = Rooms::default();
                let mut there = [false; 5];
                for &step in &steps {
                    match step {
                        Step::Earn(earned) => {
                            tokens.earn(earned);
                            (0..earned).for_each(|_| oracle.earn_one());
                            oracle.overflow();
                        }
                        Step::Send(number, size) if there[number as usize] => {
                            let holds = oracle.holds(number, size);
                            prop_assert_eq!(tokens.holds(number, size), holds);
                            tokens.look(&mut rooms);
                            let lacking = tokens.lacking(&rooms, number, size);
                            prop_assert_eq!(lacking == 0, holds);
                            let mut later = tokens.clone();
                            later.earn(lacking);
                            prop_assert!(later.holds(number, size), "{:?} {} {}", sharing, lacking, size);
                            if holds {
                                tokens.take(number, size);
                                match oracle.list.iter_mut().find(|one| one.0 == number) {
                                    Some(one) if !is_common => one.1 -= size,
                                    _ => oracle.pool -= size,
                                }
                            }
                        }
                        Step::ComeOrGo(number) => {
                            let is_there = &mut there[number as usize];
                            match (*is_there, is_common) {
                                (_, true) => {}
                                (true, false) => oracle.leave(number),
                                (false, false) => oracle.join(number),
                            }
                            if *is_there { tokens.leave(number) } else { tokens.join(number) }
                            *is_there = !*is_there;
                        }
                        Step::Rtt(number, rtt) if there[number as usize] => {
                            tokens.set_rtt(number, rtt);
                            let found = oracle.list.iter_mut().find(|one| one.0 == number);
                            let by_rtt = tokens.sharing == Sharing::Logical(Depths::ByRtt)
                                || tokens.sharing == Sharing::Partitioned(Depths::ByRtt);
                            if let Some(one) = found.filter(|one| by_rtt && one.3 != rtt) {
                                one.3 = rtt;
                                oracle.share_out();
                                oracle.level_out();
                            }
                        }
                        Step::Send(..) | Step::Rtt(..) => {}
                    }
                    prop_assert!((0..=depth).contains(&tokens.total()));
                    prop_assert_eq!(tokens.pool, oracle.pool);
                    let held: Vec<_> = tokens.shares().map(|one| (one.held, one.depth)).collect();
                    let expected: Vec<_> = oracle.list.iter().map(|one| (one.1, one.2)).collect();
                    prop_assert_eq!(held, expected);
                }
            }
        }
    }

    #[test]
    fn what_overflows_a_full_logical_bucket_is_lost_only_where_all_are_full() {
        let mut logical = SharedTokens::new(Sharing::Logical(Depths::Equal), 90);
        let mut parted = SharedTokens::new(Sharing::Partitioned(Depths::Equal), 90);
        for tokens in [&mut logical, &mut parted] {
            (0..3).for_each(|number| tokens.join(number));
            // The first uses all it has, the others nothing.
            tokens.take(0, 30);
            tokens.earn(15);
        }
        assert_eq!((logical.total(), parted.total()), (75, 65));
        logical.earn(20);
        assert_eq!(logical.total(), 90, "then all are full");
    }

    #[test]
    fn a_new_connection_takes_its_share_and_one_that_leaves_gives_it_back() {
        let mut tokens = SharedTokens::new(Sharing::Partitioned(Depths::Equal), 90);
        tokens.join(0);
        assert!(tokens.holds(0, 90));
        tokens.join(1);
        assert!(tokens.holds(0, 45) && tokens.holds(1, 45));
        tokens.take(1, 40);
        tokens.leave(0);
        // It had 45, the other 5.
        assert!(tokens.holds(1, 50) && !tokens.holds(1, 51));
    }

    #[test]
    fn a_packet_that_no_share_is_deep_enough_for_waits_until_the_aggregate_holds_it() {
        let mut tokens = SharedTokens::new(Sharing::Partitioned(Depths::Equal), 40);
        (0..4).for_each(|number| tokens.join(number));
        assert!(tokens.holds(0, 30), "its ten, and twenty that it owes");
        tokens.take(0, 30);
        assert_eq!(tokens.total(), 10);
        assert!(tokens.holds(1, 10) && !tokens.holds(1, 11));
        assert!(!tokens.holds(0, 1));
        // Three times four: the first still owes 17, and the others are full, so their parts are lost.
        tokens.earn(12);
        assert_eq!(tokens.total(), 13);
    }
}
