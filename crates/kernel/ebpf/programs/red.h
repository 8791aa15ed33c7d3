// Random Early Detection in whole numbers: the twin of crates/node/elements/src/queue/red. An average and a threshold are
// counted in parts of 2^-`shift` of a packet or byte, a probability in parts of 2^-48.

#ifndef SHORTFLOW_RED_H
#define SHORTFLOW_RED_H

#include "kernel.h"

#include "sima.h"

// Powers of 2: the most levels, and the most of those that have an average each.
#define MAX_LEVELS 64
#define MAX_AVERAGES 8
#define ONE (1ULL << 48)
// Of which part the ends of ranges are taken for reached.
#define ROUNDING 24

enum { SPACING_UNIFORM, SPACING_WAIT, SPACING_UNCLAMPED, SPACING_GEOMETRIC };
enum { ECN_DROP, ECN_MARK, ECN_MARK_ABOVE_MAX };
enum { SHARED, PER_LEVEL, COUPLED };

enum verdict { PASS, MARK, EARLY, FORCED, OVERLIMIT };

// A number of `parts`*2^-`shift`.
struct slope {
	__u64 parts;
	__s32 shift;
	__u32 unused;
};

struct curve {
	__u64 min, max, forced_from;
	// How the probability rises from `min` to `max`, where it is `max_probability`, and up to `forced_from`.
	struct slope early, gentle;
	__u64 max_probability;
};

// An average, and what is behind it: see the fields of `Average` in average.rs.
struct average {
	__u64 value;
	__u64 idle_since, empty;
	// What was ever admitted of what it counts, of which the last that were admitted wait.
	__u32 admitted, unused;
};

struct red {
	// w_q in parts of 2^-32; how an average falls in each nanosecond; how long a mean packet takes.
	__u64 weight;
	struct decay fall;
	__u64 packet_time;
	// Of lengths.
	__u32 shift;
	// The bytes of a mean packet, where sizes matter; else 1.
	__u32 mean_packet;
	__u32 levels, spare_below;
	__u8 in_bytes, by_size, averages, spacing, ecn, unused[3];
	struct curve curves[MAX_LEVELS];
};

struct gap {
	// Packets since the last drop, or their bytes.
	__u64 passed;
};

// a*b/2^32, rounded down, of b up to 2^32.
static __always_inline __u64 scaled_by(__u64 a, __u64 b)
{
	return (a >> 32) * b + ((a & 0xffffffff) * b >> 32);
}

static __always_inline __u64 times_slope(__u64 value, const struct slope *slope)
{
	__u64 found = product(value, slope->parts);

	return slope->shift >= 0 ? found >> slope->shift : found << -slope->shift;
}

// Falls over the time so far (Floyd & Jacobson 1993, section 4, Figure 2).
static __always_inline void fall(const struct red *red, struct average *average, const volatile __u64 *powers)
{
	__u64 empty = average->empty, halvings;

	average->empty = 0;
	if (!empty || !average->value)
		return;
	halvings = halvings_within(&red->fall, 0, empty);
	if (red->weight >> 32 || halvings >> FRACTION >= 63) {
		average->value = 0;
		return;
	}
	average->value = product(average->value, left_after(powers, halvings & ((1ULL << FRACTION) - 1))) << 1;
	average->value >>= halvings >> FRACTION;
}

static __always_inline void sample_idle(struct average *average, __u64 now)
{
	if (now > average->idle_since)
		average->empty += now - average->idle_since;
	average->idle_since = now;
}

// Takes a sample of a length in parts.
static __always_inline void mix(const struct red *red, struct average *average, __u64 length)
{
	if (length >= average->value)
		average->value += scaled_by(length - average->value, red->weight);
	else
		average->value -= scaled_by(average->value - length, red->weight);
}

// Takes a sample at `now`, of a length in parts.
static __always_inline void sample(const struct red *red, struct average *average, __u64 length, __u64 now,
				   const volatile __u64 *powers)
{
	if (length) {
		fall(red, average, powers);
		mix(red, average, length);
		// It is not idle now, whatever was expected.
		if (average->idle_since < now)
			average->idle_since = now;
	} else if (average->idle_since > now) {
		average->empty += red->packet_time;
	} else {
		sample_idle(average, now);
	}
}

// Whether a packet is chosen at a probability for one of mean size (crates/node/elements/src/queue/red/spacing.rs).
static __always_inline int chooses(const struct red *red, struct gap *gap, __u64 probability, __u64 share, __u32 draw)
{
	// By how much the probability of a packet is above that of its share of a mean one.
	__u64 wanted = probability * share / red->mean_packet, reached, remaining;
	__u64 passed = gap->passed + (red->spacing == SPACING_WAIT ? share : 0);
	__u64 whole = passed / red->mean_packet, rest = passed % red->mean_packet;
	int is_missed = 0, is_last, chosen;

	// Four times the range is as good as more.
	if (probability && whole > 4 * ONE / probability)
		reached = 4 * ONE;
	else
		reached = whole * probability + rest * probability / red->mean_packet;
	if (red->spacing == SPACING_WAIT) {
		if (reached < ONE - (ONE >> ROUNDING)) {
			gap->passed += share;
			return 0;
		}
		remaining = reached < 2 * ONE ? 2 * ONE - reached : 0;
	} else if (red->spacing == SPACING_GEOMETRIC) {
		remaining = ONE;
	} else {
		remaining = reached < ONE ? ONE - reached : 0;
		is_missed = red->spacing == SPACING_UNCLAMPED && reached > ONE + (ONE >> ROUNDING);
	}
	is_last = wanted && remaining <= wanted + (wanted >> ROUNDING) + 1;
	chosen = !is_missed && (is_last || scaled_by(remaining, draw) < wanted);
	gap->passed = chosen ? 0 : gap->passed + share;
	return chosen;
}

// What becomes of a packet whose average is so, if there is room.
static __always_inline enum verdict judge(const struct red *red, const struct curve *curve, __u64 average, struct gap *gap,
					  __u64 share, int is_capable, __u32 draw)
{
	int marks = red->ecn != ECN_DROP && is_capable, marks_above = marks && red->ecn == ECN_MARK_ABOVE_MAX;
	enum verdict chosen = EARLY;
	__u64 probability;

	if (average < curve->max) {
		probability = times_slope(average - curve->min, &curve->early);
		chosen = marks ? MARK : EARLY;
	} else if (average < curve->forced_from) {
		probability = curve->max_probability + times_slope(average - curve->max, &curve->gentle);
		chosen = marks_above ? MARK : EARLY;
	} else {
		gap->passed = 0;
		return marks_above ? MARK : FORCED;
	}
	return chooses(red, gap, probability, share, draw) ? chosen : PASS;
}

#endif
