// What a connection of a profile may send now, and when it may send more. What it may is sent at once or not before it asks
// again, so it counts from the answer on; what was not sent comes back with the next question.

#ifndef SHORTFLOW_GATE_H
#define SHORTFLOW_GATE_H

#include "shares.h"

// What a connection keeps of its answers.
struct ticket {
	// When it may send what it was promised from a common bucket, and since when a segment waits for tokens, in microseconds;
	// zero while none waits.
	__u64 due, since;
	// In bytes.
	__u32 granted, promised;
	// Its share, and by which number it knows that it still is its own.
	__u32 number, serial;
};

struct question {
	// In microseconds.
	__u64 now;
	// Bytes that were sent since, those of them that are paid for, those of a segment, and segments that could be sent.
	__u32 sent, paid, segment, wanted;
	// In eighths of a microsecond.
	__u32 rtt;
	// Whether nothing else will wake the connection, or it repairs a loss: then its share does not hold it back.
	__u32 is_urgent;
};

struct answer {
	__u32 segments;
	// Microseconds until there is more.
	__u64 wait;
};

static __always_inline int has_share(const struct shares *all, const struct ticket *ticket)
{
	return ticket->serial && all->each[ticket->number & (MAX_SHARES - 1)].serial == ticket->serial;
}

// Takes tokens from the bucket of all and from its share, or brings them back.
static __always_inline void take(const struct settings *set, struct shares *all, const struct ticket *ticket, __s64 tokens)
{
	fill_level(&all->level, set->depth, -tokens);
	fill_level(&all->peak_level, set->peak_depth, -tokens);
	if (!has_share(all, ticket))
		return;
	share_at(all, ticket->number)->held -= tokens;
	all->held -= tokens;
}

// Counts what was sent since the last answer, of which some is paid for already.
static __always_inline void count(const struct settings *set, struct shares *all, struct ticket *ticket, __u32 sent, __u32 paid)
{
	all->bytes += sent;
	if (sent > ticket->granted)
		all->unasked += sent - ticket->granted;
	take(set, all, ticket, ((__s64)sent - ticket->granted - paid) * (__s64)PER_BYTE);
	ticket->granted = 0;
}

// The time to earn so many tokens, rounded up.
static __always_inline __u64 time_for(__s64 tokens, __u64 rate)
{
	return tokens <= 0 ? 0 : ((__u64)tokens + rate - 1) / (rate ? rate : 1);
}

static __always_inline void wait_for(struct answer *answer, __s64 tokens, __u64 rate)
{
	__u64 wait = time_for(tokens, rate);

	if (wait > answer->wait)
		answer->wait = wait;
}

static __always_inline __u64 segments_in(__s64 tokens, __u64 price)
{
	return tokens <= 0 ? 0 : (__u64)tokens / price;
}

// What a share must hold for a segment.
static __always_inline __s64 needed(const struct settings *set, const struct shares *all, const struct share *one, __s64 price)
{
	__s64 depth = depth_of(set, all, one);

	return depth < price ? depth : price;
}

// By its own share. A share that cannot hold a segment pays when it is full. The pace of the clock is an estimate, and a
// connection that was woken too early would sleep until an acknowledgement: so a share may owe half of a segment.
static __always_inline __u64 ask_share(const struct settings *set, struct shares *all, const struct share *one,
				       const struct question *question)
{
	__s64 price = question->segment * PER_BYTE, need = needed(set, all, one, price);
	__u64 may = segments_in(one->held, price);

	// Whom nothing wakes before a timer of 200 ms may owe a segment.
	if (!may && (one->held >= (__s64)((__u64)need / 2) || (question->is_urgent && one->held > -price)))
		may = 1;
	return may;
}

// Of a common bucket a part is for those whom nothing else will wake.
static __always_inline __s64 reserve_of(const struct settings *set)
{
	return set->depth / 4;
}

// By the turn in which it became non-compliant, or was served last: it waits for what is promised to those before.
static __always_inline __u64 ask_turn(const struct settings *set, struct shares *all, struct ticket *ticket,
				      const struct question *question)
{
	__u64 price = question->segment * PER_BYTE, own = ticket->promised * PER_BYTE;
	// Where half of the bucket is full those who are before it sleep, and there is enough for all who wake up.
	int is_first = question->is_urgent || all->level > (__s64)(set->depth / 2);
	__s64 free = all->level - (question->is_urgent ? 0 : reserve_of(set));
	__u64 unclaimed, turn;

	if (ticket->promised && question->now < ticket->due && !is_first)
		return 0;
	all->promised -= own;
	ticket->promised = 0;
	// What nobody waits for, and in its own turn what it was promised.
	unclaimed = segments_in(free - (__s64)all->promised, price);
	if (is_first && own < price)
		own = price;
	turn = segments_in(free < (__s64)own ? free : own, price);
	return unclaimed > turn ? unclaimed : turn;
}

// Takes the next place in the queue of a common bucket.
static __always_inline void queue_up(const struct settings *set, struct shares *all, struct ticket *ticket,
				     const struct question *question, __u32 missing, struct answer *answer)
{
	__u32 most = set->depth / PER_BYTE / 16, bytes = question->segment;

	if (!ticket->promised) {
		if (set->order == ORDER_FIRST_COME) {
			bytes = missing > most / question->segment ? most : missing * question->segment;
			if (bytes < question->segment)
				bytes = question->segment;
		}
		ticket->promised = bytes;
		all->promised += bytes * PER_BYTE;
		ticket->due = question->now + time_for((__s64)all->promised + reserve_of(set) - all->level, set->rate);
	}
	answer->wait = ticket->due > question->now ? ticket->due - question->now : 0;
}

// What a share was handed since, up to now.
static __always_inline void renew(const struct settings *set, struct shares *all, struct share *one, __u32 rtt)
{
	__s64 over;

	one->asked_at = all->earned_at;
	if (set->by_rtt)
		set_rtt(all, one, rtt);
	if (set->sharing == SHARING_COMMON)
		return;
	over = settle(set, all, one);
	if (set->sharing == SHARING_LOGICAL)
		hand_on(all, over);
}

// Whether a segment may leave that TCP's timers send without asking: it pays at once, or stays. A share owes no more than a segment,
// and the peak rate no more than a part of one, as for those that ask.
static __always_inline int pay(const struct settings *set, struct shares *all, const struct ticket *ticket, __u64 now, __u32 bytes,
			       __u32 rtt)
{
	__s64 price = bytes * PER_BYTE;
	struct share *one = has_share(all, ticket) ? share_at(all, ticket->number) : 0;
	int may;

	earn(set, all, now);
	if (one)
		renew(set, all, one, rtt);
	may = all->level >= price && (!set->peak || all->peak_level > 0);
	if (set->sharing != SHARING_COMMON)
		may = may && (!one || one->held > -price);
	if (may)
		take(set, all, ticket, price);
	else
		all->stopped++;
	return may;
}

// Counts an answer that lets segments leave, and how long the first of them has waited for tokens.
static __always_inline void end_wait(struct shares *all, struct ticket *ticket, __u64 now)
{
	all->grants++;
	if (ticket->since && now > ticket->since)
		all->waited += now - ticket->since;
	ticket->since = 0;
}

static __always_inline void ask(const struct settings *set, struct shares *all, struct ticket *ticket,
				const struct question *question, struct answer *answer)
{
	__u64 price = question->segment * PER_BYTE, may, most;
	struct share *one;

	earn(set, all, question->now);
	count(set, all, ticket, question->sent, question->paid);
	answer->segments = 0;
	answer->wait = 0;
	// It was silent for long, or found every share taken.
	if (!has_share(all, ticket) || ticket->serial == OTHERS)
		ticket->number = join(set, all, &ticket->serial);
	one = share_at(all, ticket->number);
	renew(set, all, one, question->rtt);
	if (!question->wanted || !price) {
		all->promised -= ticket->promised * PER_BYTE;
		ticket->promised = 0;
		ticket->since = 0;
		return;
	}
	if (set->sharing == SHARING_COMMON)
		may = ask_turn(set, all, ticket, question);
	else
		may = ask_share(set, all, one, question);
	most = segments_in(all->level, price);
	if (may > most)
		may = most;
	if (set->peak && may) {
		most = segments_in(all->peak_level, price);
		// Whom nothing wakes owes a part of a segment, else it would be silent until a timer of TCP.
		if (!most && question->is_urgent && all->peak_level > 0)
			most = 1;
		if (may > most)
			may = most;
	}
	if (may > question->wanted)
		may = question->wanted;
	answer->segments = may;
	ticket->granted = may * question->segment;
	take(set, all, ticket, may * price);
	if (may)
		end_wait(all, ticket, question->now);
	if (may == question->wanted)
		return;
	all->withheld++;
	if (!ticket->since)
		ticket->since = question->now;
	// From what is left: what others leave, or the peak rate, may have given it less than its share holds.
	if (set->sharing == SHARING_COMMON) {
		queue_up(set, all, ticket, question, question->wanted - may, answer);
	} else {
		wait_for(answer, price - all->level, set->rate);
		wait_for(answer, needed(set, all, one, price) - one->held, all->pace ? all->pace : 1);
	}
	if (set->peak)
		wait_for(answer, price - all->peak_level, set->peak);
}

static __always_inline void give_up(const struct settings *set, struct shares *all, struct ticket *ticket, __u32 sent,
				    __u32 paid)
{
	count(set, all, ticket, sent, paid);
	all->promised -= ticket->promised * PER_BYTE;
	ticket->promised = 0;
	// That of all others ends when nobody has asked it for long.
	if (has_share(all, ticket) && ticket->serial != OTHERS)
		leave(all, ticket->number);
	ticket->serial = 0;
}

#endif
