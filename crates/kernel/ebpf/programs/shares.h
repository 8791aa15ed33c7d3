// The tokens of a profile and the shares of its connections (Mehra, Tewari & Kandlur 1999, section 4), at the place where a
// host's TCP sends: what `aggregate.h` does at a device, where one processor at a time works for long. TCP also sends where an
// interrupt came in between, so nobody may wait for another here: each step takes the same time however many connections there
// are, under a lock that lets no interrupt in.
//
// A token is a millionth of a byte: a rate in bytes per second earns so many in a microsecond, without rounding. Shares are
// handed out by a clock of the aggregate: `handed` is what each connection was given since the beginning, and a connection knows
// what it has seen of it. What does not fit into a full share goes back onto that clock, which comes to the same as handing it
// out to those that are not full. Whatever the shares say, nothing is sent that the bucket of all does not hold.

#ifndef SHORTFLOW_SHARES_H
#define SHORTFLOW_SHARES_H

#include "kernel.h"

#define PER_BYTE 1000000ULL
// Connections of a profile that have a share of their own, and one share of all others.
#define MAX_SHARES 8192
// By which those know that share; no connection has it.
#define OTHERS (~0U)
// Other shares that are looked at for each question.
#define LOOKS 16
// How often the pace of the clock is measured, in microseconds.
#define PACE_SPAN 20000ULL

enum { SHARING_PARTITIONED, SHARING_COMMON, SHARING_LOGICAL };
enum { ORDER_FIRST_COME, ORDER_LEAST_RECENTLY_SERVED };

// What a policy says; `TcpSettings` of crates/kernel/ebpf/src/profile/layout.rs.
struct settings {
	// In bytes per second; without a peak rate it is zero, and so is what windows are held to.
	__u64 rate, peak, window_rate;
	// In tokens; that of the peak rate holds the longest packet.
	__u64 depth, peak_depth;
	// The round-trip time of growth rules in eighths of a microsecond.
	__u64 reference_rtt;
	// After so many microseconds without a question a connection has no share.
	__u64 idle_timeout;
	// Connections that may have a share at a time, the longest packet in bytes, and segments of a growth rule.
	__u32 connections, max_packet, increase;
	__u8 sharing, by_rtt, order, growth;
};

struct share {
	// Below zero what it owes.
	__s64 held;
	// Of `handed`.
	__u64 seen;
	// In eighths of a microsecond; zero before there is a sample.
	__u32 rtt;
	// Whose it is, by a number that no other connection has; zero while it is nobody's.
	__u32 serial;
	__u64 asked_at;
};

// What `TcpState` of crates/kernel/ebpf/src/profile/layout.rs reads.
struct shares {
	struct bpf_spin_lock lock;
	// Connections, numbers that were given out, and those that are free again.
	__u32 members, numbers, frees, next;
	__u32 serials;
	// In microseconds.
	__u64 earned_at;
	__s64 level, peak_level;
	// What connections wait for in a common bucket.
	__u64 promised;
	// What all shares hold as far as they were looked at, and what was handed out to them since.
	__s64 held, pending;
	__u64 handed, rest;
	// In tokens for each share and microsecond.
	__u64 pace, pace_handed, pace_at;
	__u64 rtts;
	// The share of all connections that have none of their own: one more than its number, and zero while there is none.
	__u32 with_rtt, others;
	// Counts for users: bytes on the network layer, those of them that nobody had asked for, questions answered with less than
	// was asked for, segments of timers that were stopped, and bytes that left without tokens, as a timer would end the connection.
	__u64 bytes, unasked, withheld, stopped, forced;
	// Answers that let segments leave, and for how long the first segments of these have waited for tokens, in microseconds.
	__u64 grants, waited;
	__u16 free[MAX_SHARES];
	struct share each[MAX_SHARES];
};

static __always_inline struct share *share_at(struct shares *all, __u32 number)
{
	return &all->each[number & (MAX_SHARES - 1)];
}

// How much a share holds at most.
static __always_inline __s64 depth_of(const struct settings *set, const struct shares *all, const struct share *one)
{
	__u64 members = all->members ? all->members : 1, mean;

	if (!set->by_rtt || !all->with_rtt)
		return set->depth / members;
	// The others count with the mean.
	mean = all->rtts / all->with_rtt;
	// Round-trip times in units of 128 us, so that the product has 64 bits.
	mean = (mean >> 10) + 1;
	return set->depth / 256 * ((one->rtt ? one->rtt >> 10 : mean) + 1) / (mean * members) * 256;
}

// Puts what a connection was handed since into its share. What does not fit is the result.
static __always_inline __s64 settle(const struct settings *set, struct shares *all, struct share *one)
{
	__s64 depth = depth_of(set, all, one), before = one->held, over = 0;

	all->pending -= all->handed - one->seen;
	one->held += all->handed - one->seen;
	one->seen = all->handed;
	if (one->held > depth) {
		over = one->held - depth;
		one->held = depth;
	}
	all->held += one->held - before;
	return over;
}

static __always_inline void hand_out(struct shares *all, __u64 tokens)
{
	__u64 members = all->members, each;

	if (!members)
		return;
	all->rest += tokens;
	each = all->rest / members;
	all->handed += each;
	all->pending += each * members;
	all->rest %= members;
}

// Hands out what others cannot hold; what no share has room for is lost.
static __always_inline void hand_on(struct shares *all, __s64 tokens)
{
	__s64 room = all->level - all->held - all->pending;

	if (tokens > room)
		tokens = room;
	if (tokens > 0)
		hand_out(all, tokens);
}

static __always_inline void leave(struct shares *all, __u32 number)
{
	struct share *one = share_at(all, number);
	__s64 left = one->held;

	if (one->serial == OTHERS)
		all->others = 0;
	all->held -= left;
	all->pending -= all->handed - one->seen;
	if (one->rtt) {
		all->with_rtt--;
		all->rtts -= one->rtt;
	}
	one->serial = one->rtt = 0;
	one->held = 0;
	all->members--;
	all->free[all->frees++ & (MAX_SHARES - 1)] = number;
	if (left > 0)
		hand_on(all, left);
}

// Looks at some other shares, in turn, so that what idle connections cannot hold does not wait for them.
static __always_inline void look_around(const struct settings *set, struct shares *all, __u64 now)
{
	__s64 over = 0;

	for (__u32 i = 0; i < LOOKS; i++) {
		struct share *one;

		if (i >= all->numbers)
			break;
		all->next = all->next + 1 < all->numbers ? all->next + 1 : 0;
		one = share_at(all, all->next);
		if (one->serial && now > one->asked_at + set->idle_timeout)
			leave(all, all->next);
		else if (one->serial)
			over += settle(set, all, one);
	}
	if (set->sharing == SHARING_LOGICAL)
		hand_on(all, over);
}

static __always_inline void measure_pace(const struct settings *set, struct shares *all, __u64 now)
{
	__u64 span = now - all->pace_at, pace;

	if (span < PACE_SPAN)
		return;
	pace = (all->handed - all->pace_handed) / span;
	if (pace > set->rate)
		pace = set->rate;
	all->pace = (all->pace + pace) / 2;
	all->pace_at = now;
	all->pace_handed = all->handed;
}

static __always_inline void fill_level(__s64 *level, __u64 depth, __u64 tokens)
{
	*level += tokens;
	if (*level > (__s64)depth)
		*level = depth;
}

// What the time up to now earns, in microseconds of a clock that never goes back.
static __always_inline void earn(const struct settings *set, struct shares *all, __u64 now)
{
	__u64 elapsed = now > all->earned_at ? now - all->earned_at : 0, filling;
	__u64 tokens;

	if (!all->earned_at) {
		all->earned_at = all->pace_at = now;
		all->level = set->depth;
		all->peak_level = set->peak_depth;
		return;
	}
	all->earned_at += elapsed;
	// In this time whatever was owed is paid and everything is full.
	filling = 4 * (set->depth / set->rate + 1) + 1000000;
	if (elapsed > filling)
		elapsed = filling;
	tokens = set->rate * elapsed;
	fill_level(&all->level, set->depth, tokens);
	if (set->peak)
		fill_level(&all->peak_level, set->peak_depth, set->peak * elapsed);
	if (set->sharing != SHARING_COMMON)
		hand_out(all, tokens);
	look_around(set, all, all->earned_at);
	measure_pace(set, all, all->earned_at);
}

static __always_inline void set_rtt(struct shares *all, struct share *one, __u32 rtt)
{
	if (!rtt || one->rtt == rtt)
		return;
	all->with_rtt += !one->rtt;
	all->rtts += (__u64)rtt - one->rtt;
	one->rtt = rtt;
}

// A number that is neither zero nor that of the others, however many there were.
static __always_inline __u32 next_serial(struct shares *all)
{
	if (++all->serials == OTHERS)
		all->serials = 1;
	return all->serials;
}

// A share for a connection, by its number; it begins with what nobody else has a right to. Those that find every share taken have
// one together.
static __always_inline __u32 join(const struct settings *set, struct shares *all, __u32 *serial)
{
	__u32 number, is_other = all->members - !!all->others >= set->connections;
	struct share *one;
	__s64 free, depth;

	*serial = is_other ? OTHERS : next_serial(all);
	if (is_other && all->others)
		return all->others - 1;
	if (all->frees)
		number = all->free[--all->frees & (MAX_SHARES - 1)];
	else
		number = all->numbers++;
	if (is_other)
		all->others = number + 1;
	all->members++;
	one = share_at(all, number);
	one->serial = *serial;
	one->asked_at = all->earned_at;
	one->rtt = 0;
	one->seen = all->handed;
	depth = depth_of(set, all, one);
	free = all->level - all->held - all->pending;
	one->held = free < 0 ? 0 : free < depth ? free : depth;
	all->held += one->held;
	if (!all->pace)
		all->pace = set->rate / all->members;
	return number;
}

#endif
