// The flows that queues remember, in one table: a number for each key. Who includes this keeps the keys in a table of its own,
// which compares whole keys under a hash that nobody outside can predict.
//
// To forget all flows takes one step: they are of an earlier epoch from then on. Their keys are dropped as their numbers are used
// again, so that there are never more keys than numbers.

#ifndef SHORTFLOW_QDISC_FLOWS_H
#define SHORTFLOW_QDISC_FLOWS_H

#include "lists.h"

// The number of the flow with this key; none where it is not known.
static __always_inline __u32 known_flow(const struct machine *machine, const struct flow_key *key)
{
	__u32 number = find_flow(key);
	struct flow *flow = flow_at(number);

	return flow && flow->epoch == machine->epoch ? number : NONE;
}

// A number for a flow that is not known; none where all are in use.
static __always_inline __u32 add_flow(struct machine *machine, const struct flow_key *key)
{
	__u32 number = take_number(&machine->flows, among_flows);
	struct flow *flow = flow_at(number);

	if (!flow)
		return NONE;
	if (flow->epoch && find_flow(&flow->key) == number)
		drop_flow(&flow->key);
	*flow = (struct flow){ .key = *key, .epoch = machine->epoch };
	if (keep_flow(key, number)) {
		flow->epoch = 0;
		free_number(&machine->flows, number, among_flows);
		return NONE;
	}
	return number;
}

static __always_inline void forget_flow(struct machine *machine, __u32 number)
{
	struct flow *flow = flow_at(number);

	if (!flow)
		return;
	drop_flow(&flow->key);
	flow->epoch = 0;
	free_number(&machine->flows, number, among_flows);
}

static __always_inline void forget_all_flows(struct machine *machine)
{
	machine->epoch++;
	empty(&machine->flows);
}

#endif
