// Which packets wait, and which leaves next. The twins are the queues and schedulers of crates/node/elements, with the same
// decisions: queue/shared_priority.rs, queue/fifo.rs, queue/red, queue/sima.rs, queue/stf.rs, queue/wfq, queue/fq_codel.rs,
// queue/host_fair, scheduler/strict_priority.rs, weighted_round_robin.rs and deficit_round_robin.rs behind queue/shaper.rs.

#ifndef SHORTFLOW_QDISC_QUEUE_H
#define SHORTFLOW_QDISC_QUEUE_H

#include "../window.h"
#include "plan.h"

static __always_inline int has_room(__u64 limit, __u32 in_bytes, __u64 packets, __u64 bytes, __u32 size)
{
	return in_bytes ? bytes + size <= limit : packets < limit;
}

#include "fq.h"
#include "lists.h"
#include "red.h"
#include "shaper.h"
#include "sima.h"
#include "stf.h"
#include "turns.h"
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
static __always_inline int drop_at(struct holder *holder, struct machine *machine, __u32 queue, __u32 place, __u32 reason)
{
	struct waiting *waiting = waiting_at(place);

	if (!waiting)
		return 0;
	leave(machine, queue, place, waiting);
	count_drop(machine, queue, reason);
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
		if (!machine->queues[last].count || !drop_at(holder, machine, last, machine->queues[last].tail, PUSHED_OUT))
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
		if (!drop_at(holder, machine, number, place, PUSHED_OUT))
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
		if (!waiting || !drop_at(holder, machine, waiting->queue, place, PUSHED_OUT))
			return OVERLIMIT;
	}
	if (!has_room_for(room, held, arrival->size))
		return OVERLIMIT;
	*flow = wfq_enter(plan, machine, arrival, number);
	return *flow == NONE ? OVERLIMIT : REASONS;
}

// Whether a packet joins its queue, in which none makes room for it: a reason why not, or `REASONS`.
APART __u32 gate_admits(const struct plan *plan, struct machine *machine, const struct arrival *arrival, __u32 number, __u64 now)
{
	const struct queue_plan *queue;
	struct list *list;
	__u32 red;

	if (!plan || !machine || !arrival)
		return OVERLIMIT;
	queue = &plan->each[number & (MAX_QUEUES - 1)];
	list = &machine->queues[number & (MAX_QUEUES - 1)];
	if (queue->gate == GATE_RED) {
		red = queue->of_gate & (MAX_REDS - 1);
		return red_admits(plan, &plan->reds[red], &machine->reds[red], queue, list, arrival, now);
	}
	if (queue->gate == GATE_SIMA)
		return sima_admits(plan, machine, queue, arrival);
	return has_room(queue->limit, queue->in_bytes, list->count, list->bytes, arrival->size) ? REASONS : OVERLIMIT;
}

// Whether a packet joins its queue: a reason why not, or `REASONS`.
static __always_inline __u32 admits(struct holder *holder, const struct plan *plan, struct machine *machine,
				    const struct arrival *arrival, __u32 number, __u64 now, __u32 *flow)
{
	const struct queue_plan *queue = &plan->each[number];

	if (!has_number(&machine->places))
		return OVERLIMIT;
	if (plan->scheduler == SCHEDULER_SHARED) {
		if (has_room(plan->limit, plan->in_bytes, machine->packets, machine->bytes, arrival->size))
			return REASONS;
		return make_room(holder, plan, machine, number, arrival->size) ? REASONS : OVERLIMIT;
	}
	if (plan->scheduler == SCHEDULER_FAIR)
		return wfq_admits(holder, plan, machine, arrival, now, flow);
	if (queue->gate == GATE_STF)
		return stf_admits(holder, plan, machine, arrival, now, flow);
	if (queue->gate == GATE_FQ) {
		// Others may be lost for it when it has joined.
		*flow = fq_choose(plan, machine, arrival);
		return *flow == NONE ? OVERLIMIT : REASONS;
	}
	return gate_admits(plan, machine, arrival, number, now);
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

// Drops packets of flows in turn until the limit is kept; false where the one that came at a place is among those.
static __always_inline int keep_limit(struct holder *holder, const struct plan *plan, struct machine *machine, __u32 queue, __u32 came,
				      __u64 now)
{
	struct fq_losing losing = {};
	int i, is_there = 1;
	__u32 place;

	EACH(i, MAX_PUSHED_OUT) {
		place = fq_lose(plan, machine, queue, now, &losing);
		if (place != came) {
			if (!drop_at(holder, machine, queue, place, OVERLIMIT))
				break;
			continue;
		}
		// Nobody holds it yet: who brings it drops it.
		struct waiting *waiting = waiting_at(place);

		if (!waiting)
			break;
		leave(machine, queue, place, waiting);
		count_drop(machine, queue, OVERLIMIT);
		free_place(machine, place);
		is_there = 0;
		came = NONE;
	}
	return is_there;
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
	waiting->since = now;
	push_back(list, at, waiting, in_queue);
	if (arrival->is_beside)
		return at;
	if (plan->scheduler == SCHEDULER_FAIR)
		wfq_hold(plan, machine, flow, at);
	else if (plan->each[number].gate == GATE_FQ)
		fq_hold(plan, machine, number, flow, at);
	else if (flow != NONE)
		stf_hold(plan, machine, number, flow, at);
	machine->packets++;
	machine->bytes += arrival->size;
	machine->occupied |= 1ULL << number;
	if (plan->scheduler != SCHEDULER_FAIR && plan->each[number].gate == GATE_FQ &&
	    !keep_limit(holder, plan, machine, number, at, now))
		return NONE;
	return at;
}

// The queue of the plan whose packet is next; none where none has some.
static __always_inline __u32 next_queue(const struct plan *plan, struct machine *machine, struct round *round)
{
	__u32 turn;

	if (plan->scheduler == SCHEDULER_STRICT || plan->scheduler == SCHEDULER_SHARED)
		return machine->occupied ? lowest(machine->occupied) : NONE;
	if (plan->scheduler == SCHEDULER_DEFICIT)
		turn = turn_by_bytes(plan, machine, round);
	else
		turn = turn_by_packets(plan, machine, round);
	return turn == NONE ? NONE : turn + lowest(occupied_from(plan, machine, turn));
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

// The place of the packet of the plan that is next; none where all that wait are dropped.
static __always_inline __u32 next_place(struct holder *holder, const struct plan *plan, struct machine *machine, __u64 now)
{
	struct fq_turn turn = { .flow = NONE };
	__u32 number = NONE, verdict;
	struct round round = {};
	int i;

	if (plan->scheduler == SCHEDULER_FAIR)
		return wfq_serve(plan, machine, now);
	EACH(i, MAX_ASKED) {
		if (number == NONE)
			number = next_queue(plan, machine, &round);
		if (number == NONE)
			return NONE;
		number &= MAX_QUEUES - 1;
		if (plan->each[number].gate == GATE_STF)
			return stf_serve(plan, machine, number, now);
		if (plan->each[number].gate != GATE_FQ)
			return machine->queues[number].count ? machine->queues[number].head : NONE;
		verdict = fq_serve(plan, machine, number, now, &turn);
		if (verdict == SENDS)
			return turn.place;
		// A class of which all packets are dropped is served no more, and another has its turn.
		if (verdict != DROPS)
			number = NONE;
		else if (!drop_at(holder, machine, number, turn.place, EARLY))
			return NONE;
	}
	return NONE;
}

static __always_inline int is_empty(const struct machine *machine)
{
	return !machine->packets && !machine->beside[NEIGHBOURS].count && !machine->beside[LEFT].count &&
	       !machine->beside[UNREADABLE].count;
}

// The place of the packet that leaves now; none where no packet waits, or where none may leave before `*until`. The place is
// free when its packet is taken.
static __always_inline __u32 serve(struct holder *holder, const struct plan *plan, struct machine *machine, __u64 now, __u64 *until)
{
	__u32 beside, number, at, red;
	struct waiting *waiting;
	struct count *count;

	*until = 0;
	if (is_empty(machine))
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
		at = next_place(holder, plan, machine, now);
		waiting = waiting_at(at);
		if (!waiting) {
			// Of what is beside the plan, some may still wait.
			*until = is_empty(machine) ? 0 : now;
			return NONE;
		}
		number = waiting->queue & (MAX_QUEUES - 1);
		count = &machine->counts[number];
		leave(machine, number, at, waiting);
		if (plan->scheduler == SCHEDULER_DEFICIT)
			machine->deficits[plan->each[number].first & (MAX_QUEUES - 1)] -= waiting->size;
		if (plan->scheduler == SCHEDULER_WEIGHTED)
			machine->left--;
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
	forget_fqs(machine);
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
