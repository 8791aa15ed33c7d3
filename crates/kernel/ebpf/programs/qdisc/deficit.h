// Turns by bytes: crates/node/elements/src/scheduler/deficit_round_robin.rs. Where the element goes round until a class has paid
// its debt, the rounds in which none has are added at once here: so a packet costs at most two rounds of steps.

#ifndef SHORTFLOW_QDISC_DEFICIT_H
#define SHORTFLOW_QDISC_DEFICIT_H

#include "plan.h"

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

// Nothing waited: no class owes others anything.
static __always_inline void forgive_debts(struct machine *machine)
{
	int i;

	EACH(i, MAX_QUEUES)
		if (machine->deficits[i & (MAX_QUEUES - 1)] < 0)
			machine->deficits[i & (MAX_QUEUES - 1)] = 0;
}

// The rounds, each a quantum more for each class, after which still none may send.
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

// The class whose packet is next; at least one has some (Shreedhar & Varghese 1995, section 3).
static __always_inline __u32 turn_by_bytes(const struct plan *plan, struct machine *machine)
{
	__u32 turn;
	int i;

	EACH(i, 2 * MAX_QUEUES + 2) {
		__s64 *deficit;
		int has_packets;

		turn = machine->turn & (MAX_QUEUES - 1);
		deficit = &machine->deficits[turn];
		has_packets = plan->each[turn].weight && occupied_from(plan, machine, turn);
		if (has_packets && *deficit > 0)
			return turn;
		if (!has_packets && *deficit > 0)
			*deficit = 0;
		// All had their turn.
		if (i == (int)plan->queues)
			skip_rounds(plan, machine);
		turn = turn + 1 >= plan->queues ? 0 : turn + 1;
		machine->turn = turn;
		machine->deficits[turn & (MAX_QUEUES - 1)] += plan->each[turn & (MAX_QUEUES - 1)].weight;
	}
	return lowest(machine->occupied);
}

#endif
