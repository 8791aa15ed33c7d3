// The connections of an aggregate and their shares of its profile (Mehra, Tewari & Kandlur 1999, section 4): what
// crates/node/elements/src/sharing does in 128 bits, in 64. Profiles are up to 2^28 bytes deep, so that three times the depth still
// has a sign.
//
// How much one connection gets hangs on which others are full, so tokens are handed out in walks over all of them. A walk calls
// functions, which no lock of the kernel allows: an aggregate is taken by whoever works on it, and the lock is held only to take
// it.

#ifndef SHORTFLOW_AGGREGATE_H
#define SHORTFLOW_AGGREGATE_H

#include "kernel.h"

#include <bpf/bpf_helpers.h>

#include "buckets.h"
#include "classes.h"
#include "packet.h"
#include "table.h"

// Looks at an aggregate that another processor works on, before a packet is taken for one that does not conform: some
// milliseconds.
#define MAX_LOOKS (1 << 17)
// Each pass of `level_out` halves what is to be handed out, or those that have room: 62 and 8 times at most.
#define MAX_PASSES 72
// Round-trip times count up to 2^24 us, so that those of all connections together have 32 bits.
#define MAX_RTT (1 << 24)

// A walk over the connections of an aggregate, for a packet. What it adds up is in the aggregate: of what is there the kernel's
// verifier takes no number for known, and does not try one after the other.
struct walk {
	struct aggregate *in;
	const struct class *class;
	// Of the packet's connection.
	struct name name;
	__u64 now;
	// Whether the aggregate is one's own.
	__u32 is_own, unused;
};

static __always_inline struct connection *connection_at(struct aggregate *in, __u32 number)
{
	return &in->each[number & (MAX_CONNECTIONS - 1)];
}

static long sum_rtts(__u32 number, struct walk *walk)
{
	struct sums *sums = &walk->in->sums;
	const struct connection *one = connection_at(walk->in, number);

	if (one->has_share && one->rtt) {
		sums->known++;
		sums->rtts += one->rtt;
	}
	return 0;
}

// Of a depth that is shared out by weights, all units in a row, each has those that its weight covers.
static long set_depth(__u32 number, struct walk *walk)
{
	struct sums *sums = &walk->in->sums;
	struct connection *one = connection_at(walk->in, number);
	__u64 until;

	if (!one->has_share)
		return 0;
	sums->weights += walk->class->by_rtt && one->rtt ? one->rtt : sums->unknown;
	until = sums->quotient * sums->weights + sums->remainder * sums->weights / sums->all;
	one->depth = until - sums->given;
	sums->given = until;
	if (one->held > one->depth) {
		walk->in->pool += one->held - one->depth;
		one->held = one->depth;
	}
	walk->in->held += one->held;
	return 0;
}

static __always_inline void set_depths(struct walk *walk)
{
	struct sums *sums = &walk->in->sums;
	struct aggregate *in = walk->in;

	sums->rtts = sums->known = sums->weights = sums->given = 0;
	sums->unknown = 1;
	if (walk->class->by_rtt)
		bpf_loop(in->numbers, sum_rtts, walk, 0);
	if (sums->known)
		sums->unknown = sums->rtts / sums->known;
	sums->all = sums->rtts + (in->shares - sums->known) * sums->unknown;
	// Without a connection there is nothing to be shared out, and the kernel makes the quotient 0.
	sums->quotient = walk->class->depth[0] / sums->all;
	sums->remainder = walk->class->depth[0] % sums->all;
	in->held = 0;
	bpf_loop(in->numbers, set_depth, walk, 0);
}

// Gives a connection what each gets, as far as it has room.
static long hand_out(__u32 number, struct walk *walk)
{
	struct sums *sums = &walk->in->sums;
	struct connection *one = connection_at(walk->in, number);
	__u64 room, given;

	if (!one->has_share)
		return 0;
	room = one->depth - one->held;
	given = sums->each < room ? sums->each : room;
	one->held += given;
	walk->in->held += given;
	sums->open += given < room;
	return 0;
}

static long level_once(__u32 pass, struct walk *walk)
{
	struct sums *sums = &walk->in->sums;
	struct aggregate *in = walk->in;
	__s64 before = in->held;

	if (in->pool <= 0 || !sums->open)
		return 1;
	sums->each = (__u64)in->pool / sums->open;
	if (!sums->each)
		return 1;
	sums->open = 0;
	bpf_loop(in->numbers, hand_out, walk, 0);
	in->pool -= in->held - before;
	return 0;
}

// What nobody holds is at most what all together have room for.
static __always_inline void run_over(struct walk *walk)
{
	__s64 room = (__s64)walk->class->depth[0] - walk->in->held;

	if (walk->in->pool > room)
		walk->in->pool = room;
}

// Hands the pool out to those that are not full. An equal part of it never raises anybody above the level that is sought, and
// what the full ones leave of it is parted again: which comes to the same as filling one after the other.
static __always_inline void level_out(struct walk *walk)
{
	struct sums *sums = &walk->in->sums;

	sums->each = sums->open = 0;
	bpf_loop(walk->in->numbers, hand_out, walk, 0);
	bpf_loop(MAX_PASSES, level_once, walk, 0);
	run_over(walk);
}

static long find_most_room(__u32 number, struct walk *walk)
{
	struct sums *sums = &walk->in->sums;
	const struct connection *one = connection_at(walk->in, number);
	__u64 room = one->depth - one->held;

	if (one->has_share && room > sums->most)
		sums->most = room;
	return 0;
}

// The rounds of one unit for each connection that a time earns, with what was left of the last one. What is left now, or still
// owed, is in the pool.
static __always_inline __u64 rounds_in(struct walk *walk, __u64 elapsed)
{
	const struct class *class = walk->class;
	struct aggregate *in = walk->in;
	__u64 rounds, owed, shares = in->shares;
	__s64 left = in->pool + class->rate[0] * (elapsed % shares);

	rounds = earned(class->rate[0], elapsed / shares, class->filling[0], class->most[0]);
	if (left >= 0) {
		in->pool = (__u64)left % shares;
		return rounds + (__u64)left / shares;
	}
	owed = ((__u64)-left + shares - 1) / shares;
	if (rounds < owed) {
		in->pool = left + rounds * shares;
		return 0;
	}
	in->pool = left + owed * shares;
	return rounds - owed;
}

static __always_inline void earn_shared(struct walk *walk)
{
	struct sums *sums = &walk->in->sums;
	const struct class *class = walk->class;
	struct aggregate *in = walk->in;
	__u64 elapsed = elapsed_since(&in->earned_at, walk->now);

	if (class->sharing == SHARING_PARTITIONED && in->shares) {
		sums->most = 0;
		bpf_loop(in->numbers, find_most_room, walk, 0);
		sums->each = rounds_in(walk, elapsed);
		if (sums->each > sums->most)
			sums->each = sums->most;
		if (sums->each)
			bpf_loop(in->numbers, hand_out, walk, 0);
		run_over(walk);
		return;
	}
	in->pool += earned(class->rate[0], elapsed, class->filling[0], class->most[0]);
	if (class->sharing == SHARING_LOGICAL)
		level_out(walk);
	else
		run_over(walk);
}

static __always_inline void join(struct walk *walk, struct connection *one)
{
	struct aggregate *in = walk->in;
	__s64 given;

	one->has_share = 1;
	if (walk->class->sharing == SHARING_COMMON)
		return;
	one->held = one->depth = 0;
	one->rtt = 0;
	in->shares++;
	set_depths(walk);
	given = in->pool < one->depth ? in->pool : one->depth;
	if (given > 0) {
		in->pool -= given;
		in->held += given;
		one->held = given;
	}
	level_out(walk);
}

static __always_inline void leave(struct walk *walk, struct connection *one)
{
	struct aggregate *in = walk->in;

	one->has_share = 0;
	if (walk->class->sharing == SHARING_COMMON)
		return;
	in->shares--;
	in->pool += one->held;
	set_depths(walk);
	level_out(walk);
}

static __always_inline void set_rtt(struct walk *walk, struct connection *one, __u32 rtt)
{
	if (rtt > MAX_RTT - 1)
		rtt = MAX_RTT - 1;
	if (!walk->class->by_rtt || !rtt || one->rtt == rtt)
		return;
	one->rtt = rtt;
	set_depths(walk);
	level_out(walk);
}

static __always_inline void forget(struct walk *walk, __u32 number)
{
	struct connection *one = connection_at(walk->in, number);

	if (one->has_share)
		leave(walk, one);
	one->is_known = 0;
	walk->in->free[walk->in->frees++ & (MAX_CONNECTIONS - 1)] = number;
}

static long look_at(__u32 number, struct walk *walk)
{
	struct sums *sums = &walk->in->sums;
	const struct connection *one = connection_at(walk->in, number);

	if (!one->is_known)
		return 0;
	if (is_same(&one->name, &walk->name))
		sums->found = number;
	if (one->turn < sums->oldest_turn) {
		sums->oldest_turn = one->turn;
		sums->oldest = number;
	}
	return 0;
}

// Looks at all, and forgets the one that was silent longest if that is too long; then others may be.
static long forget_silent(__u32 turn, struct walk *walk)
{
	struct sums *sums = &walk->in->sums;
	__u64 seen_at;

	sums->found = sums->oldest = MAX_CONNECTIONS;
	sums->oldest_turn = ~0ULL;
	bpf_loop(walk->in->numbers, look_at, walk, 0);
	if (sums->oldest == MAX_CONNECTIONS)
		return 1;
	seen_at = connection_at(walk->in, sums->oldest)->seen_at;
	if (walk->now < seen_at || walk->now - seen_at <= walk->class->accounts.idle_timeout)
		return 1;
	forget(walk, sums->oldest);
	return 0;
}

// A number for a new connection: one that was forgotten, or else the next.
static __always_inline __u32 number_for_new(struct walk *walk, struct seen *seen)
{
	struct aggregate *in = walk->in;

	if (in->numbers - in->frees == walk->class->accounts.entries) {
		forget(walk, walk->in->sums.oldest);
		seen->has_displaced = 1;
	}
	if (in->frees)
		return in->free[--in->frees & (MAX_CONNECTIONS - 1)];
	return in->numbers++;
}

// The connection of a packet, which has a share from now on.
static __always_inline struct connection *see_connection(struct walk *walk, const struct packet *packet, struct seen *seen)
{
	struct sums *sums = &walk->in->sums;
	struct aggregate *in = walk->in;
	struct connection *one;

	earn_shared(walk);
	bpf_loop(MAX_CONNECTIONS + 1, forget_silent, walk, 0);
	if (sums->found == MAX_CONNECTIONS) {
		seen->is_new = 1;
		sums->found = number_for_new(walk, seen);
		one = connection_at(in, sums->found);
		one->name = walk->name;
		one->is_known = 1;
		one->is_closed = one->has_share = 0;
		one->bytes = 0;
	}
	one = connection_at(in, sums->found);
	one->bytes += packet->size;
	one->turn = ++in->turn;
	one->seen_at = walk->now;
	// The ports of a closed connection may come again.
	if (packet->flags & SYN)
		one->is_closed = 0;
	if (!one->has_share)
		join(walk, one);
	seen->used = in->numbers - in->frees;
	return one;
}

// Bytes of the largest of the segments into which a device will cut a packet.
static __always_inline __u32 largest_segment(const struct __sk_buff *skb, const struct packet *packet)
{
	if (packet->segments < 2)
		return packet->size;
	return (packet->size - (skb->len - packet->ip_at)) / (packet->segments - 1) + skb->gso_size;
}

static __always_inline int holds(const struct walk *walk, const struct connection *one, __s64 price)
{
	const struct aggregate *in = walk->in;

	if (walk->class->sharing == SHARING_COMMON)
		return in->pool >= price;
	return one->held >= (price < one->depth ? price : one->depth) &&
	       in->held + (in->pool < 0 ? in->pool : 0) >= price;
}

// Takes the tokens of a packet if it keeps to the profile.
static __always_inline int admit(struct walk *walk, struct connection *one, const struct __sk_buff *skb,
				 const struct packet *packet)
{
	const struct class *class = walk->class;
	struct aggregate *in = walk->in;
	__s64 price = packet->size * PER_BYTE;

	if (largest_segment(skb, packet) > class->max_packet || in->peak_free_at > in->earned_at || !holds(walk, one, price))
		return 0;
	if (class->sharing == SHARING_COMMON) {
		in->pool -= price;
	} else {
		one->held -= price;
		in->held -= price;
	}
	if (class->rate[1])
		in->peak_free_at = in->earned_at + ((__u64)price + class->rate[1] - 1) / class->rate[1];
	return 1;
}

// One that closes gives its share back with the packet that says so.
static __always_inline void passed(struct walk *walk, struct connection *one, const struct packet *packet)
{
	one->is_closed |= !!(packet->flags & (FIN | RST));
	if (one->is_closed && one->has_share)
		leave(walk, one);
}

// Whether the aggregate is not another's; then it is one's own.
static long look(__u32 turn, struct walk *walk)
{
	__u32 is_taken;

	bpf_spin_lock(&walk->in->lock);
	is_taken = walk->in->is_taken;
	walk->in->is_taken = 1;
	bpf_spin_unlock(&walk->in->lock);
	walk->is_own = !is_taken;
	return !is_taken;
}

static __always_inline int take(struct walk *walk)
{
	bpf_loop(MAX_LOOKS, look, walk, 0);
	return walk->is_own;
}

static __always_inline void give_back(struct aggregate *in)
{
	bpf_spin_lock(&in->lock);
	in->is_taken = 0;
	bpf_spin_unlock(&in->lock);
}

#endif
