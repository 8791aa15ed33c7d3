// The momentary bit rate of SIMA in whole numbers: crates/node/elements/src/meter/momentary_rate, bit for bit. What is rounded
// is stated there. And the precedence that its core node allows: crates/node/elements/src/queue/sima.rs.

#ifndef SHORTFLOW_SIMA_H
#define SHORTFLOW_SIMA_H

#include "kernel.h"
#include "window.h"

// Halvings are counted in parts of 2^-44, of which 6 bits choose a power of 2.
#define FRACTION 44
#define CHOOSING 6
#define POWERS (1 << CHOOSING)
#define MAX_HALVINGS (~0ULL)

// The load of a stream of which nothing was seen.
#define NOTHING_PARTS (1ULL << 62)
#define NOTHING_HALVINGS (1ULL << 40)

// The drop precedences are 0 to 6.
#define BEST 6

// How a core node makes the allowed precedence of the occupancies of its buffers.
enum { CEILING_OF_GREATER, FLOOR_OF_GREATER, CEILING_OF_MEAN, FLOOR_OF_MEAN };

// How fast a load decays: in each nanosecond, or with each byte, by `parts`*2^-`shift` parts of a halving.
struct decay {
	__u64 parts;
	__s32 shift;
	__u32 unused;
};

// `parts`*2^(-62-`halvings`).
struct load {
	__u64 parts;
	__s64 halvings;
};

// The upper 64 bits of a product of 128, or up to 2 less.
static __always_inline __u64 product(__u64 a, __u64 b)
{
	__u64 above = (a >> 32) * (__u32)b, below = (__u64)(__u32)a * (b >> 32);

	return (a >> 32) * (b >> 32) + (above >> 32) + (below >> 32);
}

// 2^-x of a fraction x of a halving, in parts of 2^-63.
static __always_inline __u64 left_after(const volatile __u64 *powers, __u64 fraction)
{
	__u64 chosen = powers[(fraction >> (FRACTION - CHOOSING)) & (POWERS - 1)], inner;
	__u64 rest = fraction << (64 - FRACTION) & ((1ULL << (64 - CHOOSING)) - 1);

	// (ln 2)^n/n! in parts of 2^-64.
	inner = 0x0e35846b82505fc5ULL - product(rest, 0x0276556df749cee5ULL);
	inner = 0x3d7f7bff058b1d50ULL - product(rest, inner);
	inner = 0xb17217f7d1cf79abULL - product(rest, inner);
	return chosen - product(chosen, product(rest, inner));
}

// Parts of halvings in so many nanoseconds or bytes, where each has twice as many, `doubled` times.
static __always_inline __u64 halvings_within(const struct decay *decay, __u32 doubled, __u64 span)
{
	__u32 above = beyond(bits(span), 32), left;
	__u64 parts = (span >> above) * decay->parts;
	__s32 shift = decay->shift - (__s32)(doubled + above);

	if (shift >= 0)
		return parts >> shift;
	left = -shift;
	return parts > MAX_HALVINGS >> left ? MAX_HALVINGS : parts << left;
}

// What is left of a load after so many parts of halvings.
static __always_inline struct load load_after(const volatile __u64 *powers, struct load load, __u64 decay)
{
	__u32 is_short;

	load.parts = product(load.parts, left_after(powers, decay & ((1ULL << FRACTION) - 1))) << 1;
	is_short = load.parts < 1ULL << 62;
	load.parts <<= is_short;
	load.halvings += (decay >> FRACTION) + is_short;
	return load;
}

// One less what is left of it after so many parts of halvings.
static __always_inline struct load lost_after(const volatile __u64 *powers, __u64 decay)
{
	struct load one = { .parts = 1ULL << 62 }, left = load_after(powers, one, decay);
	__u64 lost = (1ULL << 62) - (left.halvings < 64 ? left.parts >> left.halvings : 0);
	__u32 missing = 63 - bits(lost);

	return (struct load){ .parts = lost << missing, .halvings = missing };
}

static __always_inline struct load sum_of(struct load a, struct load b)
{
	struct load more = a.halvings <= b.halvings ? a : b, less = a.halvings <= b.halvings ? b : a;
	__s64 apart = less.halvings - more.halvings;
	__u32 over;

	more.parts += apart < 64 ? less.parts >> apart : 0;
	over = more.parts >> 63;
	more.parts >>= over;
	more.halvings -= over;
	return more;
}

static __always_inline int is_at_least(struct load a, struct load b)
{
	return a.halvings < b.halvings || (a.halvings == b.halvings && a.parts >= b.parts);
}

// What was kept of a load when a packet came, and the load with it.
struct rate {
	struct load kept, load;
};

// Whether the momentary rate is at most the threshold of a precedence, each of which is half of the one before.
static __always_inline int has_precedence(const volatile __u64 *powers, const struct rate *rate,
					  const struct decay *first, __u32 precedence, __u32 bytes)
{
	__u64 decay = halvings_within(first, precedence - 1, bytes);

	return is_at_least(load_after(powers, rate->load, decay), rate->kept);
}

// The drop precedence of a packet (Laatu et al. 2003, formula 1).
static __always_inline __u32 precedence_of(const volatile __u64 *powers, const struct rate *rate, const struct decay *first,
					   __u32 bytes)
{
	__u32 found = 0;

	for (__u32 step = 4; step; step >>= 1) {
		if (found + step <= BEST && has_precedence(powers, rate, first, found + step, bytes))
			found += step;
	}
	return found;
}

// Of an occupancy of one of the buffers, or of both, of which `whole` is all: the allowed precedence.
static __always_inline __u64 ceiling_of(__u64 held, __u64 whole)
{
	return (7 * held + whole - 1) / whole;
}

static __always_inline __u64 floor_of(__u64 held, __u64 whole)
{
	return 8 * held / whole;
}

static __always_inline __u64 allowed_precedence(__u32 map, const __u64 *held, const __u64 *limits)
{
	__u64 both, whole, found[2];

	switch (map) {
	case CEILING_OF_GREATER:
		found[0] = ceiling_of(held[0], limits[0]);
		found[1] = ceiling_of(held[1], limits[1]);
		break;
	case FLOOR_OF_GREATER:
		found[0] = floor_of(held[0], limits[0]);
		found[1] = floor_of(held[1], limits[1]);
		break;
	default:
		both = held[0] * limits[1] + held[1] * limits[0];
		whole = 2 * limits[0] * limits[1];
		found[0] = map == CEILING_OF_MEAN ? ceiling_of(both, whole) : floor_of(both, whole);
		found[1] = 0;
	}
	both = found[0] > found[1] ? found[0] : found[1];
	return both < 7 ? both : 7;
}

#endif
