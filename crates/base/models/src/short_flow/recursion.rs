//! The recursion over states, with only the number of losses in each.

use super::{Growth, MAX_SEGMENTS, ShortFlow, State};

/// How likely each number of segments, up to the most, is to come through.
type Arrivals = [f64; MAX_SEGMENTS as usize + 1];

/// The mean time from `state` until everything is acknowledged.
pub(super) fn expected(flow: &ShortFlow, state: State) -> f64 {
    let mut table = Table::new(state.left.max(2), flow.credits);
    time(flow, &mut table, state)
}

/// The times of states that have been worked out.
struct Table {
    max: u32,
    max_credits: u32,
    times: Vec<f64>,
}

impl Table {
    fn new(max: u32, max_credits: u32) -> Self {
        let states = 2 * (max + 1) * (max + 1) * (max_credits + 1);
        Table { max, max_credits, times: vec![f64::NAN; states as usize] }
    }

    /// A window beyond what is left changes nothing, but that it is not a window of one.
    fn plain(&self, state: State) -> State {
        State { window: state.window.min(state.left.max(2)), ..state }
    }

    fn place(&self, state: State) -> usize {
        let growth = u32::from(state.growth == Growth::Avoidance);
        let row =
            (growth * (self.max + 1) + state.left) * (self.max + 1) + state.window.min(self.max);
        (row * (self.max_credits + 1) + state.credits) as usize
    }
}

fn time(flow: &ShortFlow, table: &mut Table, state: State) -> f64 {
    if state.left == 0 {
        return 0.0;
    }
    let state = table.plain(state);
    let place = table.place(state);
    if table.times[place].is_nan() {
        table.times[place] = if state.is_alone() {
            flow.alone(state.credits) + time(flow, table, flow.after_alone(state))
        } else {
            over_first_loss(flow, table, state)
        };
    }
    table.times[place]
}

/// By where the first loss is, if any.
fn over_first_loss(flow: &ShortFlow, table: &mut Table, state: State) -> f64 {
    let sent = state.sent();
    let mut total = 0.0;
    let mut none_yet = 1.0;
    for ahead in 0..sent {
        let loss = flow.loss(ahead + 1, state.credits);
        if none_yet * loss > 0.0 {
            total += none_yet * loss * over_arrivals(flow, table, state, ahead);
        }
        none_yet *= 1.0 - loss;
    }
    total + none_yet * (flow.rtt + time(flow, table, state.after_all()))
}

/// By how many come in behind the first loss, after `ahead` before it.
fn over_arrivals(flow: &ShortFlow, table: &mut Table, state: State, ahead: u32) -> f64 {
    let sent = state.sent();
    let wave = state.second_wave(ahead);
    let behind = arrivals(flow, ahead + 2..sent + 1, state.credits);
    let late = arrivals(flow, sent + 1..sent + wave + 1, state.credits);
    let mut total = 0.0;
    for in_round in 0..sent - ahead {
        for in_wave in 0..=wave {
            let probability = behind[in_round as usize] * late[in_wave as usize];
            if probability > 0.0 {
                let (spent, next) = flow.after_loss(state, ahead, in_round, (wave, in_wave));
                total += probability * (spent + time(flow, table, next));
            }
        }
    }
    total
}

/// How many of the segments numbered from now in `which`, the first being 1, come through.
fn arrivals(flow: &ShortFlow, which: std::ops::Range<u32>, credits: u32) -> Arrivals {
    let mut shares = [0.0; MAX_SEGMENTS as usize + 1];
    shares[0] = 1.0;
    for (known, nth) in which.enumerate() {
        let loss = flow.loss(nth, credits);
        for count in (0..=known).rev() {
            shares[count + 1] += shares[count] * (1.0 - loss);
            shares[count] *= loss;
        }
    }
    shares
}
