// Places for packets, and lists of them.

#ifndef SHORTFLOW_QDISC_LISTS_H
#define SHORTFLOW_QDISC_LISTS_H

#include "plan.h"

// A place for a packet; none where all are in use.
static __always_inline __u32 take_place(struct machine *machine)
{
	struct waiting *waiting;
	__u32 place = machine->free;

	if (place != NONE) {
		waiting = waiting_at(place);
		if (!waiting)
			return NONE;
		machine->free = waiting->next;
		return place;
	}
	if (machine->fresh >= machine->places)
		return NONE;
	return machine->fresh++;
}

static __always_inline int has_place(const struct machine *machine)
{
	return machine->free != NONE || machine->fresh < machine->places;
}

static __always_inline void free_place(struct machine *machine, __u32 place)
{
	struct waiting *waiting = waiting_at(place);

	if (!waiting)
		return;
	waiting->next = machine->free;
	machine->free = place;
}

static __always_inline void push_back(struct list *list, __u32 place, struct waiting *waiting)
{
	struct waiting *last = list->packets ? waiting_at(list->tail) : 0;

	waiting->next = NONE;
	waiting->previous = last ? list->tail : NONE;
	if (last)
		last->next = place;
	else
		list->head = place;
	list->tail = place;
	list->packets++;
	list->bytes += waiting->size;
}

static __always_inline __u32 pop_front(struct list *list)
{
	__u32 place = list->head;
	struct waiting *waiting, *next;

	if (!list->packets)
		return NONE;
	waiting = waiting_at(place);
	if (!waiting)
		return NONE;
	list->head = waiting->next;
	list->packets--;
	list->bytes -= waiting->size;
	next = list->packets ? waiting_at(list->head) : 0;
	if (next)
		next->previous = NONE;
	return place;
}

static __always_inline __u32 pop_back(struct list *list)
{
	__u32 place = list->tail;
	struct waiting *waiting, *previous;

	if (!list->packets)
		return NONE;
	waiting = waiting_at(place);
	if (!waiting)
		return NONE;
	list->tail = waiting->previous;
	list->packets--;
	list->bytes -= waiting->size;
	previous = list->packets ? waiting_at(list->tail) : 0;
	if (previous)
		previous->next = NONE;
	return place;
}

// Puts all of one list behind another.
static __always_inline void append(struct list *list, struct list *more)
{
	struct waiting *last, *first;

	if (!more->packets)
		return;
	first = waiting_at(more->head);
	last = list->packets ? waiting_at(list->tail) : 0;
	if (last && first) {
		last->next = more->head;
		first->previous = list->tail;
	} else {
		list->head = more->head;
	}
	list->tail = more->tail;
	list->packets += more->packets;
	list->bytes += more->bytes;
	more->packets = 0;
	more->bytes = 0;
}

#endif
