// The decisions of the queueing discipline without a kernel: tests compare them with the elements of the simulator, under a clock
// and random bits of their own. Packets are the numbers of their places.

#include <stdlib.h>

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
	struct waiting *waiting;
};

// Those that were given up while one came.
struct holder {
	__u32 *given_up;
	__u32 count;
};

static _Thread_local struct twin *current;

#define EACH(i, n) for (i = 0; i < (int)(n); i++)

static __always_inline struct waiting *waiting_at(__u32 place)
{
	return place < current->machine.places ? &current->waiting[place] : 0;
}

static __always_inline __u64 draw(void)
{
	return current->draw(current->of);
}

static __always_inline void give_up(struct holder *holder, __u32 place)
{
	holder->given_up[holder->count++] = place;
}

#include "queue.h"

void shortflow_twin_sizes(__u64 *sizes)
{
	sizes[0] = sizeof(struct plan);
	sizes[1] = sizeof(struct machine);
}

struct twin *shortflow_twin_new(const struct plan *plan, __u32 places, __u64 (*draw)(void *), void *of)
{
	struct twin *twin = calloc(1, sizeof(*twin));

	twin->machine.places = places;
	twin->waiting = calloc(places, sizeof(*twin->waiting));
	twin->plan = *plan;
	twin->generation = 1;
	twin->draw = draw;
	twin->of = of;
	return twin;
}

void shortflow_twin_drop(struct twin *twin)
{
	free(twin->waiting);
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

// The place of what leaves, or none.
__u32 shortflow_twin_serve(struct twin *twin, __u64 now, __u64 *until)
{
	__u32 place;

	current = twin;
	take_over(&twin->plan, &twin->machine, twin->generation);
	place = serve(&twin->plan, &twin->machine, now, until);
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
