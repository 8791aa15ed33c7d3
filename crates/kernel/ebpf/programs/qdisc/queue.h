// Which packets wait, and which leaves next. The twins are the queues and schedulers of crates/node/elements, with the same
// decisions: queue/shared_priority.rs, queue/fifo.rs, queue/red, scheduler/strict_priority.rs and weighted_round_robin.rs behind
// queue/shaper.rs.

#ifndef SHORTFLOW_QDISC_QUEUE_H
#define SHORTFLOW_QDISC_QUEUE_H

#include "../window.h"
#include "plan.h"

static __always_inline int has_room(__u64 limit, __u32 in_bytes, __u64 packets, __u64 bytes, __u32 size)
{
	return in_bytes ? bytes + size <= limit : packets < limit;
}

#include "lists.h"
#include "red.h"
#include "shaper.h"

static __always_inline __u32 lowest(__u64 bits_set)
{
	return bits(bits_set & -bits_set) - 1;
}

static __always_inline void count_drop(struct machine *machine, __u32 queue, __u32 reason)
{
	machine->counts[queue & (MAX_QUEUES - 1)].drops[reason & (REASONS - 1)]++;
}

// A packet of the plan is no longer in its queue.
static __always_inline void count_out(struct machine *machine, __u32 queue, const struct waiting *waiting)
{
	machine->packets--;
	machine->bytes -= waiting->size;
	if (!machine->queues[queue & (MAX_QUEUES - 1)].packets)
		machine->occupied &= ~(1ULL << (queue & (MAX_QUEUES - 1)));
}

// Pushes out packets of later queues than `queue` until one of `size` bytes has room in the shared buffer (Guo et al. 2005,
// section 4.1); if that is not enough, none.
static __always_inline int make_room(struct holder *holder, const struct plan *plan, struct machine *machine, __u32 queue,
				     __u32 size)
{
	__u64 later = machine->occupied & ~0ULL << (queue & (MAX_QUEUES - 1)) << 1, worse = 0;
	int i;

	if (!later)
		return 0;
	if (plan->in_bytes) {
		EACH(i, MAX_QUEUES)
			if (later >> (i & (MAX_QUEUES - 1)) & 1)
				worse += machine->queues[i & (MAX_QUEUES - 1)].bytes;
		if (machine->bytes - worse + size > plan->limit)
			return 0;
	}
	EACH(i, MAX_PUSHED_OUT) {
		struct waiting *waiting;
		__u32 last, at;

		if (has_room(plan->limit, plan->in_bytes, machine->packets, machine->bytes, size))
			return 1;
		last = (bits(machine->occupied) - 1) & (MAX_QUEUES - 1);
		at = pop_back(&machine->queues[last]);
		waiting = waiting_at(at);
		if (!waiting)
			return 0;
		count_out(machine, last, waiting);
		count_drop(machine, last, PUSHED_OUT);
		give_up(holder, at);
		free_place(machine, at);
	}
	return has_room(plan->limit, plan->in_bytes, machine->packets, machine->bytes, size);
}

// Whether a packet joins its queue: a reason why not, or `REASONS`.
static __always_inline __u32 admits(struct holder *holder, const struct plan *plan, struct machine *machine,
				    const struct arrival *arrival, __u64 now)
{
	__u32 number = arrival->queue & (MAX_QUEUES - 1), red;
	const struct queue_plan *queue = &plan->each[number];
	struct list *list = &machine->queues[number];

	if (!has_place(machine))
		return OVERLIMIT;
	if (plan->scheduler == SCHEDULER_SHARED) {
		if (has_room(plan->limit, plan->in_bytes, machine->packets, machine->bytes, arrival->size))
			return REASONS;
		return make_room(holder, plan, machine, number, arrival->size) ? REASONS : OVERLIMIT;
	}
	if (queue->gate == GATE_RED) {
		red = queue->red & (MAX_REDS - 1);
		return red_admits(plan, &plan->reds[red], &machine->reds[red], queue, list, arrival, now);
	}
	return has_room(queue->limit, queue->in_bytes, list->packets, list->bytes, arrival->size) ? REASONS : OVERLIMIT;
}

// What comes before all that a plan speaks of, or cannot be read.
static __always_inline __u32 admit_beside(struct machine *machine, const struct arrival *arrival, struct list **list)
{
	__u32 number = arrival->queue == NEIGHBOURS ? NEIGHBOURS : UNREADABLE;

	*list = &machine->beside[number];
	if ((*list)->packets < MAX_BESIDE && has_place(machine))
		return REASONS;
	machine->counts_beside[number].drops[OVERLIMIT]++;
	return OVERLIMIT;
}

// The place at which a packet that comes waits from now on; none where it is dropped.
static __always_inline __u32 arrive(struct holder *holder, const struct plan *plan, struct machine *machine,
				    const struct arrival *arrival, __u64 now)
{
	__u32 number = arrival->queue & (MAX_QUEUES - 1), verdict, at;
	struct waiting *waiting;
	struct list *list;

	if (arrival->is_beside) {
		if (admit_beside(machine, arrival, &list) != REASONS)
			return NONE;
	} else {
		verdict = admits(holder, plan, machine, arrival, now);
		if (verdict != REASONS) {
			count_drop(machine, number, verdict);
			return NONE;
		}
		list = &machine->queues[number];
	}
	at = take_place(machine);
	waiting = waiting_at(at);
	if (!waiting)
		return NONE;
	waiting->size = arrival->size;
	waiting->length = arrival->length;
	waiting->segments = arrival->segments;
	waiting->queue = arrival->queue;
	waiting->is_beside = arrival->is_beside;
	waiting->code_point = arrival->code_point;
	push_back(list, at, waiting);
	if (arrival->is_beside)
		return at;
	machine->packets++;
	machine->bytes += arrival->size;
	machine->occupied |= 1ULL << number;
	return at;
}

// The queue of the plan whose packet is next; at least one has some.
static __always_inline __u32 next_queue(const struct plan *plan, struct machine *machine)
{
	__u32 turn;
	int i;

	if (plan->scheduler != SCHEDULER_WEIGHTED)
		return lowest(machine->occupied);
	// In turn, each as many packets as its weight (Katevenis et al. 1991). The first is asked once more at its next turn.
	EACH(i, MAX_QUEUES + 1) {
		turn = machine->turn & (MAX_QUEUES - 1);
		if (machine->left && machine->occupied >> turn & 1) {
			machine->left--;
			return turn;
		}
		turn = turn + 1 >= plan->queues ? 0 : turn + 1;
		machine->turn = turn;
		machine->left = plan->each[turn & (MAX_QUEUES - 1)].weight;
	}
	return lowest(machine->occupied);
}

// Which list beside the plan is next, if one is: what finds neighbours in its measure, then what an earlier plan left, and of
// what cannot be read one in a hundred; none while others are.
static __always_inline __u32 next_beside(struct machine *machine)
{
	int others = machine->packets || machine->beside[LEFT].packets;

	if (machine->beside[NEIGHBOURS].packets) {
		if (!others || machine->neighbours_in_a_row < NEIGHBOURS_IN_A_ROW) {
			machine->neighbours_in_a_row++;
			return NEIGHBOURS;
		}
	}
	if (++machine->since_neighbour >= OTHERS_PER_NEIGHBOUR) {
		machine->since_neighbour = 0;
		if (machine->neighbours_in_a_row)
			machine->neighbours_in_a_row--;
	}
	if (machine->beside[UNREADABLE].packets && (!others || machine->since_unreadable >= OTHERS_PER_UNREADABLE)) {
		machine->since_unreadable = 0;
		return UNREADABLE;
	}
	machine->since_unreadable++;
	return machine->beside[LEFT].packets ? LEFT : LISTS_BESIDE;
}

// The place of the packet that leaves now; none where no packet waits, or where none may leave before `*until`. The place is
// free when its packet is taken.
static __always_inline __u32 serve(const struct plan *plan, struct machine *machine, __u64 now, __u64 *until)
{
	__u32 beside, number, at, red;
	struct waiting *waiting;
	struct count *count;

	*until = 0;
	if (!machine->packets && !machine->beside[NEIGHBOURS].packets && !machine->beside[LEFT].packets &&
	    !machine->beside[UNREADABLE].packets)
		return NONE;
	if (now < machine->free_at) {
		*until = machine->free_at;
		return NONE;
	}
	beside = next_beside(machine);
	if (beside < LISTS_BESIDE) {
		at = pop_front(&machine->beside[beside]);
		count = &machine->counts_beside[beside];
		waiting = waiting_at(at);
		if (!waiting)
			return NONE;
	} else {
		number = next_queue(plan, machine) & (MAX_QUEUES - 1);
		at = pop_front(&machine->queues[number]);
		count = &machine->counts[number];
		waiting = waiting_at(at);
		if (!waiting)
			return NONE;
		count_out(machine, number, waiting);
		red = plan->each[number].red & (MAX_REDS - 1);
		if (plan->each[number].gate == GATE_RED)
			red_served(&plan->reds[red], &machine->reds[red], waiting->code_point, waiting->size, now);
	}
	count->packets++;
	count->bytes += waiting->length;
	pay(plan, machine, now, price_of(plan, waiting->length, waiting->segments));
	return at;
}

// No packet waits any more.
static __always_inline void forget_packets(struct machine *machine)
{
	int i;

	EACH(i, MAX_QUEUES)
		machine->queues[i & (MAX_QUEUES - 1)] = (struct list){};
	EACH(i, LISTS_BESIDE)
		machine->beside[i] = (struct list){};
	EACH(i, MAX_REDS)
		machine->reds[i & (MAX_REDS - 1)] = (struct red){};
	machine->packets = machine->bytes = machine->occupied = 0;
	machine->free = NONE;
	machine->fresh = 0;
}

// Goes on with another plan. Where it has another shape, packets that wait leave before all that come later, in the order of
// their queues.
static __always_inline void take_over(const struct plan *plan, struct machine *machine, __u64 generation)
{
	int i;

	if (machine->generation == generation)
		return;
	if (machine->shape != plan->shape || !machine->generation) {
		EACH(i, MAX_QUEUES) {
			append(&machine->beside[LEFT], &machine->queues[i & (MAX_QUEUES - 1)]);
			machine->counts[i & (MAX_QUEUES - 1)] = (struct count){};
		}
		EACH(i, MAX_REDS)
			machine->reds[i & (MAX_REDS - 1)] = (struct red){};
		machine->packets = machine->bytes = machine->occupied = 0;
		machine->turn = 0;
		machine->left = plan->each[0].weight;
	}
	if (!machine->generation) {
		machine->free = NONE;
		machine->held = plan->depth;
	}
	machine->shape = plan->shape;
	machine->generation = generation;
}

#endif
