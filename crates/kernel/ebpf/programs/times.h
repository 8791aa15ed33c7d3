// How long connections of TCP took whose class knows each flow: from the SYN with which a flow was new to the FIN or RST with which
// it ended, as the device was given them. crates/kernel/ebpf/src/edge/times.rs reads it.

#ifndef SHORTFLOW_TIMES_H
#define SHORTFLOW_TIMES_H

#include "kernel.h"

#include <bpf/bpf_helpers.h>

#include "classes.h"
#include "table.h"

// Those of the connections of a class that have sent about as much.
static __always_inline struct times *times_of(__u32 class, __u64 sent)
{
	__u32 at = class * SIZES;

	for (int i = 0; i < SIZES - 1; i++)
		at += sent > settings.sizes[i];
	return bpf_map_lookup_elem(&times, &at);
}

static __always_inline void count_ended(__u32 class, __u64 sent, __u64 took)
{
	struct times *own = times_of(class, sent);
	__u32 part = 0;

	if (!own)
		return;
	for (int i = 0; i < MAX_TIMES; i++)
		part += took > settings.times[i];
	own->parts[part & MAX_TIMES]++;
	own->sum += took;
}

static __always_inline void count_forgotten(__u32 class, __u64 sent)
{
	struct times *own = times_of(class, sent);

	if (own)
		own->unfinished++;
}

// Counts the connection that has ended with a packet, and the one that was forgotten for it, by what they have sent; of 0 bytes is
// none.
APART int count_ends(__u32 class, __u64 ended, __u64 took, __u64 forgotten)
{
	if (ended)
		count_ended(class, ended, took);
	if (forgotten)
		count_forgotten(class, forgotten);
	return 0;
}

#endif
