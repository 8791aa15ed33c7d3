// Numbers of 128 bits in two words, which BPF has no instructions for. Sums and products keep the lowest 128 bits.

#ifndef SHORTFLOW_WIDE_H
#define SHORTFLOW_WIDE_H

#include "kernel.h"

struct wide {
	__u64 high, low;
};

static __always_inline struct wide wide_of(__u64 low)
{
	return (struct wide){ .low = low };
}

static __always_inline int wide_is_below(struct wide a, struct wide b)
{
	return a.high < b.high || (a.high == b.high && a.low < b.low);
}

static __always_inline struct wide wide_sum(struct wide a, struct wide b)
{
	__u64 low = a.low + b.low;

	return (struct wide){ .high = a.high + b.high + (low < a.low), .low = low };
}

static __always_inline struct wide wide_difference(struct wide a, struct wide b)
{
	return (struct wide){ .high = a.high - b.high - (a.low < b.low), .low = a.low - b.low };
}

static __always_inline struct wide wide_product(__u64 a, __u64 b)
{
	__u64 low = (__u64)(__u32)a * (__u32)b, above = (a >> 32) * (__u32)b, below = (__u64)(__u32)a * (b >> 32);
	__u64 middle = (low >> 32) + (__u32)above + (__u32)below;

	return (struct wide){
		.high = (a >> 32) * (b >> 32) + (above >> 32) + (below >> 32) + (middle >> 32),
		.low = middle << 32 | (__u32)low,
	};
}

// a*b, or the greatest number where that is greater.
static __always_inline struct wide wide_times(struct wide a, __u64 b)
{
	struct wide low = wide_product(a.low, b), high = wide_product(a.high, b);

	high.low += low.high;
	high.high += high.low < low.high;
	return high.high ? (struct wide){ .high = ~0ULL, .low = ~0ULL } : (struct wide){ .high = high.low, .low = low.low };
}

// A digit of 32 bits of a quotient: (`rest`*2^32 + `next`)/`divisor`, of a rest below the divisor, whose highest bit is set (Knuth,
// The Art of Computer Programming, section 4.3.1, algorithm D).
static __always_inline __u64 wide_digit(__u64 rest, __u32 next, __u64 divisor)
{
	__u64 high = divisor >> 32, low = (__u32)divisor, digit = rest / high, left = rest - digit * high;

	for (__u32 i = 0; i < 2; i++) {
		if (left >> 32 || (!(digit >> 32) && digit * low <= (left << 32 | next)))
			continue;
		digit--;
		left += high;
	}
	return digit;
}

// Rounded down; of a divisor above 0.
static __always_inline struct wide wide_quotient(struct wide a, __u64 divisor)
{
	struct wide quotient = { .high = a.high / divisor };
	__u32 shift = __builtin_clzll(divisor) & 63;
	__u64 rest = a.high - quotient.high * divisor, first, second;

	divisor <<= shift;
	rest = rest << shift | (shift ? a.low >> (64 - shift) : 0);
	a.low <<= shift;
	first = wide_digit(rest, a.low >> 32, divisor);
	rest = (rest << 32 | a.low >> 32) - first * divisor;
	second = wide_digit(rest, a.low, divisor);
	quotient.low = first << 32 | second;
	return quotient;
}

#endif
