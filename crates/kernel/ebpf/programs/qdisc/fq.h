// A queue for each flow, served in turn, new flows first (RFC 8290 section 4): crates/node/elements/src/queue/flow_queues.rs, with the
// same decisions. Where the element goes round until a queue has paid its debt, the rounds in which none has are added at once here:
// so a packet costs a few rounds of steps at most.

#ifndef SHORTFLOW_QDISC_FQ_H
#define SHORTFLOW_QDISC_FQ_H

#include "codel.h"
#include "hosts.h"

// Packets that a queue loses at once where the limit is reached (RFC 8290 section 4.1).
#define MAX_LOST 64
// The steps to the next packet, at most: a few for each queue.
#define MAX_STEPS_IN_TURN (8 * MAX_FLOW_QUEUES)
#define SHARE_BITS 16

// How far a queue is with the next packet.
struct fq_turn {
	// The queue of flows whose turn it is; none between turns.
	__u32 flow;
	// Of CoDel.
	__u32 stage;
	__u32 place;
	// How many queues in a row were in debt, and whether rounds were added for those.
	__u32 in_debt, has_skipped;
};

// A queue that loses packets, and how many more it does.
struct fq_losing {
	__u32 flow, left;
};

static __always_inline struct link *among_queues(__u32 number)
{
	struct flow_queue *queue = flow_queue_at(number);

	return queue ? &queue->link : 0;
}

// The queue that is served next; none where none is listed.
static __always_inline __u32 first_listed(const struct fq *fq)
{
	if (fq->fresh.count)
		return fq->fresh.head;
	return fq->old.count ? fq->old.head : NONE;
}

static __always_inline __u32 listed_after(const struct fq *fq, const struct flow_queue *queue)
{
	if (queue->link.next != NONE || queue->listed != FRESH)
		return queue->link.next;
	return fq->old.count ? fq->old.head : NONE;
}

// A walk over the listed queues of a class, in the order in which they are served.
struct walk {
	const struct fq_plan *of;
	struct fq *fq;
	struct flow_queue *queue;
	__u32 number, next;
};

static __always_inline struct walk walk_of(const struct plan *plan, struct machine *machine, __u32 class)
{
	struct walk walk = { .of = fq_plan_of(plan, class), .fq = fq_of(plan, machine, class) };

	walk.next = first_listed(walk.fq);
	return walk;
}

// False behind the last queue.
static __always_inline int has_next(struct walk *walk)
{
	walk->number = walk->next;
	walk->queue = flow_queue_at(walk->number);
	if (!walk->queue)
		return 0;
	walk->next = listed_after(walk->fq, walk->queue);
	return 1;
}

// An old queue has no packet any more.
static __always_inline void rest_if_empty(const struct fq_plan *of, struct flow_queue *queue)
{
	if (queue->listed != OLD || queue->packets.count)
		return;
	queue->listed = RESTING;
	count_bulk(of, queue, -1);
}

static __always_inline void become_old(const struct fq_plan *of, struct fq *fq, struct flow_queue *queue, __u32 number)
{
	if (queue->listed == FRESH) {
		unlink(&fq->fresh, number, among_queues);
		queue->listed = queue->packets.count ? OLD : RESTING;
		if (queue->packets.count)
			count_bulk(of, queue, 1);
	} else {
		unlink(&fq->old, number, among_queues);
	}
	link_last(&fq->old, number, among_queues);
}

// A queue without packets is in no list any more.
static __always_inline void leave_lists(const struct fq_plan *of, struct machine *machine, struct fq *fq, struct flow_queue *queue,
					__u32 number)
{
	unlink(&fq->old, number, among_queues);
	queue->listed = UNLISTED;
	queue->has_guests = 0;
	if (of->fairness == FAIR_AMONG_FLOWS)
		return;
	leave_host(machine, queue->source);
	leave_host(machine, queue->destination);
}

// Takes the oldest packet of a queue: its place.
static __always_inline __u32 take_oldest(struct fq *fq, struct flow_queue *queue)
{
	__u32 place = queue->packets.head;
	struct waiting *waiting = queue->packets.count ? waiting_at(place) : 0;

	if (!waiting)
		return NONE;
	take_out(&queue->packets, place, waiting, in_flow);
	if (!queue->packets.count)
		fq->flows--;
	return place;
}

// Puts a packet behind the others of its queue.
APART int fq_hold(const struct plan *plan, struct machine *machine, __u32 class, __u32 number, __u32 place)
{
	struct flow_queue *queue = flow_queue_at(number);
	struct waiting *waiting = waiting_at(place);
	const struct fq_plan *of;
	struct fq *fq;

	if (!plan || !machine || !queue || !waiting)
		return 0;
	of = fq_plan_of(plan, class);
	fq = fq_of(plan, machine, class);
	waiting->flow = number;
	push_back(&queue->packets, place, waiting, in_flow);
	if (queue->packets.count == 1)
		fq->flows++;
	if (queue->listed == RESTING) {
		queue->listed = OLD;
		count_bulk(of, queue, 1);
	}
	if (queue->listed != UNLISTED)
		return 0;
	if (of->fairness != FAIR_AMONG_FLOWS) {
		queue->source = enter_host(of, machine, queue->key.source, SENDING_HOST, class);
		queue->destination = enter_host(of, machine, queue->key.destination, RECEIVING_HOST, class);
	}
	queue->listed = FRESH;
	queue->deficit = turn_of(of, queue);
	link_last(&fq->fresh, number, among_queues);
	return 0;
}

// What queues with packets may send in their turns, together.
APART __u64 fq_turns(const struct plan *plan, struct machine *machine, __u32 class)
{
	struct walk walk;
	__u64 turns = 0;
	int i;

	if (!plan || !machine)
		return 0;
	walk = walk_of(plan, machine, class);
	EACH(i, MAX_FLOW_QUEUES) {
		if (!has_next(&walk))
			break;
		if (walk.queue->packets.count)
			turns += turn_of(walk.of, walk.queue);
	}
	return turns;
}

// The queue with the most bytes relative to its turn, the first of those that are equal. Under a limit in packets, queues that hold
// less than half of an equal part are exempt.
APART __u32 fq_fattest(const struct plan *plan, struct machine *machine, __u32 class)
{
	__u64 turn, turns, bytes = 0, turn_of_fattest = 1, packets;
	__u32 fattest = NONE, is_in_bytes;
	const struct list *own;
	struct walk walk;
	int i;

	if (!plan || !machine)
		return NONE;
	class &= MAX_QUEUES - 1;
	packets = machine->queues[class].count;
	is_in_bytes = plan->each[class].in_bytes;
	turns = is_in_bytes ? 0 : fq_turns(plan, machine, class);
	walk = walk_of(plan, machine, class);
	EACH(i, MAX_FLOW_QUEUES) {
		if (!has_next(&walk))
			break;
		own = &walk.queue->packets;
		if (!own->count)
			continue;
		turn = turn_of(walk.of, walk.queue);
		if (!is_in_bytes && wide_is_below(wide_product(2 * (__u64)own->count, turns), wide_product(packets, turn)))
			continue;
		if (fattest != NONE && !wide_is_below(wide_product(bytes, turn), wide_product(own->bytes, turn_of_fattest)))
			continue;
		fattest = walk.number;
		bytes = own->bytes;
		turn_of_fattest = turn;
	}
	return fattest;
}

// Takes the next packet that is lost because the limit is exceeded, half of a queue's at once: its place; none where it is not.
APART __u32 fq_lose(const struct plan *plan, struct machine *machine, __u32 class, __u64 now, struct fq_losing *losing)
{
	const struct queue_plan *own;
	const struct fq_plan *of;
	struct flow_queue *queue;
	struct list *all;
	__u32 place;

	if (!plan || !machine || !losing)
		return NONE;
	class &= MAX_QUEUES - 1;
	own = &plan->each[class];
	all = &machine->queues[class];
	of = fq_plan_of(plan, class);
	if (!losing->left) {
		if ((own->in_bytes ? all->bytes : all->count) <= own->limit)
			return NONE;
		losing->flow = fq_fattest(plan, machine, class);
	}
	queue = flow_queue_at(losing->flow);
	if (!queue)
		return NONE;
	if (!losing->left) {
		losing->left = (queue->packets.count + 1) / 2;
		if (losing->left > MAX_LOST)
			losing->left = MAX_LOST;
	}
	place = take_oldest(fq_of(plan, machine, class), queue);
	losing->left--;
	if (losing->left)
		return place;
	if (of->fairness != FAIR_AMONG_FLOWS)
		blue_overflowed(of, &queue->blue, now);
	rest_if_empty(of, queue);
	return place;
}

// How many rounds, each with a turn more for each queue, there are after which still none with packets may send; all queues are old.
APART __u64 fq_idle_rounds(const struct plan *plan, struct machine *machine, __u32 class)
{
	__u64 rounds = ~0ULL, possible;
	struct walk walk;
	int i;

	if (!plan || !machine)
		return 0;
	walk = walk_of(plan, machine, class);
	EACH(i, MAX_FLOW_QUEUES) {
		if (!has_next(&walk))
			break;
		possible = walk.queue->deficit > 0 ? 0 : (__u64)-walk.queue->deficit / turn_of(walk.of, walk.queue);
		if (walk.queue->packets.count && possible < rounds)
			rounds = possible;
	}
	return rounds;
}

// A queue has nothing to send in its turn.
static __always_inline void run_empty(const struct fq_plan *of, struct flow_queue *queue, __u32 stage, __u64 now)
{
	codel_ran_empty(&queue->codel, stage);
	if (of->fairness != FAIR_AMONG_FLOWS)
		blue_ran_empty(of, &queue->blue, now);
}

// Adds those rounds. Queues without packets that have paid their debt in fewer leave the lists meanwhile.
APART int fq_skip_rounds(const struct plan *plan, struct machine *machine, __u32 class, __u64 now)
{
	__u64 rounds, turn;
	__s64 deficit;
	struct walk walk;
	int i;

	if (!plan || !machine)
		return 0;
	rounds = fq_idle_rounds(plan, machine, class);
	walk = walk_of(plan, machine, class);
	EACH(i, MAX_FLOW_QUEUES) {
		if (!rounds || !has_next(&walk))
			break;
		turn = turn_of(walk.of, walk.queue);
		deficit = walk.queue->deficit;
		if (!walk.queue->packets.count && (deficit > 0 || (__u64)-deficit / turn < rounds)) {
			run_empty(walk.of, walk.queue, CODEL_FIRST, now);
			leave_lists(walk.of, machine, walk.fq, walk.queue, walk.number);
		} else {
			walk.queue->deficit += (__s64)(rounds * turn);
		}
	}
	return 0;
}

// What becomes of the oldest packet of the queue whose turn it is, whose place is that of the turn then.
APART __u32 fq_take(const struct plan *plan, struct machine *machine, __u32 class, __u64 now, struct fq_turn *turn)
{
	const struct waiting *waiting;
	const struct fq_plan *of;
	struct flow_queue *queue;
	__u32 verdict;
	int is_late;

	if (!plan || !machine || !turn)
		return ENDS;
	queue = flow_queue_at(turn->flow);
	if (!queue)
		return ENDS;
	of = fq_plan_of(plan, class);
	turn->place = take_oldest(fq_of(plan, machine, class), queue);
	waiting = waiting_at(turn->place);
	if (!waiting) {
		run_empty(of, queue, turn->stage, now);
		return ENDS;
	}
	is_late = codel_is_late(of, &queue->codel, waiting, queue->packets.bytes, now);
	verdict = codel_judge(of, &queue->codel, is_late, now, &turn->stage);
	if (verdict == SENDS && of->fairness != FAIR_AMONG_FLOWS && blue_drops(&queue->blue)) {
		turn->stage = CODEL_FIRST;
		return DROPS;
	}
	return verdict;
}

// Begins the turn of the next queue that may send; false where none is listed. In debt, it waits for another turn.
static __always_inline int fq_begin_turn(const struct plan *plan, struct machine *machine, __u32 class, __u64 now,
					 struct fq_turn *turn)
{
	const struct fq_plan *of = fq_plan_of(plan, class);
	struct fq *fq = fq_of(plan, machine, class);
	__u32 number = first_listed(fq);
	struct flow_queue *queue = flow_queue_at(number);

	if (!queue)
		return 0;
	if (queue->deficit > 0) {
		turn->flow = number;
		turn->stage = CODEL_FIRST;
		return 1;
	}
	queue->deficit += (__s64)turn_of(of, queue);
	become_old(of, fq, queue, number);
	turn->in_debt++;
	if (!turn->has_skipped && !fq->fresh.count && turn->in_debt >= fq->old.count) {
		turn->has_skipped = 1;
		fq_skip_rounds(plan, machine, class, now);
	}
	return 1;
}

// Ends the turn of a queue, which sends a packet or has none.
static __always_inline void fq_end_turn(const struct plan *plan, struct machine *machine, __u32 class, struct fq_turn *turn,
					int has_sent)
{
	const struct waiting *waiting = has_sent ? waiting_at(turn->place) : 0;
	struct flow_queue *queue = flow_queue_at(turn->flow);
	const struct fq_plan *of = fq_plan_of(plan, class);
	struct fq *fq = fq_of(plan, machine, class);

	if (!queue)
		return;
	rest_if_empty(of, queue);
	if (waiting)
		queue->deficit -= (__s64)waiting->size << SHARE_BITS;
	// A new queue that becomes empty is old for a turn: otherwise it could return as new at once, and starve the old ones.
	else if (queue->listed == FRESH)
		become_old(of, fq, queue, turn->flow);
	else
		leave_lists(of, machine, fq, queue, turn->flow);
	turn->flow = NONE;
}

// What becomes of the packet whose place is that of the turn then; where there is none, all queues are empty. It is asked again after
// each packet that it drops.
APART __u32 fq_serve(const struct plan *plan, struct machine *machine, __u32 class, __u64 now, struct fq_turn *turn)
{
	__u32 verdict;
	int i;

	if (!plan || !machine || !turn)
		return ENDS;
	EACH(i, MAX_STEPS_IN_TURN) {
		if (turn->flow == NONE) {
			if (!fq_begin_turn(plan, machine, class, now, turn))
				return ENDS;
			continue;
		}
		verdict = fq_take(plan, machine, class, now, turn);
		if (verdict == DROPS) {
			turn->in_debt = turn->has_skipped = 0;
			return DROPS;
		}
		fq_end_turn(plan, machine, class, turn, verdict == SENDS);
		if (verdict == SENDS)
			return SENDS;
	}
	return ENDS;
}

static __always_inline void forget_fqs(struct machine *machine)
{
	int i;

	EACH(i, MAX_FQS) {
		struct fq *fq = &machine->fqs[i & (MAX_FQS - 1)];

		*fq = (struct fq){};
		fq->seed = seed_of(i & (MAX_FQS - 1));
	}
}

#endif
