//! The enumeration of every loss pattern.

use super::{ShortFlow, State};

/// The mean time from `state` until everything is acknowledged.
pub(super) fn expected(flow: &ShortFlow, state: State) -> f64 {
    if state.left == 0 {
        return 0.0;
    }
    if state.is_alone() {
        return flow.alone(state.credits) + expected(flow, flow.after_alone(state));
    }
    let sent = state.sent();
    let mut time = 0.0;
    for lost in 0..1u32 << sent {
        let probability = probability(flow, lost, sent, 0, state.credits);
        if probability == 0.0 {
            continue;
        }
        time += probability
            * if lost == 0 {
                flow.rtt + expected(flow, state.after_all())
            } else {
                after_pattern(flow, state, lost)
            };
    }
    time
}

/// The mean time from a round in which the segments of the bits of `lost` are lost.
fn after_pattern(flow: &ShortFlow, state: State, lost: u32) -> f64 {
    let sent = state.sent();
    let ahead = lost.trailing_zeros();
    let behind = sent - ahead - lost.count_ones();
    let wave = state.second_wave(ahead);
    (0..1u32 << wave)
        .map(|lost| (lost, probability(flow, lost, wave, sent, state.credits)))
        .filter(|(_, probability)| *probability > 0.0)
        .map(|(lost, probability)| {
            let late = wave - lost.count_ones();
            let (time, next) = flow.after_loss(state, ahead, behind, (wave, late));
            probability * (time + expected(flow, next))
        })
        .sum()
}

/// The probability that of `sent` segments, which follow `before` others, exactly those of the bits
/// of `lost` are lost.
fn probability(flow: &ShortFlow, lost: u32, sent: u32, before: u32, credits: u32) -> f64 {
    (0..sent)
        .map(|bit| {
            let loss = flow.loss(before + bit + 1, credits);
            if lost >> bit & 1 == 1 { loss } else { 1.0 - loss }
        })
        .product()
}
