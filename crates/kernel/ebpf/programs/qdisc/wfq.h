// Weighted fair queueing, packet by packet: crates/node/elements/src/queue/wfq behind queue/shaper.rs, with the same decisions. Each
// class is one flow or has a flow for each 5-tuple; the flow of a class has the number of the class.

#ifndef SHORTFLOW_QDISC_WFQ_H
#define SHORTFLOW_QDISC_WFQ_H

#include "../buckets.h"
#include "gps.h"

static __always_inline const struct share *share_of(const struct plan *plan, __u32 class)
{
	return &plan->shares[class & (MAX_QUEUES - 1)];
}

static __always_inline const struct room *room_of(const struct plan *plan, __u32 class)
{
	const struct share *share = share_of(plan, class);

	return share->is_shared ? &plan->shared : &share->own;
}

static __always_inline struct held *held_of(const struct plan *plan, struct machine *machine, __u32 class)
{
	return share_of(plan, class)->is_shared ? &machine->wfq.shared : &machine->wfq.own[class & (MAX_QUEUES - 1)];
}

static __always_inline int has_room_for(const struct room *room, const struct held *held, __u32 size)
{
	return has_room(room->limit, room->in_bytes, held->packets, held->bytes, size);
}

// How much a flow holds behind its first packet relative to its weight, in packets or bytes, with another packet of `more` bytes.
static __always_inline struct wide relative_length(const struct plan *plan, const struct flow *flow, __u32 more)
{
	const struct share *share = share_of(plan, flow->class);
	__u64 packets = flow->packets.count, bytes = flow->packets.bytes;
	const struct waiting *first = packets ? waiting_at(flow->packets.head) : 0;

	if (first) {
		packets--;
		bytes -= first->size;
	}
	if (more) {
		packets++;
		bytes += more;
	}
	return wide_times(share->per_length, room_of(plan, flow->class)->in_bytes ? bytes : packets);
}

// The longest comes first.
static __always_inline struct rank rank_by_length(struct wide length)
{
	return (struct rank){ .parts = { ~length.high, ~length.low } };
}

static __always_inline void wfq_forget_if_done(const struct plan *plan, struct machine *machine, struct flow *flow, __u32 number)
{
	if (flow->packets.count || !share_of(plan, flow->class)->has_flows)
		return;
	remove_rank(&held_of(plan, machine, flow->class)->longest, number);
	forget_flow(machine, number);
}

// The work of the line on the packet that left last, up to now or all of it.
static __always_inline void wfq_follow_line(const struct plan *plan, struct machine *machine, __u64 now, int is_sent)
{
	struct wfq *wfq = &machine->wfq;
	__u64 elapsed = elapsed_since(&wfq->at, now);
	struct wide possible = wide_product(elapsed, plan->rate);
	__u64 work = is_sent || possible.high || possible.low > wfq->left ? wfq->left : possible.low;

	wfq->left -= work;
	if (work)
		gps_serve(plan, machine, work);
}

// Asks for the flow of a packet that comes; false where its own limit has no room.
APART int wfq_ask(const struct plan *plan, struct machine *machine, const struct arrival *arrival, __u32 *number)
{
	const struct share *share;
	struct flow *flow;

	if (!plan || !machine || !arrival || !number)
		return 0;
	share = share_of(plan, arrival->queue);
	*number = share->has_flows ? known_flow(machine, &arrival->key) : arrival->queue;
	if (!share->flow_limit)
		return 1;
	flow = flow_at(*number);
	return has_room(share->flow_limit, share->flow_in_bytes, flow ? flow->packets.count : 0, flow ? flow->packets.bytes : 0,
			arrival->size);
}

// Takes the newest packet of the flow that holds most, if that is more than the flow of the packet that comes would: its place.
APART __u32 wfq_lose(const struct plan *plan, struct machine *machine, const struct arrival *arrival, __u32 number)
{
	struct wide own = {}, length = {};
	const struct share *share;
	struct waiting *waiting;
	struct ranked *first;
	struct flow *flow;
	struct held *held;
	struct rank rank;
	__u32 place;
	int i;

	if (!plan || !machine || !arrival || !room_of(plan, arrival->queue)->pushes_out)
		return NONE;
	flow = flow_at(number);
	if (flow && flow->packets.count)
		own = relative_length(plan, flow, arrival->size);
	held = held_of(plan, machine, arrival->queue);
	flow = 0;
	// Bounds rise with their flows, and fall only here.
	EACH(i, MAX_ENDED) {
		first = first_of(&held->longest);
		number = first ? first->flow : NONE;
		flow = flow_at(number);
		if (!first || !flow)
			return NONE;
		length = relative_length(plan, flow, 0);
		rank = rank_by_length(length);
		if (rank.parts[0] == first->rank.parts[0] && rank.parts[1] == first->rank.parts[1])
			break;
		set_rank(&held->longest, number, &rank);
	}
	if (!flow || !wide_is_below(own, length))
		return NONE;
	place = flow->packets.tail;
	waiting = waiting_at(place);
	if (!flow->packets.count || !waiting)
		return NONE;
	share = share_of(plan, flow->class);
	gps_take_back(&machine->wfq.gps, flow, number, share->weight, wide_times(share->per_byte, waiting->size), waiting->finish);
	take_out(&flow->packets, place, waiting, in_flow);
	held->packets--;
	held->bytes -= waiting->size;
	return place;
}

// The flow of a packet that joins; none where the table has no room for it.
APART __u32 wfq_enter(const struct plan *plan, struct machine *machine, const struct arrival *arrival, __u32 number)
{
	struct flow *flow;

	if (!plan || !machine || !arrival)
		return NONE;
	if (!machine->packets && !machine->wfq.gps.backlogged.count)
		machine->wfq.gps.virtual_time = machine->wfq.gps.remainder = wide_of(0);
	if (number != NONE)
		return number;
	number = add_flow(machine, &arrival->key);
	flow = flow_at(number);
	if (!flow)
		return NONE;
	flow->class = arrival->queue & (MAX_QUEUES - 1);
	return number;
}

// Puts a packet of a flow behind the others.
APART int wfq_hold(const struct plan *plan, struct machine *machine, __u32 number, __u32 place)
{
	struct waiting *waiting = waiting_at(place);
	struct flow *flow = flow_at(number);
	const struct share *share;
	struct held *held;
	struct rank rank;

	if (!plan || !machine || !waiting || !flow)
		return 0;
	share = share_of(plan, flow->class);
	held = held_of(plan, machine, flow->class);
	waiting->flow = number;
	waiting->number = machine->wfq.taken++;
	waiting->finish =
		gps_arrive(&machine->wfq.gps, flow, number, share->weight, wide_times(share->per_byte, waiting->size));
	held->packets++;
	held->bytes += waiting->size;
	push_back(&flow->packets, place, waiting, in_flow);
	if (flow->packets.count == 1) {
		rank = rank_by(waiting->finish, waiting->number);
		set_rank(&machine->wfq.next, number, &rank);
	}
	if (!room_of(plan, flow->class)->pushes_out)
		return 0;
	rank = rank_by_length(relative_length(plan, flow, 0));
	place = *place_in(&held->longest, flow);
	if (place) {
		struct ranked *bound = entry_at(&held->longest, place - 1);

		if (!bound || !is_before(&rank, &bound->rank))
			return 0;
	}
	set_rank(&held->longest, number, &rank);
	return 0;
}

// Takes the packet that the fluid server would finish first: its place.
APART __u32 wfq_serve(const struct plan *plan, struct machine *machine, __u64 now)
{
	struct waiting *waiting, *next;
	struct flow *flow;
	struct held *held;
	struct rank rank;
	struct wfq *wfq;
	__u32 number, place;

	if (!plan || !machine)
		return NONE;
	wfq = &machine->wfq;
	// What asks for the next packet has sent the one before.
	wfq_follow_line(plan, machine, now, 1);
	waiting = oldest_of_first(&wfq->next, &number, &flow);
	if (!waiting || !flow)
		return NONE;
	place = flow->packets.head;
	held = held_of(plan, machine, flow->class);
	take_out(&flow->packets, place, waiting, in_flow);
	held->packets--;
	held->bytes -= waiting->size;
	next = flow->packets.count ? waiting_at(flow->packets.head) : 0;
	if (next) {
		rank = rank_by(next->finish, next->number);
		set_rank(&wfq->next, number, &rank);
	} else {
		remove_rank(&wfq->next, number);
	}
	wfq->left += waiting->size * PER_BYTE;
	if (!is_in(&wfq->gps.backlogged, flow))
		wfq_forget_if_done(plan, machine, flow, number);
	return place;
}

// Rankings in a fixed order: a plan has as many of the last as it needs.
static __always_inline void begin_ranking(const struct machine *machine, struct ranking *ranking, __u32 number, __u32 of_flow)
{
	*ranking = (struct ranking){ .number = number, .rankings = machine->rankings, .of_flow = of_flow };
}

static __always_inline void forget_wfq(struct machine *machine)
{
	struct wfq *wfq = &machine->wfq;
	int i;

	wfq->gps.virtual_time = wfq->gps.remainder = wide_of(0);
	wfq->gps.weights = wfq->left = wfq->taken = 0;
	wfq->shared.packets = wfq->shared.bytes = 0;
	begin_ranking(machine, &wfq->next, 0, 0);
	begin_ranking(machine, &wfq->gps.backlogged, 1, 1);
	begin_ranking(machine, &wfq->shared.longest, 2, 2);
	EACH(i, MAX_QUEUES) {
		struct held *own = &wfq->own[i & (MAX_QUEUES - 1)];

		own->packets = own->bytes = 0;
		begin_ranking(machine, &own->longest, 3 + i, 2);
	}
	// The flows of classes have the first numbers.
	EACH(i, wfq->classes) {
		struct flow *flow = flow_at(i);

		if (!flow)
			break;
		if (flow->epoch && find_flow(&flow->key) == (__u32)i)
			drop_flow(&flow->key);
		*flow = (struct flow){ .class = i & (MAX_QUEUES - 1) };
	}
	machine->flows.fresh = wfq->classes;
}

#endif
