// The fluid server that weighted fair queueing follows: crates/node/elements/src/queue/wfq/gps.rs, in the same whole numbers.

#ifndef SHORTFLOW_QDISC_GPS_H
#define SHORTFLOW_QDISC_GPS_H

#include "../wide.h"
#include "flows.h"
#include "ranking.h"

// Flows whose work the server ends at once, or passes over, at most: as many as there can be, twice.
#define MAX_ENDED (1 << 18)
// The fractional bits of virtual time.
#define VIRTUAL_BITS 32

static __always_inline struct rank rank_by(struct wide finish, __u64 number)
{
	return (struct rank){ .parts = { finish.high, finish.low, number } };
}

static __always_inline struct wide finish_of(const struct ranked *ranked)
{
	return (struct wide){ .high = ranked->rank.parts[0], .low = ranked->rank.parts[1] };
}

static __always_inline int is_in(const struct ranking *ranking, struct flow *flow)
{
	return *place_in(ranking, flow) != 0;
}

// Adds a packet of a flow, with this length in the flow's virtual time: its virtual finish time (Parekh & Gallager 1993, eq. 11).
static __always_inline struct wide gps_arrive(struct gps *gps, struct flow *flow, __u32 number, __u64 weight, struct wide length)
{
	if (!is_in(&gps->backlogged, flow)) {
		struct rank rank = rank_by(wide_sum(gps->virtual_time, length), 0);

		flow->finish = gps->virtual_time;
		gps->weights += weight;
		set_rank(&gps->backlogged, number, &rank);
	}
	flow->finish = wide_sum(flow->finish, length);
	return flow->finish;
}

// Takes back the last packet of a flow. What was done of it is done for the others next.
static __always_inline void gps_take_back(struct gps *gps, struct flow *flow, __u32 number, __u64 weight, struct wide length,
					  struct wide finish)
{
	struct wide start = wide_difference(finish, length), reached = gps->virtual_time;
	struct rank rank = rank_by(start, 0);

	if (wide_is_below(finish, reached))
		reached = finish;
	if (wide_is_below(start, reached))
		gps->remainder = wide_sum(gps->remainder, wide_times(wide_difference(reached, start), weight));
	if (!is_in(&gps->backlogged, flow))
		return;
	if (wide_is_below(gps->virtual_time, start)) {
		flow->finish = start;
		set_rank(&gps->backlogged, number, &rank);
	} else {
		remove_rank(&gps->backlogged, number);
		gps->weights -= weight;
	}
}

// Forgets a flow whose work the server has ended, unless packets of it wait.
static __always_inline void wfq_forget_if_done(const struct plan *plan, struct machine *machine, struct flow *flow, __u32 number);

// Puts a flow where the server ends its last packet.
APART int gps_pass(struct machine *machine, __u32 number)
{
	struct flow *flow = flow_at(number);
	struct rank rank;

	if (!machine || !flow)
		return 0;
	rank = rank_by(flow->finish, 0);
	set_rank(&machine->wfq.gps.backlogged, number, &rank);
	return 0;
}

APART int gps_end(const struct plan *plan, struct machine *machine, __u32 number)
{
	struct flow *flow = flow_at(number);

	if (!plan || !machine || !flow)
		return 0;
	remove_rank(&machine->wfq.gps.backlogged, number);
	machine->wfq.gps.weights -= plan->shares[flow->class & (MAX_QUEUES - 1)].weight;
	wfq_forget_if_done(plan, machine, flow, number);
	return 0;
}

// Moves virtual time by the work that is left, during which no flow ends (eq. 10).
APART int gps_move(struct machine *machine)
{
	struct wide moved;
	struct gps *gps;

	if (!machine)
		return 0;
	gps = &machine->wfq.gps;
	moved = wide_quotient(gps->remainder, gps->weights);
	gps->virtual_time = wide_sum(gps->virtual_time, moved);
	gps->remainder = wide_difference(gps->remainder, wide_times(moved, gps->weights));
	return 0;
}

// Does so many nanobits of work, and forgets flows that are done (iterated deletion, Keshav 1991). Little of it is on the stack, of
// which a program has 512 bytes.
APART int gps_serve(const struct plan *plan, struct machine *machine, __u64 nanobits)
{
	struct wide needed, until;
	struct ranked *first;
	struct flow *flow;
	struct gps *gps;
	int i;

	if (!plan || !machine)
		return 0;
	gps = &machine->wfq.gps;
	until = (struct wide){ .high = nanobits >> (64 - VIRTUAL_BITS), .low = nanobits << VIRTUAL_BITS };
	gps->remainder = wide_sum(gps->remainder, until);
	EACH(i, MAX_ENDED) {
		first = first_of(&gps->backlogged);
		flow = first ? flow_at(first->flow) : 0;
		if (!first || !flow)
			break;
		until = finish_of(first);
		needed = wide_times(wide_difference(until, gps->virtual_time), gps->weights);
		if (wide_is_below(gps->remainder, needed))
			return gps_move(machine);
		if (wide_is_below(until, flow->finish)) {
			gps_pass(machine, first->flow);
			continue;
		}
		gps->virtual_time = until;
		gps->remainder = wide_difference(gps->remainder, needed);
		gps_end(plan, machine, first->flow);
	}
	gps->remainder = wide_of(0);
	return 0;
}

#endif
