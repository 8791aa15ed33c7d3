// Pools of numbers, and lists of places and of flows.

#ifndef SHORTFLOW_QDISC_LISTS_H
#define SHORTFLOW_QDISC_LISTS_H

#include "plan.h"

// Where what has a number keeps its neighbours in a list.
typedef struct link *linked(__u32);

static __always_inline struct link *in_queue(__u32 place)
{
	struct waiting *waiting = waiting_at(place);

	return waiting ? &waiting->in_queue : 0;
}

static __always_inline struct link *in_flow(__u32 place)
{
	struct waiting *waiting = waiting_at(place);

	return waiting ? &waiting->in_flow : 0;
}

static __always_inline struct link *among_flows(__u32 number)
{
	struct flow *flow = flow_at(number);

	return flow ? &flow->link : 0;
}

static __always_inline void empty(struct pool *pool)
{
	pool->free = NONE;
	pool->fresh = 0;
}

static __always_inline int has_number(const struct pool *pool)
{
	return pool->free != NONE || pool->fresh < pool->all;
}

// A number; none where all are in use.
static __always_inline __u32 take_number(struct pool *pool, linked *by)
{
	struct link *link;
	__u32 number = pool->free;

	if (number != NONE) {
		link = by(number);
		if (!link)
			return NONE;
		pool->free = link->next;
		return number;
	}
	if (pool->fresh >= pool->all)
		return NONE;
	return pool->fresh++;
}

static __always_inline void free_number(struct pool *pool, __u32 number, linked *by)
{
	struct link *link = by(number);

	if (!link)
		return;
	link->next = pool->free;
	pool->free = number;
}

static __always_inline void free_place(struct machine *machine, __u32 place)
{
	free_number(&machine->places, place, in_queue);
}

static __always_inline void link_last(struct list *list, __u32 number, linked *by)
{
	struct link *link = by(number), *last = list->count ? by(list->tail) : 0;

	if (!link)
		return;
	link->next = NONE;
	link->previous = last ? list->tail : NONE;
	if (last)
		last->next = number;
	else
		list->head = number;
	list->tail = number;
	list->count++;
}

static __always_inline void unlink(struct list *list, __u32 number, linked *by)
{
	struct link *link = by(number), *next, *previous;

	if (!link || !list->count)
		return;
	next = link->next == NONE ? 0 : by(link->next);
	previous = link->previous == NONE ? 0 : by(link->previous);
	if (previous)
		previous->next = link->next;
	else
		list->head = link->next;
	if (next)
		next->previous = link->previous;
	else
		list->tail = link->previous;
	list->count--;
}

static __always_inline void push_back(struct list *list, __u32 place, const struct waiting *waiting, linked *by)
{
	link_last(list, place, by);
	list->bytes += waiting->size;
}

static __always_inline void take_out(struct list *list, __u32 place, const struct waiting *waiting, linked *by)
{
	unlink(list, place, by);
	list->bytes -= waiting->size;
}

// Puts all of one list of packets behind another.
static __always_inline void append(struct list *list, struct list *more)
{
	struct link *last, *first;

	if (!more->count)
		return;
	first = in_queue(more->head);
	last = list->count ? in_queue(list->tail) : 0;
	if (last && first) {
		last->next = more->head;
		first->previous = list->tail;
	} else {
		list->head = more->head;
	}
	list->tail = more->tail;
	list->count += more->count;
	list->bytes += more->bytes;
	more->count = 0;
	more->bytes = 0;
}

#endif
