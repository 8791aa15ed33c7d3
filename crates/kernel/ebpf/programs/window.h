// The time sliding window in whole numbers: crates/node/elements/src/meter/integer_window.rs, bit for bit. Bytes are counted
// in parts of 2^16; windows are up to 2^42 ns, and hold up to 2^40 bytes.

#ifndef SHORTFLOW_WINDOW_H
#define SHORTFLOW_WINDOW_H

#include "kernel.h"

// The longest measurable time between two packets.
#define MAX_IDLE (1ULL << 42)

static __always_inline __u32 bits(__u64 value)
{
	return value ? 64 - __builtin_clzll(value) : 0;
}

static __always_inline __u32 beyond(__u32 bits, __u32 most)
{
	return bits > most ? bits - most : 0;
}

// a·b/c, rounded down, of b at most c: exact where a·b has 64 bits, else to one part in 2^30.
static __always_inline __u64 part(__u64 a, __u64 b, __u64 c)
{
	__u32 shift = beyond(bits(b), 32);

	b >>= shift;
	c >>= shift;
	shift = beyond(bits(a) + bits(b), 64);
	// A divisor of 0 is none: the kernel makes it 0.
	return ((a >> shift) * b / c) << shift;
}

// A rate as a share of 2^`shift` parts of a byte in a nanosecond.
struct pace {
	__u64 parts;
	__u32 shift;
	__u32 unused;
};

// What a rate carries in a time.
static __always_inline __u64 carried(const struct pace *pace, __u64 span)
{
	__u32 shift = beyond(bits(span), 32);
	__u64 parts = (span >> shift) * pace->parts;

	return shift > pace->shift ? parts << (shift - pace->shift) : parts >> (pace->shift - shift);
}

// a·b/c of any b and c whose result has 64 bits; rounded down, to one part in 2^20.
static __always_inline __u64 scaled(__u64 a, __u64 b, __u64 c)
{
	__u32 left = 64 - bits(a), shift;
	__u64 share;

	if (!a)
		return 0;
	share = (a << left) / c;
	shift = beyond(bits(share) + bits(b), 64);
	share = (share >> shift) * b;
	return shift > left ? share << (shift - left) : share >> (left - shift);
}

// The share of `all` that is above `allowance`, of 2^32.
static __always_inline __u64 excess(__u64 all, __u64 allowance)
{
	__u32 shift = beyond(bits(all), 32);

	if (allowance >= all)
		return 0;
	return ((all - allowance) >> shift << 32) / (all >> shift);
}

#endif
