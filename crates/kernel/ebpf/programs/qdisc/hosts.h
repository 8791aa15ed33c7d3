// Which queue a flow has, and what its hosts have to send: crates/node/elements/src/queue/host_fair. Hosts are among the flows that
// queues remember.

#ifndef SHORTFLOW_QDISC_HOSTS_H
#define SHORTFLOW_QDISC_HOSTS_H

#include "../hash.h"
#include "flows.h"

// The queues that a flow's hash allows, where hosts share the link fairly.
#define WAYS 8

// As which protocol the hosts of a side are known among flows.
enum { SENDING_HOST = 256, RECEIVING_HOST };

static __always_inline const struct fq_plan *fq_plan_of(const struct plan *plan, __u32 queue)
{
	return &plan->fqs[plan->each[queue & (MAX_QUEUES - 1)].of_gate & (MAX_FQS - 1)];
}

static __always_inline struct fq *fq_of(const struct plan *plan, struct machine *machine, __u32 queue)
{
	return &machine->fqs[plan->each[queue & (MAX_QUEUES - 1)].of_gate & (MAX_FQS - 1)];
}

// Whether a queue of flows ever had a packet.
static __always_inline int is_known(const struct machine *machine, const struct flow_queue *queue)
{
	return queue->epoch == machine->epoch;
}

static __always_inline void know(const struct machine *machine, struct flow_queue *queue)
{
	if (!is_known(machine, queue))
		*queue = (struct flow_queue){ .epoch = machine->epoch };
}

static __always_inline __u64 hash_of_address(const __u64 *address, __u64 seed)
{
	return mix(mix(seed ^ address[0]) ^ address[1]);
}

static __always_inline __u64 hash_of(const struct flow_key *key, __u64 seed)
{
	__u64 rest = (__u64)key->source_port << 32 | (__u64)key->destination_port << 16, addresses;

	if (is_ipv4(key->source) && is_ipv4(key->destination))
		addresses = mix(seed ^ (key->source[1] << 32 | (__u32)key->destination[1]));
	else
		addresses = hash_of_address(key->destination, hash_of_address(key->source, seed));
	return mix(addresses ^ rest ^ key->protocol);
}

static __always_inline int is_same_key(const struct flow_key *a, const struct flow_key *b)
{
	return a->source[0] == b->source[0] && a->source[1] == b->source[1] && a->destination[0] == b->destination[0] &&
	       a->destination[1] == b->destination[1] && a->source_port == b->source_port &&
	       a->destination_port == b->destination_port && a->protocol == b->protocol;
}

// The queue of a flow among eight: its own one, else a free one, else its home, which it shares then. While flows share a queue, a
// flow with this home goes nowhere else, since its packets may wait there.
static __always_inline __u32 queue_among_ways(struct machine *machine, const struct flow_key *key, __u32 home)
{
	__u32 first = home & ~(WAYS - 1), free = NONE;
	struct flow_queue *queue;
	int is_shared;

	for (__u32 way = 0; way < WAYS; way++) {
		queue = flow_queue_at(first + way);
		if (!queue)
			return NONE;
		if (is_known(machine, queue) && is_same_key(&queue->key, key))
			return first + way;
		if (free == NONE && (!is_known(machine, queue) || queue->listed == UNLISTED))
			free = first + way;
	}
	queue = flow_queue_at(home);
	if (!queue)
		return NONE;
	is_shared = is_known(machine, queue) && queue->has_guests;
	if (free == NONE || is_shared) {
		know(machine, queue);
		queue->has_guests = 1;
		return home;
	}
	queue = flow_queue_at(free);
	if (!queue)
		return NONE;
	know(machine, queue);
	queue->key = *key;
	queue->codel = (struct codel){};
	queue->blue = (struct blue){};
	return free;
}

// The queue of a packet that comes, by a hash that nobody outside can predict.
APART __u32 fq_choose(const struct plan *plan, struct machine *machine, const struct arrival *arrival)
{
	const struct fq_plan *of;
	struct flow_queue *queue;
	__u32 home;

	if (!plan || !machine || !arrival)
		return NONE;
	of = fq_plan_of(plan, arrival->queue);
	home = wide_product(hash_of(&arrival->key, fq_of(plan, machine, arrival->queue)->seed), of->queues).high;
	home += of->first;
	if (of->fairness != FAIR_AMONG_FLOWS)
		return queue_among_ways(machine, &arrival->key, home);
	queue = flow_queue_at(home);
	if (!queue)
		return NONE;
	know(machine, queue);
	return home;
}

// The number of a host that has one more listed queue; none where there is no room for it.
static __always_inline __u32 enter_host(const struct fq_plan *of, struct machine *machine, const __u64 *address, __u32 side,
					__u32 queue)
{
	struct flow_key key = { .protocol = side, .queue = queue };
	struct flow *host;
	__u32 number;

	name_host(key.source, address, of->ipv6_mask);
	number = known_flow(machine, &key);
	if (number == NONE)
		number = add_flow(machine, &key);
	host = flow_at(number);
	if (host)
		host->listed++;
	return number;
}

static __always_inline void leave_host(struct machine *machine, __u32 number)
{
	struct flow *host = flow_at(number);

	if (!host)
		return;
	host->listed--;
	if (!host->listed)
		forget_flow(machine, number);
}

// The queues of a host that always have something to send.
static __always_inline __u32 bulk_of(__u32 number)
{
	const struct flow *host = flow_at(number);

	return host ? host->bulk : 0;
}

static __always_inline void count_bulk(const struct fq_plan *of, const struct flow_queue *queue, __u32 change)
{
	struct flow *host;

	if (of->fairness == FAIR_AMONG_FLOWS)
		return;
	host = flow_at(queue->source);
	if (host)
		host->bulk += change;
	host = flow_at(queue->destination);
	if (host)
		host->bulk += change;
}

// What a queue may send in its turn: the quantum in parts, as many as its host has queues that always send.
static __always_inline __u64 turn_of(const struct fq_plan *of, const struct flow_queue *queue)
{
	__u32 sending = 0, receiving = 0, load;
	__u64 quantum;

	if (of->fairness == FAIR_AMONG_FLOWS)
		return of->quantum;
	if (of->fairness != FAIR_AMONG_DESTINATIONS)
		sending = bulk_of(queue->source);
	if (of->fairness != FAIR_AMONG_SOURCES)
		receiving = bulk_of(queue->destination);
	load = sending > receiving ? sending : receiving;
	quantum = load > 1 ? of->quantum / load : of->quantum;
	return quantum ? quantum : 1;
}

#endif
