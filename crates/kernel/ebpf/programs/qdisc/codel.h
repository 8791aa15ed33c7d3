// CoDel (RFC 8289) and BLUE for each queue of flows: crates/node/elements/src/queue/codel.rs and blue.rs, which are asked packet by
// packet, so that who holds packets drops each when it is judged.

#ifndef SHORTFLOW_QDISC_CODEL_H
#define SHORTFLOW_QDISC_CODEL_H

#include "plan.h"

// Intervals have fewer bits.
#define INTERVAL_BITS 42
// Probabilities of BLUE are in parts of 2^-12: a rise is 1/256, and a fall 1/4096.
#define BLUE_BITS 12
#define BLUE_RISE 16

// How far CoDel is with a queue: at its first packet, or after one that was dropped, of several or alone.
enum { CODEL_FIRST, CODEL_AGAIN, CODEL_LAST };
enum { SENDS, DROPS, ENDS };

// `interval` over the square root of `count`, rounded to the nearest nanosecond: bit by bit, in half nanoseconds.
APART __u64 over_root(__u64 interval, __u64 count)
{
	struct wide doubled = wide_product(2 * interval, 2 * interval);
	__u64 root = 0;
	int i;

	EACH(i, INTERVAL_BITS + 1) {
		__u64 tried = root | 1ULL << ((INTERVAL_BITS - i) & 63);

		if (!wide_is_below(doubled, wide_times(wide_product(tried, tried), count)))
			root = tried;
	}
	return (root + 1) / 2;
}

// Whether packets have waited for longer than the target for an interval (RFC 8289 section 5.6), by the oldest one.
static __always_inline int codel_is_late(const struct fq_plan *of, struct codel *codel, const struct waiting *waiting, __u64 left,
					 __u64 now)
{
	__u64 waited = now > waiting->since ? now - waiting->since : 0;

	if (waited < of->target || left <= of->mtu) {
		codel->is_above = 0;
		return 0;
	}
	if (!codel->is_above) {
		codel->is_above = 1;
		codel->late_at = now + of->interval;
	}
	return now >= codel->late_at;
}

// If the queue was good only for a short time, the rate of signals goes on where it ended.
static __always_inline void codel_begin(const struct fq_plan *of, struct codel *codel, __u64 now)
{
	__u64 last_time = codel->count - codel->count_before;
	__u64 since = now > codel->next_signal ? now - codel->next_signal : 0;

	codel->count = last_time > 1 && since < 16 * of->interval ? last_time : 1;
	codel->count_before = codel->count;
	codel->is_dropping = 1;
	codel->next_signal = now + over_root(of->interval, codel->count);
}

// Whether the oldest packet is sent or dropped, and how far CoDel is with the queue then (RFC 8289 section 5.5).
static __always_inline __u32 codel_judge(const struct fq_plan *of, struct codel *codel, int is_late, __u64 now, __u32 *stage)
{
	if (*stage == CODEL_LAST)
		return SENDS;
	if (*stage == CODEL_FIRST && !codel->is_dropping) {
		if (!is_late)
			return SENDS;
		codel_begin(of, codel, now);
		*stage = CODEL_LAST;
		return DROPS;
	}
	if (*stage == CODEL_AGAIN && is_late)
		codel->next_signal += over_root(of->interval, codel->count);
	codel->is_dropping = is_late;
	if (!is_late || now < codel->next_signal)
		return SENDS;
	codel->count++;
	*stage = CODEL_AGAIN;
	return DROPS;
}

// The queue had nothing to send in its turn; after a packet that was dropped alone, CoDel goes on dropping.
static __always_inline void codel_ran_empty(struct codel *codel, __u32 stage)
{
	codel->is_above = 0;
	if (stage != CODEL_LAST)
		codel->is_dropping = 0;
}

// BLUE changes its probability at most once in CoDel's target.
static __always_inline int blue_may_change(const struct fq_plan *of, struct blue *blue, __u64 now)
{
	if (blue->has_changed && (now <= blue->changed_at || now - blue->changed_at <= of->target))
		return 0;
	blue->has_changed = 1;
	blue->changed_at = now;
	return 1;
}

static __always_inline void blue_overflowed(const struct fq_plan *of, struct blue *blue, __u64 now)
{
	if (!blue_may_change(of, blue, now))
		return;
	blue->parts += BLUE_RISE;
	if (blue->parts > 1 << BLUE_BITS)
		blue->parts = 1 << BLUE_BITS;
}

static __always_inline void blue_ran_empty(const struct fq_plan *of, struct blue *blue, __u64 now)
{
	if (blue->parts && blue_may_change(of, blue, now))
		blue->parts--;
}

static __always_inline int blue_drops(const struct blue *blue)
{
	if (!blue->parts || blue->parts >= 1 << BLUE_BITS)
		return blue->parts != 0;
	return draw() >> (64 - BLUE_BITS) < blue->parts;
}

#endif
