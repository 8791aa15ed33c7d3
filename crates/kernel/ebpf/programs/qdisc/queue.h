// Which packets wait, and which leaves next. The twins are the queues and schedulers of crates/node/elements, with the same
// decisions: queue/shared_priority.rs, queue/fifo.rs, queue/red, queue/sima.rs, queue/stf.rs, queue/wfq,
// scheduler/strict_priority.rs, weighted_round_robin.rs and deficit_round_robin.rs behind queue/shaper.rs.

#ifndef SHORTFLOW_QDISC_QUEUE_H
#define SHORTFLOW_QDISC_QUEUE_H

#include "../window.h"
#include "plan.h"

static __always_inline int has_room(__u64 limit, __u32 in_bytes, __u64 packets, __u64 bytes, __u32 size)
{
	return in_bytes ? bytes + size <= limit : packets < limit;
}

#include "deficit.h"
#include "lists.h"
#include "red.h"
#include "shaper.h"
#include "sima.h"
#include "stf.h"
#include "wfq.h"

static __always_inline void count_drop(struct machine *machine, __u32 queue, __u32 reason)
{
	machine->counts[queue & (MAX_QUEUES - 1)].drops[reason & (REASONS - 1)]++;
}

// Takes a packet of the plan out of its queue.
static __always_inline void leave(struct machine *machine, __u32 queue, __u32 place, const struct waiting *waiting)
{
	take_out(&machine->queues[queue & (MAX_QUEUES - 1)], place, waiting, in_queue);
	machine->packets--;
	machine->bytes -= waiting->size;
	if (!machine->queues[queue & (MAX_QUEUES - 1)].count)
		machine->occupied &= ~(1ULL << (queue & (MAX_QUEUES - 1)));
}

// Drops a packet that waits; false where there is none.
static __always_inline int push_out(struct holder *holder, struct machine *machine, __u32 queue, __u32 place)
{
	struct waiting *waiting = waiting_at(place);

	if (!waiting)
		return 0;
	leave(machine, queue, place, waiting);
	count_drop(machine, queue, PUSHED_OUT);
	give_up(holder, place);
	free_place(machine, place);
	return 1;
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
		__u32 last;

		if (has_room(plan->limit, plan->in_bytes, machine->packets, machine->bytes, size))
			return 1;
		last = (bits(machine->occupied) - 1) & (MAX_QUEUES - 1);
		if (!machine->queues[last].count || !push_out(holder, machine, last, machine->queues[last].tail))
			return 0;
	}
	return has_room(plan->limit, plan->in_bytes, machine->packets, machine->bytes, size);
}

// Pushes out packets of flows that have sent more than `served` until the arrival has room.
static __always_inline int make_room_among_flows(struct holder *holder, const struct plan *plan, struct machine *machine,
						 const struct arrival *arrival, __u64 served, __u64 now)
{
	__u32 number = arrival->queue & (MAX_QUEUES - 1), place;
	const struct queue_plan *queue = &plan->each[number];
	struct list *list = &machine->queues[number];
	int i;

	if (queue->in_bytes && arrival->size > queue->limit)
		return 0;
	EACH(i, MAX_PUSHED_OUT) {
		if (has_room(queue->limit, queue->in_bytes, list->count, list->bytes, arrival->size))
			return 1;
		place = stf_lose(plan, machine, number, served, now);
		if (!push_out(holder, machine, number, place))
			return 0;
	}
	return has_room(queue->limit, queue->in_bytes, list->count, list->bytes, arrival->size);
}

// Whether a packet joins its flow, whose number is `*flow` then: a reason why not, or `REASONS`.
static __always_inline __u32 stf_admits(struct holder *holder, const struct plan *plan, struct machine *machine,
					const struct arrival *arrival, __u64 now, __u32 *flow)
{
	struct stf_asked asked = { .flow = NONE };

	stf_ask(plan, machine, arrival, now, &asked);
	if (!asked.is_admitted || !make_room_among_flows(holder, plan, machine, arrival, asked.served, now))
		return OVERLIMIT;
	*flow = stf_enter(plan, machine, arrival, now, &asked);
	return *flow == NONE ? OVERLIMIT : REASONS;
}

// Whether a packet joins its flow, whose number is `*flow` then: a reason why not, or `REASONS`.
static __always_inline __u32 wfq_admits(struct holder *holder, const struct plan *plan, struct machine *machine,
					const struct arrival *arrival, __u64 now, __u32 *flow)
{
	const struct room *room = room_of(plan, arrival->queue);
	struct held *held = held_of(plan, machine, arrival->queue);
	__u32 place, number = NONE;
	struct waiting *waiting;
	int i;

	wfq_follow_line(plan, machine, now, 0);
	if (!wfq_ask(plan, machine, arrival, &number) || !has_room(room->limit, room->in_bytes, 0, 0, arrival->size))
		return OVERLIMIT;
	EACH(i, MAX_PUSHED_OUT) {
		if (has_room_for(room, held, arrival->size))
			break;
		place = wfq_lose(plan, machine, arrival, number);
		waiting = waiting_at(place);
		if (!waiting || !push_out(holder, machine, waiting->queue, place))
			return OVERLIMIT;
	}
	if (!has_room_for(room, held, arrival->size))
		return OVERLIMIT;
	*flow = wfq_enter(plan, machine, arrival, number);
	return *flow == NONE ? OVERLIMIT : REASONS;
}

// Whether a packet joins its queue: a reason why not, or `REASONS`.
static __always_inline __u32 admits(struct holder *holder, const struct plan *plan, struct machine *machine,
				    const struct arrival *arrival, __u32 number, __u64 now, __u32 *flow)
{
	__u32 red;
	const struct queue_plan *queue = &plan->each[number];
	struct list *list = &machine->queues[number];

	if (!has_number(&machine->places))
		return OVERLIMIT;
	if (plan->scheduler == SCHEDULER_SHARED) {
		if (has_room(plan->limit, plan->in_bytes, machine->packets, machine->bytes, arrival->size))
			return REASONS;
		return make_room(holder, plan, machine, number, arrival->size) ? REASONS : OVERLIMIT;
	}
	if (plan->scheduler == SCHEDULER_FAIR)
		return wfq_admits(holder, plan, machine, arrival, now, flow);
	if (queue->gate == GATE_RED) {
		red = queue->of_gate & (MAX_REDS - 1);
		return red_admits(plan, &plan->reds[red], &machine->reds[red], queue, list, arrival, now);
	}
	if (queue->gate == GATE_STF)
		return stf_admits(holder, plan, machine, arrival, now, flow);
	if (queue->gate == GATE_SIMA)
		return sima_admits(plan, machine, queue, arrival);
	return has_room(queue->limit, queue->in_bytes, list->count, list->bytes, arrival->size) ? REASONS : OVERLIMIT;
}

// What comes before all that a plan speaks of, or cannot be read.
static __always_inline __u32 admit_beside(struct machine *machine, const struct arrival *arrival, struct list **list)
{
	__u32 number = arrival->queue == NEIGHBOURS ? NEIGHBOURS : UNREADABLE;

	*list = &machine->beside[number];
	if ((*list)->count < MAX_BESIDE && has_number(&machine->places))
		return REASONS;
	machine->counts_beside[number].drops[OVERLIMIT]++;
	return OVERLIMIT;
}

// The queue of a packet within its class.
static __always_inline __u32 queue_within(const struct plan *plan, const struct arrival *arrival)
{
	const struct queue_plan *queue = &plan->each[arrival->queue & (MAX_QUEUES - 1)];
	__u32 more = 0;

	if (queue->gate == GATE_SIMA)
		more = plan->simas[queue->of_gate & (MAX_SIMAS - 1)].place_of[arrival->code_point & 63] / 8;
	return (arrival->queue + more) & (MAX_QUEUES - 1);
}

// The place at which a packet that comes waits from now on; none where it is dropped.
static __always_inline __u32 arrive(struct holder *holder, const struct plan *plan, struct machine *machine,
				    const struct arrival *arrival, __u64 now)
{
	__u32 number = queue_within(plan, arrival), flow = NONE, verdict, at;
	struct waiting *waiting;
	struct list *list;

	if (arrival->is_beside) {
		if (admit_beside(machine, arrival, &list) != REASONS)
			return NONE;
	} else {
		if (plan->scheduler == SCHEDULER_DEFICIT && !machine->packets)
			forgive_debts(machine);
		verdict = admits(holder, plan, machine, arrival, number, now, &flow);
		if (verdict != REASONS) {
			count_drop(machine, number, verdict);
			return NONE;
		}
		list = &machine->queues[number];
	}
	at = take_number(&machine->places, in_queue);
	waiting = waiting_at(at);
	if (!waiting)
		return NONE;
	waiting->size = arrival->size;
	waiting->length = arrival->length;
	waiting->segments = arrival->segments;
	waiting->queue = arrival->is_beside ? arrival->queue : number;
	waiting->is_beside = arrival->is_beside;
	waiting->code_point = arrival->code_point;
	push_back(list, at, waiting, in_queue);
	if (arrival->is_beside)
		return at;
	if (plan->scheduler == SCHEDULER_FAIR)
		wfq_hold(plan, machine, flow, at);
	else if (flow != NONE)
		stf_hold(plan, machine, number, flow, at);
	machine->packets++;
	machine->bytes += arrival->size;
	machine->occupied |= 1ULL << number;
	return at;
}

// The queue of the plan whose packet is next; at least one has some.
static __always_inline __u32 next_queue(const struct plan *plan, struct machine *machine)
{
	__u64 occupied;
	__u32 turn;
	int i;

	if (plan->scheduler == SCHEDULER_DEFICIT) {
		turn = turn_by_bytes(plan, machine);
		return turn + lowest(occupied_from(plan, machine, turn));
	}
	if (plan->scheduler != SCHEDULER_WEIGHTED)
		return lowest(machine->occupied);
	// In turn, each as many packets as its weight (Katevenis et al. 1991). The first is asked once more at its next turn.
	EACH(i, MAX_QUEUES + 1) {
		turn = machine->turn & (MAX_QUEUES - 1);
		occupied = occupied_from(plan, machine, turn);
		if (machine->left && occupied) {
			machine->left--;
			return turn + lowest(occupied);
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
	int others = machine->packets || machine->beside[LEFT].count;

	if (machine->beside[NEIGHBOURS].count) {
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
	if (machine->beside[UNREADABLE].count && (!others || machine->since_unreadable >= OTHERS_PER_UNREADABLE)) {
		machine->since_unreadable = 0;
		return UNREADABLE;
	}
	machine->since_unreadable++;
	return machine->beside[LEFT].count ? LEFT : LISTS_BESIDE;
}

// The place of the packet of the plan that is next; at least one waits.
static __always_inline __u32 next_place(const struct plan *plan, struct machine *machine, __u64 now)
{
	__u32 number;

	if (plan->scheduler == SCHEDULER_FAIR)
		return wfq_serve(plan, machine, now);
	number = next_queue(plan, machine) & (MAX_QUEUES - 1);
	if (plan->each[number].gate == GATE_STF)
		return stf_serve(plan, machine, number, now);
	return machine->queues[number].count ? machine->queues[number].head : NONE;
}

// The place of the packet that leaves now; none where no packet waits, or where none may leave before `*until`. The place is
// free when its packet is taken.
static __always_inline __u32 serve(const struct plan *plan, struct machine *machine, __u64 now, __u64 *until)
{
	__u32 beside, number, at, red;
	struct waiting *waiting;
	struct count *count;

	*until = 0;
	if (!machine->packets && !machine->beside[NEIGHBOURS].count && !machine->beside[LEFT].count &&
	    !machine->beside[UNREADABLE].count)
		return NONE;
	if (now < machine->free_at) {
		*until = machine->free_at;
		return NONE;
	}
	beside = next_beside(machine);
	if (beside < LISTS_BESIDE) {
		at = machine->beside[beside].head;
		count = &machine->counts_beside[beside];
		waiting = waiting_at(at);
		if (!waiting)
			return NONE;
		take_out(&machine->beside[beside], at, waiting, in_queue);
	} else {
		at = next_place(plan, machine, now);
		waiting = waiting_at(at);
		if (!waiting)
			return NONE;
		number = waiting->queue & (MAX_QUEUES - 1);
		count = &machine->counts[number];
		leave(machine, number, at, waiting);
		if (plan->scheduler == SCHEDULER_DEFICIT)
			machine->deficits[plan->each[number].first & (MAX_QUEUES - 1)] -= waiting->size;
		red = plan->each[number].of_gate & (MAX_REDS - 1);
		if (plan->each[number].gate == GATE_RED)
			red_served(&plan->reds[red], &machine->reds[red], waiting->code_point, waiting->size, now);
	}
	count->packets++;
	count->bytes += waiting->length;
	pay(plan, machine, now, price_of(plan, waiting->length, waiting->segments));
	return at;
}

// No flow is remembered any more.
static __always_inline void forget_flows(struct machine *machine)
{
	forget_all_flows(machine);
	forget_stfs(machine);
	forget_wfq(machine);
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
	EACH(i, MAX_SIMAS)
		machine->simas[i & (MAX_SIMAS - 1)] = (struct sima){};
	machine->packets = machine->bytes = machine->occupied = 0;
	empty(&machine->places);
	forget_flows(machine);
}

// Goes on with another plan. Where it has another shape, packets that wait leave before all that come later, in the order of
// their queues, and flows are forgotten.
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
		EACH(i, MAX_SIMAS)
			machine->simas[i & (MAX_SIMAS - 1)] = (struct sima){};
		machine->packets = machine->bytes = machine->occupied = 0;
		machine->turn = 0;
		machine->left = plan->each[0].weight;
		machine->rankings = plan->rankings;
		machine->wfq.classes = plan->scheduler == SCHEDULER_FAIR ? plan->queues : 0;
		forget_flows(machine);
		EACH(i, MAX_QUEUES)
			machine->deficits[i & (MAX_QUEUES - 1)] = 0;
		machine->deficits[0] = plan->each[0].weight;
	}
	if (!machine->generation) {
		empty(&machine->places);
		machine->held = plan->depth;
	}
	machine->shape = plan->shape;
	machine->generation = generation;
}

#endif
