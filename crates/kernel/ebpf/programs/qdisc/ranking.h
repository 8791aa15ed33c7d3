// Flows in an order that changes: the binary heap of crates/node/elements/src/queue/ranking.rs, which leaves flows of equal rank in
// the same order. Rankings are interlaced in one array, so that each may grow until the array ends.

#ifndef SHORTFLOW_QDISC_RANKING_H
#define SHORTFLOW_QDISC_RANKING_H

#include "plan.h"

// The steps from the first flow to the last one, of at most 2^20.
#define MAX_STEPS 20

static __always_inline int is_before(const struct rank *one, const struct rank *other)
{
	if (one->parts[0] != other->parts[0])
		return one->parts[0] < other->parts[0];
	if (one->parts[1] != other->parts[1])
		return one->parts[1] < other->parts[1];
	return one->parts[2] < other->parts[2];
}

static __always_inline struct ranked *entry_at(const struct ranking *ranking, __u32 place)
{
	return ranked_at(place * ranking->rankings + ranking->number);
}

static __always_inline __u32 *place_in(const struct ranking *ranking, struct flow *flow)
{
	return &flow->places[ranking->of_flow & (RANKINGS_OF_FLOW - 1)];
}

// The entry of the first flow; 0 where there is no flow.
static __always_inline struct ranked *first_of(const struct ranking *ranking)
{
	return ranking->count ? entry_at(ranking, 0) : 0;
}

static __always_inline void put_entry(const struct ranking *ranking, __u32 place, const struct ranked *entry)
{
	struct ranked *there = entry_at(ranking, place);
	struct flow *flow = flow_at(entry->flow);

	if (!there || !flow)
		return;
	*there = *entry;
	*place_in(ranking, flow) = place + 1;
}

// Puts an entry where it belongs, at a place or before it.
APART int rise(const struct ranking *ranking, __u32 place, const struct ranked *moved)
{
	struct ranked *parent;
	int i;

	if (!ranking || !moved)
		return 0;
	EACH(i, MAX_STEPS) {
		parent = place ? entry_at(ranking, (place - 1) / 2) : 0;
		if (!parent || !is_before(&moved->rank, &parent->rank))
			break;
		put_entry(ranking, place, parent);
		place = (place - 1) / 2;
	}
	put_entry(ranking, place, moved);
	return 0;
}

// Puts an entry where it belongs, at a place or behind it.
APART int sink(const struct ranking *ranking, __u32 place, const struct ranked *moved)
{
	struct ranked *child, *other;
	__u32 at;
	int i;

	if (!ranking || !moved)
		return 0;
	EACH(i, MAX_STEPS) {
		at = 2 * place + 1;
		child = at < ranking->count ? entry_at(ranking, at) : 0;
		if (!child)
			break;
		other = at + 1 < ranking->count ? entry_at(ranking, at + 1) : 0;
		if (other && is_before(&other->rank, &child->rank)) {
			child = other;
			at++;
		}
		if (!is_before(&child->rank, &moved->rank))
			break;
		put_entry(ranking, place, child);
		place = at;
	}
	put_entry(ranking, place, moved);
	return 0;
}

// Sets the rank of a flow, and adds it where it is new.
static __always_inline void set_rank(struct ranking *ranking, __u32 number, const struct rank *rank)
{
	struct ranked moved = { .rank = *rank, .flow = number }, *there;
	struct flow *flow = flow_at(number);
	__u32 place;

	if (!flow)
		return;
	place = *place_in(ranking, flow);
	if (!place) {
		rise(ranking, ranking->count++, &moved);
		return;
	}
	there = entry_at(ranking, place - 1);
	if (!there)
		return;
	if (is_before(rank, &there->rank))
		rise(ranking, place - 1, &moved);
	else
		sink(ranking, place - 1, &moved);
}

// Removes a flow, if it is there.
static __always_inline void remove_rank(struct ranking *ranking, __u32 number)
{
	struct ranked *removed, *last, moved;
	struct flow *flow = flow_at(number);
	__u32 place;

	place = flow ? *place_in(ranking, flow) : 0;
	if (!place || !ranking->count)
		return;
	*place_in(ranking, flow) = 0;
	removed = entry_at(ranking, place - 1);
	last = entry_at(ranking, --ranking->count);
	if (!removed || !last || place - 1 == ranking->count)
		return;
	moved = *last;
	if (is_before(&moved.rank, &removed->rank))
		rise(ranking, place - 1, &moved);
	else
		sink(ranking, place - 1, &moved);
}

// The oldest packet of the first flow; 0 where there is none.
static __always_inline struct waiting *oldest_of_first(const struct ranking *ranking, __u32 *number, struct flow **flow)
{
	struct ranked *first = first_of(ranking);

	*number = first ? first->flow : NONE;
	*flow = flow_at(*number);
	return *flow && (*flow)->packets.count ? waiting_at((*flow)->packets.head) : 0;
}

#endif
