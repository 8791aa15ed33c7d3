// Floating point of double precision (IEEE 754, rounded to the nearest, ties to even) for programs, which have none: averages of
// the elements, bit for bit. Numbers are zero or above; what is below 2^-1000 is zero, where doubles are still above it.

#ifndef SHORTFLOW_REAL_H
#define SHORTFLOW_REAL_H

#include "kernel.h"
#include "wide.h"
#include "window.h"

#define MANTISSA_BITS 53
// With so many bits more, sums of mantissas fit, and round as they should.
#define GUARD_BITS 10
#define LOWEST_POWER (-1000 - MANTISSA_BITS)

// `parts`*2^`power`; `parts` has 53 bits, or is 0.
struct real {
	__u64 parts;
	__s32 power;
	__u32 unused;
};

// Of parts up to 2^64, the lowest of which may stand for a rest below it.
static __always_inline struct real rounded(__u64 parts, __s32 power)
{
	__u32 many = bits(parts), above = beyond(many, MANTISSA_BITS), is_up;
	__u64 rest, half;

	if (!parts || power + (__s32)many < LOWEST_POWER + MANTISSA_BITS)
		return (struct real){};
	if (!above) {
		parts <<= MANTISSA_BITS - many;
		return (struct real){ .parts = parts, .power = power - (__s32)(MANTISSA_BITS - many) };
	}
	rest = parts & ((1ULL << above) - 1);
	half = 1ULL << (above - 1);
	parts >>= above;
	parts += rest > half || (rest == half && (parts & 1));
	is_up = parts >> MANTISSA_BITS;
	return (struct real){ .parts = parts >> is_up, .power = power + (__s32)(above + is_up) };
}

// Of whole numbers below 2^53.
static __always_inline struct real real_of(__u64 whole)
{
	return rounded(whole, 0);
}

static __always_inline int real_is_below(struct real a, struct real b)
{
	if (!a.parts || !b.parts)
		return a.parts < b.parts;
	return a.power != b.power ? a.power < b.power : a.parts < b.parts;
}

// The parts of a number in those of a greater one, with guard bits.
static __always_inline __u64 aligned(struct real less, struct real greater)
{
	__u64 parts = less.parts << GUARD_BITS;
	__u32 shift = greater.power - less.power;

	if (!parts || shift >= 64)
		return parts != 0;
	return parts >> shift | ((parts & ((1ULL << shift) - 1)) != 0);
}

static __always_inline struct real real_sum(struct real a, struct real b)
{
	struct real greater = real_is_below(a, b) ? b : a, less = real_is_below(a, b) ? a : b;

	return rounded((greater.parts << GUARD_BITS) + aligned(less, greater), greater.power - GUARD_BITS);
}

// Of a number and one that is not above it.
static __always_inline struct real real_difference(struct real greater, struct real less)
{
	return rounded((greater.parts << GUARD_BITS) - aligned(less, greater), greater.power - GUARD_BITS);
}

static __always_inline struct real real_product(struct real a, struct real b)
{
	struct wide all = wide_product(a.parts, b.parts);
	__u32 dropped = 2 * MANTISSA_BITS - 64;
	__u64 rest = all.low & ((1ULL << dropped) - 1);

	return rounded(all.high << (64 - dropped) | all.low >> dropped | (rest != 0), a.power + b.power + (__s32)dropped);
}

// The whole part of a number below 2^53.
static __always_inline __u64 real_floor(struct real value)
{
	__u32 below = -value.power;

	return below < 64 ? value.parts >> below : 0;
}

// An average with a sample more: average + weight*(sample - average), rounded after each step.
static __always_inline struct real real_mixed(struct real average, struct real sample, struct real weight)
{
	if (real_is_below(sample, average))
		return real_difference(average, real_product(weight, real_difference(average, sample)));
	return real_sum(average, real_product(weight, real_difference(sample, average)));
}

#endif
