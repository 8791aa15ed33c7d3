// Numbers of 128 bits in two words, which BPF has no instructions for.

#ifndef SHORTFLOW_WIDE_H
#define SHORTFLOW_WIDE_H

#include "kernel.h"

struct wide {
	__u64 high, low;
};

static __always_inline struct wide wide_product(__u64 a, __u64 b)
{
	__u64 low = (__u64)(__u32)a * (__u32)b, above = (a >> 32) * (__u32)b, below = (__u64)(__u32)a * (b >> 32);
	__u64 middle = (low >> 32) + (__u32)above + (__u32)below;

	return (struct wide){
		.high = (a >> 32) * (b >> 32) + (above >> 32) + (below >> 32) + (middle >> 32),
		.low = middle << 32 | (__u32)low,
	};
}

#endif
