// The core node of SIMA: crates/node/elements/src/queue/sima.rs, bit for bit.

#ifndef SHORTFLOW_QDISC_SIMA_H
#define SHORTFLOW_QDISC_SIMA_H

#include "../real.h"
#include "../sima.h"
#include "plan.h"

// Whether a packet joins its buffer, which is a queue of a pair: a reason why not, or `REASONS`.
static __always_inline __u32 sima_admits(const struct plan *plan, struct machine *machine, const struct queue_plan *queue,
					 const struct arrival *arrival)
{
	const struct sima_plan *sima = &plan->simas[queue->of_gate & (MAX_SIMAS - 1)];
	struct sima *state = &machine->simas[queue->of_gate & (MAX_SIMAS - 1)];
	__u8 place = sima->place_of[arrival->code_point & 63];
	__u64 held[BUFFERS], bytes = 0;

	for (__u32 i = 0; i < BUFFERS; i++) {
		__u64 waiting = machine->queues[(queue->first + i) & (MAX_QUEUES - 1)].bytes;

		state->averages[i] = real_mixed(state->averages[i], real_of(waiting), sima->weights[i]);
		held[i] = real_floor(state->averages[i]);
		bytes = i == place / 8 ? waiting : bytes;
	}
	if (place % 8 < allowed_precedence(sima->map, held, sima->limits))
		return FORCED;
	return has_room(queue->limit, 1, 0, bytes, arrival->size) ? REASONS : OVERLIMIT;
}

#endif
