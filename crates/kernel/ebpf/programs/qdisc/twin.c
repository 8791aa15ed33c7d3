// The decisions of the queueing discipline without a kernel: tests compare them with the elements of the simulator, under a clock
// and random bits of their own. Packets are the numbers of their places.

#include <stdlib.h>
#include <string.h>

#include "plan.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

struct twin {
	struct machine machine;
	struct plan plan;
	__u64 generation;
	__u64 (*draw)(void *);
	void *of;
	// Of the hashes.
	__u64 seeds[MAX_FQS];
	struct waiting *waiting;
	struct flow *flows;
	struct ranked *ranked;
	struct flow_queue *flow_queues;
	// A list for each hash of a key, by the number under which it was kept.
	__u32 *firsts;
	struct kept *kept;
};

struct kept {
	struct flow_key key;
	__u32 next;
};

// Those that were given up while one came, or left.
struct holder {
	__u32 *given_up;
	__u32 count;
};

static _Thread_local struct twin *current;

#define EACH(i, n) for (i = 0; i < (int)(n); i++)

static __always_inline struct waiting *waiting_at(__u32 place)
{
	return place < current->machine.places.all ? &current->waiting[place] : 0;
}

static __always_inline struct flow *flow_at(__u32 number)
{
	return number < current->machine.flows.all ? &current->flows[number] : 0;
}

static __always_inline struct ranked *ranked_at(__u32 place)
{
	return place < current->machine.ranked ? &current->ranked[place] : 0;
}

static __always_inline struct flow_queue *flow_queue_at(__u32 number)
{
	return number < current->machine.flow_queues ? &current->flow_queues[number] : 0;
}

// Where the list of a key begins.
static __u32 *first_like(const struct flow_key *key)
{
	const __u8 *bytes = (const void *)key;
	__u64 hash = 0xcbf29ce484222325ULL;

	for (__u32 i = 0; i < sizeof(*key); i++)
		hash = (hash ^ bytes[i]) * 0x100000001b3ULL;
	return &current->firsts[hash % (current->machine.flows.all + 1)];
}

// Where the number of a key stands, or the end of its list.
static __u32 *number_of(const struct flow_key *key)
{
	__u32 *number = first_like(key);

	while (*number != NONE && memcmp(&current->kept[*number].key, key, sizeof(*key)))
		number = &current->kept[*number].next;
	return number;
}

static __u32 find_flow(const struct flow_key *key)
{
	return *number_of(key);
}

static void drop_flow(const struct flow_key *key)
{
	__u32 *number = number_of(key);

	if (*number != NONE)
		*number = current->kept[*number].next;
}

static int keep_flow(const struct flow_key *key, __u32 number)
{
	__u32 *first;

	drop_flow(key);
	first = first_like(key);
	current->kept[number] = (struct kept){ .key = *key, .next = *first };
	*first = number;
	return 0;
}

static __always_inline __u64 draw(void)
{
	return current->draw(current->of);
}

static __always_inline __u64 seed_of(__u32 number)
{
	return current->seeds[number];
}

static __always_inline void give_up(struct holder *holder, __u32 place)
{
	holder->given_up[holder->count++] = place;
}

#include "queue.h"

// Results of the arithmetic of 128 bits: a sum, a difference, a product of two words, a product, a quotient, and whether one is below
// the other.
void shortflow_twin_wide(struct wide a, struct wide b, struct wide results[6])
{
	results[0] = wide_sum(a, b);
	results[1] = wide_difference(a, b);
	results[2] = wide_product(a.low, b.low);
	results[3] = wide_times(a, b.low);
	results[4] = wide_quotient(a, b.low);
	results[5] = wide_of(wide_is_below(a, b));
}

// What src/qdisc/layout.rs knows of the structures, in its order.
void shortflow_twin_layout(__u64 layout[9])
{
	layout[0] = sizeof(struct plan);
	layout[1] = sizeof(struct machine);
	layout[2] = __builtin_offsetof(struct machine, places.all);
	layout[3] = __builtin_offsetof(struct machine, flows.all);
	layout[4] = __builtin_offsetof(struct machine, ranked);
	layout[5] = __builtin_offsetof(struct machine, queues);
	layout[6] = __builtin_offsetof(struct machine, counts);
	layout[7] = __builtin_offsetof(struct machine, stfs);
	layout[8] = __builtin_offsetof(struct machine, flow_queues);
}

struct twin *shortflow_twin_new(const struct plan *plan, const __u32 sizes[4], __u64 (*draw)(void *), void *of,
				const __u64 *seeds)
{
	struct twin *twin = calloc(1, sizeof(*twin));

	twin->machine.places.all = sizes[0];
	twin->machine.flows.all = sizes[1];
	twin->machine.ranked = sizes[2];
	twin->machine.flow_queues = sizes[3];
	twin->waiting = calloc(sizes[0], sizeof(*twin->waiting));
	twin->flows = calloc(sizes[1], sizeof(*twin->flows));
	twin->ranked = calloc(sizes[2], sizeof(*twin->ranked));
	twin->flow_queues = calloc(sizes[3], sizeof(*twin->flow_queues));
	memcpy(twin->seeds, seeds, sizeof(twin->seeds));
	twin->kept = calloc(sizes[1], sizeof(*twin->kept));
	twin->firsts = malloc((sizes[1] + 1) * sizeof(*twin->firsts));
	memset(twin->firsts, 0xff, (sizes[1] + 1) * sizeof(*twin->firsts));
	twin->plan = *plan;
	twin->generation = 1;
	twin->draw = draw;
	twin->of = of;
	return twin;
}

void shortflow_twin_drop(struct twin *twin)
{
	free(twin->waiting);
	free(twin->flows);
	free(twin->ranked);
	free(twin->flow_queues);
	free(twin->kept);
	free(twin->firsts);
	free(twin);
}

// Another plan is followed from now on.
void shortflow_twin_reload(struct twin *twin, const struct plan *plan)
{
	twin->plan = *plan;
	twin->generation++;
}

// The place of what comes, or none; and the places of those that it pushes out.
__u32 shortflow_twin_arrive(struct twin *twin, __u64 now, const struct arrival *arrival, __u32 *given_up, __u32 *count)
{
	struct holder holder = { .given_up = given_up };
	__u32 place;

	current = twin;
	take_over(&twin->plan, &twin->machine, twin->generation);
	place = arrive(&holder, &twin->plan, &twin->machine, arrival, now);
	*count = holder.count;
	return place;
}

// The place of what leaves, or none; and the places of those that are dropped.
__u32 shortflow_twin_serve(struct twin *twin, __u64 now, __u64 *until, __u32 *given_up, __u32 *count)
{
	struct holder holder = { .given_up = given_up };
	__u32 place;

	current = twin;
	take_over(&twin->plan, &twin->machine, twin->generation);
	place = serve(&holder, &twin->plan, &twin->machine, now, until);
	*count = holder.count;
	if (place != NONE)
		free_place(&twin->machine, place);
	return place;
}

void shortflow_twin_reset(struct twin *twin)
{
	current = twin;
	forget_packets(&twin->machine);
}

const struct machine *shortflow_twin_machine(const struct twin *twin)
{
	return &twin->machine;
}
