// The rate at which packets leave: crates/node/elements/src/queue/shaper.rs in 64 bits, without rounding. Depths up to 2^30
// bytes fit.

#ifndef SHORTFLOW_QDISC_SHAPER_H
#define SHORTFLOW_QDISC_SHAPER_H

#include "../buckets.h"
#include "plan.h"

// What a packet counts: each segment that a device makes of it has an overhead of its own.
static __always_inline __u64 price_of(const struct plan *plan, __u32 length, __u32 segments)
{
	__u32 many = segments ? segments : 1, least = plan->mpu ? plan->mpu : 1;
	__s64 framed = (__s64)((length + many - 1) / many) + plan->overhead;
	__u64 bytes;

	// Nothing is added: what the kernel counts is exact, and its mean might not be.
	if (!plan->overhead && !plan->mpu && plan->framing == PLAIN)
		return length * PER_BYTE;
	bytes = framed < (__s64)least ? least : framed;
	if (plan->framing == ATM)
		bytes = (bytes + 47) / 48 * 53;
	else if (plan->framing == PTM)
		bytes += (bytes + 63) / 64;
	return bytes * many * PER_BYTE;
}

// Pays what is owed with what was earned; the rest fills the bucket.
static __always_inline void earn_until(const struct plan *plan, struct machine *machine, __u64 now)
{
	__u64 elapsed = elapsed_since(&machine->earned_at, now), all, tokens;

	if (machine->held > plan->depth)
		machine->held = plan->depth;
	all = machine->owed + plan->depth - machine->held;
	tokens = earned(plan->rate, elapsed, plan->rate ? (all + plan->rate - 1) / plan->rate : 0, all);
	if (tokens < machine->owed) {
		machine->owed -= tokens;
		return;
	}
	fill(&machine->held, plan->depth, tokens - machine->owed);
	machine->owed = 0;
}

static __always_inline void pay(const struct plan *plan, struct machine *machine, __u64 now, __u64 price)
{
	earn_until(plan, machine, now);
	machine->owed = price > machine->held ? price - machine->held : 0;
	machine->held -= price - machine->owed;
	machine->free_at = machine->earned_at + (machine->owed + plan->rate - 1) / plan->rate;
}

#endif
