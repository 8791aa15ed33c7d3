// Classes in turn, by packets and by bytes: crates/node/elements/src/scheduler/weighted_round_robin.rs and deficit_round_robin.rs.
// Where the latter goes round until a class has paid its debt, the rounds in which none has are added at once here: so a packet
// costs at most two rounds of steps.

#ifndef SHORTFLOW_QDISC_TURNS_H
#define SHORTFLOW_QDISC_TURNS_H

#include "plan.h"

// What one packet has asked for so far: a class that had packets may have dropped all of them.
struct round {
	// Classes in a row that had none.
	__u32 silent;
};

static __always_inline __u32 lowest(__u64 bits_set)
{
	return bits(bits_set & -bits_set) - 1;
}

// The queues of a class with packets, a bit each from the lowest on.
static __always_inline __u64 occupied_from(const struct plan *plan, const struct machine *machine, __u32 number)
{
	__u64 occupied = machine->occupied >> (number & (MAX_QUEUES - 1));

	return plan->each[number & (MAX_QUEUES - 1)].gate == GATE_SIMA ? occupied & 3 : occupied & 1;
}

// The first queue of the class after this one.
static __always_inline __u32 class_after(const struct plan *plan, __u32 turn)
{
	turn += plan->each[turn & (MAX_QUEUES - 1)].gate == GATE_SIMA ? BUFFERS : 1;
	return turn < plan->queues ? turn & (MAX_QUEUES - 1) : 0;
}

// Nothing waited: no class owes others anything.
static __always_inline void forgive_debts(struct machine *machine)
{
	int i;

	EACH(i, MAX_QUEUES)
		if (machine->deficits[i & (MAX_QUEUES - 1)] < 0)
			machine->deficits[i & (MAX_QUEUES - 1)] = 0;
}

// The rounds, each a quantum more for each class, after which still none may send; one at least has packets.
static __always_inline void skip_rounds(const struct plan *plan, struct machine *machine)
{
	__u64 rounds = ~0ULL;
	int i;

	EACH(i, MAX_QUEUES) {
		__u32 class = i & (MAX_QUEUES - 1), quantum = plan->each[class].weight;

		if (quantum && occupied_from(plan, machine, class)) {
			__u64 possible = (__u64)-machine->deficits[class] / quantum;

			rounds = possible < rounds ? possible : rounds;
		}
	}
	EACH(i, MAX_QUEUES) {
		__u32 class = i & (MAX_QUEUES - 1);
		__s64 *deficit = &machine->deficits[class];

		*deficit += (__s64)(rounds * plan->each[class].weight);
		// What a class has left of a turn without packets, it loses.
		if (*deficit > 0 && !occupied_from(plan, machine, class))
			*deficit = 0;
	}
}

// The class whose packet is next (Shreedhar & Varghese 1995, section 3); none where none has packets.
static __always_inline __u32 turn_by_bytes(const struct plan *plan, struct machine *machine, struct round *round)
{
	__u32 turn;
	int i;

	EACH(i, 2 * MAX_QUEUES + 2) {
		__s64 *deficit;

		if (round->silent > plan->classes)
			break;
		turn = machine->turn & (MAX_QUEUES - 1);
		deficit = &machine->deficits[turn];
		if (occupied_from(plan, machine, turn)) {
			if (*deficit > 0)
				return turn;
			round->silent = 0;
		} else {
			round->silent++;
			if (*deficit > 0)
				*deficit = 0;
		}
		// All had their turn.
		if (i == (int)plan->queues && machine->occupied)
			skip_rounds(plan, machine);
		turn = class_after(plan, turn);
		machine->turn = turn;
		machine->deficits[turn & (MAX_QUEUES - 1)] += plan->each[turn & (MAX_QUEUES - 1)].weight;
	}
	return NONE;
}

// The class whose packet is next, each as many packets as its weight (Katevenis et al. 1991); none where none has packets. The first is
// asked once more at its next turn.
static __always_inline __u32 turn_by_packets(const struct plan *plan, struct machine *machine, struct round *round)
{
	__u32 turn;
	int i;

	EACH(i, MAX_QUEUES + 1) {
		turn = machine->turn & (MAX_QUEUES - 1);
		if (round->silent > plan->classes)
			break;
		if (machine->left && occupied_from(plan, machine, turn))
			return turn;
		round->silent++;
		turn = class_after(plan, turn);
		machine->turn = turn;
		machine->left = plan->each[turn & (MAX_QUEUES - 1)].weight;
	}
	return NONE;
}

#endif
