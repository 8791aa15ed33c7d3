// Random early detection with one or several levels: crates/node/elements/src/queue/red, whose floating point is 64-bit integers
// here. An average is off by at most 2^-32 of a packet or byte over its weight and 2^-30 of the longest queue, which tests hold
// against the element; a decision is another one only where an average or a draw is that near to where it changes.

#ifndef SHORTFLOW_QDISC_RED_H
#define SHORTFLOW_QDISC_RED_H

#include "../sima.h"
#include "plan.h"

#define ONE (1ULL << 56)
#define SATURATED (1ULL << 61)
// What keeps the ends of ranges in place where 1/p is whole but p is not exact: `ROUNDING` of the element.
#define ROUNDED (ONE / 1000000000)

// The rounded product.
static __always_inline __u64 times(__u64 value, const struct factor *by)
{
	__u64 high = (value >> 32) * by->parts, low = (value & 0xffffffff) * by->parts;
	__u32 shift = by->shift & 127;

	if (shift < 32)
		return (high << (32 - shift)) + (low >> shift);
	high += low >> 32;
	shift -= 32;
	if (shift >= 64)
		return 0;
	return shift ? (high >> shift) + (high >> (shift - 1) & 1) : high;
}

static __always_inline void fall(const struct plan *plan, const struct red_plan *red, struct average *average)
{
	struct decay decay = { .parts = red->decay_parts, .shift = red->decay_shift };
	__u64 empty = average->empty, halvings, left;

	average->empty = 0;
	if (!average->value || !empty)
		return;
	halvings = halvings_within(&decay, 0, empty);
	left = product(average->value, left_after(plan->powers, halvings & ((1ULL << FRACTION) - 1))) << 1;
	halvings >>= FRACTION;
	average->value = halvings < 64 ? left >> halvings : 0;
}

// A sample, before the packet that comes is added (Floyd & Jacobson 1993, section 4, figure 2).
static __always_inline void sample(const struct plan *plan, const struct red_plan *red, struct average *average, __u64 now)
{
	__u64 length = average->length << 32;

	if (length) {
		fall(plan, red, average);
		if (length >= average->value)
			average->value += times(length - average->value, &red->weight);
		else
			average->value -= times(average->value - length, &red->weight);
	} else if (average->idle_since > now) {
		average->empty += red->packet_time;
	} else {
		average->empty += now - average->idle_since;
		average->idle_since = now;
	}
}

// A probability for each packet or byte that has passed, times these.
static __always_inline __u64 reached_after(__u64 passed, __u64 probability)
{
	if (probability && passed > SATURATED / probability)
		return SATURATED;
	return passed * probability;
}

// Whether a packet is chosen with the probability p_b (Floyd & Jacobson 1993, section 7).
static __always_inline int chooses(const struct red_plan *red, __u64 *passed, __u64 probability, __u32 size)
{
	__u64 share = red->mean_packet ? size : 1, wanted;
	__s64 remaining;
	int is_missed, is_chosen;

	if (red->mean_packet)
		probability /= red->mean_packet;
	wanted = reached_after(share, probability);
	if (red->spacing == SPACING_WAIT) {
		__u64 reached = reached_after(*passed + share, probability);

		if (reached < ONE - ROUNDED) {
			*passed += share;
			return 0;
		}
		remaining = (__s64)(2 * ONE) - (__s64)reached;
	} else if (red->spacing == SPACING_GEOMETRIC) {
		remaining = ONE;
	} else {
		remaining = (__s64)ONE - (__s64)reached_after(*passed, probability);
	}
	is_missed = red->spacing == SPACING_UNCLAMPED && remaining < -(__s64)ROUNDED;
	// After the end of the range, as after a rise of p_b, it is always chosen.
	is_chosen = wanted && remaining <= (__s64)(wanted + wanted / 1000000000);
	if (!is_missed && !is_chosen && wanted)
		is_chosen = product(draw(), remaining) < wanted;
	if (is_missed || !is_chosen) {
		*passed += share;
		return 0;
	}
	*passed = 0;
	return 1;
}

// Whether a packet joins: a reason why not, or `REASONS`.
static __always_inline __u32 judge(const struct red_plan *red, const struct curve *curve, __u64 average, __u64 *passed, __u32 size)
{
	__u64 probability;

	if (average >= curve->forced_from) {
		*passed = 0;
		return FORCED;
	}
	if (average < curve->max)
		probability = times(average - curve->min, &curve->early);
	else
		probability = curve->max_probability + times(average - curve->max, &curve->gentle);
	return chooses(red, passed, probability, size) ? EARLY : REASONS;
}

// Which averages count a packet of a level.
struct counting {
	__u32 first, end, amount;
};

static __always_inline struct counting counting_of(const struct red_plan *red, __u32 level, __u32 size)
{
	struct counting counting = { .amount = red->in_bytes ? size : 1 };

	if (red->averages == AVERAGES_SHARED) {
		counting.end = 1;
	} else {
		counting.first = level;
		counting.end = red->averages == AVERAGES_COUPLED ? red->levels : level + 1;
	}
	return counting;
}

// Whether a packet joins the queue of which this is the list: a reason why not, or `REASONS`.
static __always_inline __u32 red_admits(const struct plan *plan, const struct red_plan *red, struct red *state,
					const struct queue_plan *queue, const struct list *list, const struct arrival *arrival,
					__u64 now)
{
	__u32 level = red->level_of[arrival->code_point & 63] & (MAX_LEVELS_OF_RED - 1), verdict = REASONS;
	struct counting counting = counting_of(red, level, arrival->size);
	const struct curve *curve = &red->curves[level];
	struct average *average;

	for (__u32 i = 0; i < MAX_LEVELS_OF_RED; i++) {
		if (i < counting.first || i >= counting.end)
			continue;
		sample(plan, red, &state->levels[i].average, now);
		state->levels[i].average.length += counting.amount;
	}
	average = &state->levels[counting.first & (MAX_LEVELS_OF_RED - 1)].average;
	if (average->value >= curve->min)
		fall(plan, red, average);
	if (average->value < curve->min || list->count < red->spare_below)
		state->levels[level].passed = 0;
	else
		verdict = judge(red, curve, average->value, &state->levels[level].passed, arrival->size);
	if (verdict == REASONS && !has_room(queue->limit, queue->in_bytes, list->count, list->bytes, arrival->size))
		verdict = OVERLIMIT;
	if (verdict == REASONS)
		return verdict;
	for (__u32 i = 0; i < MAX_LEVELS_OF_RED; i++) {
		if (i >= counting.first && i < counting.end)
			state->levels[i].average.length -= counting.amount;
	}
	return verdict;
}

// A packet leaves, and the line is idle from then on if it was the last.
static __always_inline void red_served(const struct red_plan *red, struct red *state, __u32 code_point, __u32 size, __u64 now)
{
	__u32 level = red->level_of[code_point & 63] & (MAX_LEVELS_OF_RED - 1);
	struct counting counting = counting_of(red, level, size);

	for (__u32 i = 0; i < MAX_LEVELS_OF_RED; i++) {
		struct average *average = &state->levels[i].average;

		if (i < counting.first || i >= counting.end)
			continue;
		// What waited before a reload was not counted.
		average->length -= average->length < counting.amount ? average->length : counting.amount;
		average->idle_since = now;
	}
}

#endif
