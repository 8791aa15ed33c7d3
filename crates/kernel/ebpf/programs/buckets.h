// Token buckets without rounding: crates/node/elements/src/meter/bucket.rs in 64 bits. A token is a bit-nanosecond per
// second, of which a byte has 8e9; a rate in bit/s earns so many in a nanosecond. Depths up to 2^31 bytes fit.

#ifndef SHORTFLOW_BUCKETS_H
#define SHORTFLOW_BUCKETS_H

#include "kernel.h"

#define PER_BYTE 8000000000ULL

// Time is counted once, however the clock is set.
static __always_inline __u64 elapsed_since(__u64 *last, __u64 now)
{
	__u64 elapsed = now > *last ? now - *last : 0;

	*last += elapsed;
	return elapsed;
}

// What `rate` earns in `elapsed`, at most `most`; after `filling`, the time that takes rounded up, it is all of it.
static __always_inline __u64 earned(__u64 rate, __u64 elapsed, __u64 filling, __u64 most)
{
	// Before, the product is below `most`.
	return elapsed >= filling ? most : rate * elapsed;
}

// Puts in `tokens`; what no longer fits comes back. A bucket that was deeper before a policy was changed runs over.
static __always_inline __u64 fill(__u64 *held, __u64 depth, __u64 tokens)
{
	__u64 room, put;

	if (*held > depth)
		*held = depth;
	room = depth - *held;
	put = tokens < room ? tokens : room;

	*held += put;
	return tokens - put;
}

// Takes out `tokens` if all of them are there.
static __always_inline int try_take(__u64 *held, __u64 tokens)
{
	if (*held < tokens)
		return 0;
	*held -= tokens;
	return 1;
}

#endif
