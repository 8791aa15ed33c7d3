// Serves the flow of which the fewest bytes have left (least attained service): crates/node/elements/src/queue/stf.rs, with the same
// decisions. The element forgets all flows whose silence has timed out before it takes a packet. Here a packet forgets a few; the
// others count as forgotten, and are the first that make room for a new flow.

#ifndef SHORTFLOW_QDISC_STF_H
#define SHORTFLOW_QDISC_STF_H

#include "flows.h"
#include "ranking.h"

// Flows that a packet forgets at most, as it adds one at most.
#define FORGOTTEN_AT_ONCE 2

// Two rankings for each queue.
enum { STF_NEXT, STF_LAST, RANKINGS_OF_STF };

// What a queue knows of the flow of a packet that comes.
struct stf_asked {
	// None where it is not known.
	__u32 flow;
	__u32 is_admitted;
	__u64 served;
};

static __always_inline struct stf *stf_of(const struct plan *plan, struct machine *machine, __u32 queue)
{
	return &machine->stfs[plan->each[queue & (MAX_QUEUES - 1)].of_gate & (MAX_STFS - 1)];
}

static __always_inline const struct stf_plan *stf_plan_of(const struct plan *plan, __u32 queue)
{
	return &plan->stfs[plan->each[queue & (MAX_QUEUES - 1)].of_gate & (MAX_STFS - 1)];
}

static __always_inline int has_timed_out(const struct stf_plan *plan, const struct flow *flow, __u64 now)
{
	return !flow->packets.count && now > flow->silent_since && now - flow->silent_since > plan->idle_timeout;
}

static __always_inline void forget_longest_silent(struct machine *machine, struct stf *stf)
{
	__u32 number = stf->silent.head;

	unlink(&stf->silent, number, among_flows);
	forget_flow(machine, number);
	stf->flows--;
}

static __always_inline void stay_silent(struct stf *stf, struct flow *flow, __u32 number, __u64 now)
{
	flow->silent_since = now;
	link_last(&stf->silent, number, among_flows);
}

static __always_inline void fall_silent(struct stf *stf, struct flow *flow, __u32 number, __u64 now)
{
	remove_rank(&stf->next, number);
	remove_rank(&stf->last, number);
	stay_silent(stf, flow, number, now);
}

// Flows rank by what has left of them, then by the number of their first packet.
static __always_inline void rank_flow(struct stf *stf, const struct flow *flow, __u32 number, __u64 packet)
{
	struct rank next = { .parts = { flow->served, packet } }, last = { .parts = { ~flow->served, ~packet } };

	set_rank(&stf->next, number, &next);
	set_rank(&stf->last, number, &last);
}

// Asks for the flow of a packet that comes.
APART int stf_ask(const struct plan *plan, struct machine *machine, const struct arrival *arrival, __u64 now,
		  struct stf_asked *asked)
{
	const struct stf_plan *of;
	struct flow *flow;
	struct stf *stf;
	int i;

	if (!plan || !machine || !arrival || !asked)
		return 0;
	of = stf_plan_of(plan, arrival->queue);
	stf = stf_of(plan, machine, arrival->queue);
	EACH(i, FORGOTTEN_AT_ONCE) {
		flow = stf->silent.count ? flow_at(stf->silent.head) : 0;
		if (!flow || !has_timed_out(of, flow, now))
			break;
		forget_longest_silent(machine, stf);
	}
	asked->flow = known_flow(machine, &arrival->key);
	flow = flow_at(asked->flow);
	asked->served = flow && !has_timed_out(of, flow, now) ? flow->served : 0;
	asked->is_admitted = flow || stf->flows < of->max_flows || stf->silent.count;
	return 0;
}

// Takes the newest packet from the flow that has sent most, if that is more than `served`: its place.
APART __u32 stf_lose(const struct plan *plan, struct machine *machine, __u32 queue, __u64 served, __u64 now)
{
	struct waiting *waiting;
	struct ranked *first;
	__u32 number, place;
	struct flow *flow;
	struct stf *stf;

	if (!plan || !machine)
		return NONE;
	stf = stf_of(plan, machine, queue);
	first = first_of(&stf->last);
	if (!first || ~first->rank.parts[0] <= served)
		return NONE;
	number = first->flow;
	flow = flow_at(number);
	if (!flow || !flow->packets.count)
		return NONE;
	place = flow->packets.tail;
	waiting = waiting_at(place);
	if (!waiting)
		return NONE;
	take_out(&flow->packets, place, waiting, in_flow);
	if (!flow->packets.count)
		fall_silent(stf, flow, number, now);
	return place;
}

// The flow of a packet that joins, which is remembered from now on; none where there is no room for it.
APART __u32 stf_enter(const struct plan *plan, struct machine *machine, const struct arrival *arrival, __u64 now,
		      const struct stf_asked *asked)
{
	__u32 number;
	struct flow *flow;
	struct stf *stf;

	if (!plan || !machine || !arrival || !asked)
		return NONE;
	stf = stf_of(plan, machine, arrival->queue);
	number = asked->flow;
	if (number == NONE) {
		if (stf->flows >= stf_plan_of(plan, arrival->queue)->max_flows)
			forget_longest_silent(machine, stf);
		number = add_flow(machine, &arrival->key);
		flow = flow_at(number);
		if (!flow)
			return NONE;
		stf->flows++;
		stay_silent(stf, flow, number, now);
	}
	flow = flow_at(number);
	if (flow)
		flow->served = asked->served;
	return number;
}

// Puts a packet of a flow behind the others.
APART int stf_hold(const struct plan *plan, struct machine *machine, __u32 queue, __u32 number, __u32 place)
{
	struct waiting *waiting = waiting_at(place);
	struct flow *flow = flow_at(number);
	struct stf *stf;

	if (!plan || !machine || !waiting || !flow)
		return 0;
	stf = stf_of(plan, machine, queue);
	waiting->flow = number;
	waiting->number = stf->taken++;
	push_back(&flow->packets, place, waiting, in_flow);
	if (flow->packets.count > 1)
		return 0;
	unlink(&stf->silent, number, among_flows);
	rank_flow(stf, flow, number, waiting->number);
	return 0;
}

// Takes the oldest packet from the flow that has sent the least: its place.
APART __u32 stf_serve(const struct plan *plan, struct machine *machine, __u32 queue, __u64 now)
{
	struct waiting *waiting;
	__u32 number, place;
	struct flow *flow;
	struct stf *stf;

	if (!plan || !machine)
		return NONE;
	stf = stf_of(plan, machine, queue);
	waiting = oldest_of_first(&stf->next, &number, &flow);
	if (!waiting || !flow)
		return NONE;
	place = flow->packets.head;
	take_out(&flow->packets, place, waiting, in_flow);
	flow->served += waiting->size;
	waiting = flow->packets.count ? waiting_at(flow->packets.head) : 0;
	if (waiting)
		rank_flow(stf, flow, number, waiting->number);
	else
		fall_silent(stf, flow, number, now);
	return place;
}

static __always_inline void forget_stfs(struct machine *machine)
{
	int i;

	EACH(i, MAX_STFS) {
		struct stf *stf = &machine->stfs[i & (MAX_STFS - 1)];

		*stf = (struct stf){};
		stf->next.rankings = stf->last.rankings = machine->rankings;
		stf->next.number = RANKINGS_OF_STF * i + STF_NEXT;
		stf->next.of_flow = STF_NEXT;
		stf->last.number = RANKINGS_OF_STF * i + STF_LAST;
		stf->last.of_flow = STF_LAST;
	}
}

#endif
