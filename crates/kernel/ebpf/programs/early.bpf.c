// Drops packets before they wait, by the queue's true length: RED with one or several levels (Floyd & Jacobson 1993), and the
// core node of SIMA (Laatu, Harju & Loula 2003). The program is a filter at the root of a device's queues, which runs under
// the root's lock: nothing comes to a queue or leaves it meanwhile. What a packet's queue and level are, a filter before it
// has left in `tc_index`. The twin of the elements `Red` and `Sima`; crates/kernel/ebpf/src/early writes what is read here.

#include "kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "packet.h"
#include "red.h"

// The kernel lends helpers to programs under its own licence; this one is also under ours.
char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define MAX_QUEUES 16
// Disciplines of a device that have the same place in its table, at most.
#define MAX_ALIKE 64
// The maximum number of waiting packets of a queue whose levels are noted; a power of 2.
#define MAX_WAITING (1 << 14)
// Bits of the level in `tc_index`.
#define LEVEL_BITS 7
// The longest a packet is, with all of its segments.
#define MAX_SIZE ((1 << 16) - 1)

enum { NO_QUEUE, RED_QUEUE, SIMA_QUEUE };

struct queue {
	// The discipline in which its packets wait.
	__u32 handle;
	__u32 kind;
	// In packets or bytes.
	__u64 limit;
	// The line's, in bit/s.
	__u64 rate;
	// Bytes by which the kernel's count of a packet is above that of IP, and by which its size on the line is above the kernel's.
	__s32 header, overhead;
	// Of SIMA: the queue of RT, that of NRT, and how both make the allowed precedence.
	__u32 pair[2], map;
	__u32 unused;
	struct red red;
};

struct state {
	// When the line has sent what was admitted, and the largest packet of that.
	__u64 free_at, largest;
	struct average averages[MAX_AVERAGES];
	struct gap gaps[MAX_LEVELS];
	// How many packets were ever admitted.
	__u32 admitted, unused;
};

// What was admitted up to a packet, of what each average counts.
struct mark {
	__u32 admitted[MAX_AVERAGES];
};

struct counter {
	__u64 passed, marked, early, forced, overlimit;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_QUEUES);
	__type(key, __u32);
	__type(value, struct queue);
} queues SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_QUEUES);
	__type(key, __u32);
	__type(value, struct state);
} states SEC(".maps");

// Before each of the last packets of the queues whose averages count levels; as many as those queues need.
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct mark);
} marks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_QUEUES * MAX_LEVELS);
	__type(key, __u32);
	__type(value, struct counter);
} counters SEC(".maps");

// Set before the program is loaded.
const volatile struct {
	// What stands before IP packets.
	__u32 link;
	// Time, draws and lengths come with the packet, for tests.
	__u32 is_test;
	// 2^(-i/64) in parts of 2^-63.
	__u64 powers[POWERS];
} settings;

// How much waits.
struct length {
	__u64 packets, bytes;
};

// What waits in the discipline of a handle at the packet's device; false without one.
static __always_inline int length_of(struct __sk_buff *skb, __u32 handle, struct length *length)
{
	struct sk_buff *packet = (struct sk_buff *)skb;
	// As the kernel places a handle in its table (hash_32).
	__u32 place = handle * 0x61c88647U >> 28;
	struct net_device *device = BPF_CORE_READ(packet, dev);
	struct hlist_node *node;
	__u64 at = bpf_core_field_offset(struct net_device, qdisc_hash) + place * sizeof(node);

	bpf_probe_read_kernel(&node, sizeof(node), (void *)device + at);
	for (int i = 0; i < MAX_ALIKE && node; i++) {
		struct Qdisc *queue = (void *)node - bpf_core_field_offset(struct Qdisc, hash);

		if (BPF_CORE_READ(queue, handle) == handle) {
			length->packets = BPF_CORE_READ(queue, q.qlen);
			length->bytes = BPF_CORE_READ(queue, qstats.backlog);
			return 1;
		}
		node = BPF_CORE_READ(node, next);
	}
	return 0;
}

static __always_inline int find_length(struct __sk_buff *skb, const struct queue *queue, __u32 second, struct length *length)
{
	__s64 bytes;

	if (settings.is_test) {
		__u32 told[4] = { skb->cb[1], skb->cb[2], skb->cb[4], skb->cb[3] };

		// Of two fields of which the compiler makes one at an offset, the verifier takes none.
		asm volatile("" : "+r"(told[0]), "+r"(told[1]), "+r"(told[2]), "+r"(told[3]));
		length->packets = second ? told[2] : told[0];
		length->bytes = second ? told[3] : told[1];
	} else if (!length_of(skb, queue->handle, length)) {
		return 0;
	}
	// Bytes as IP counts them.
	bytes = (__s64)length->bytes - (__s64)queue->header * (__s64)length->packets;
	length->bytes = bytes > 0 ? bytes : 0;
	return 1;
}

// Rounded up to a whole nanosecond.
static __always_inline __u64 time_on_line(const struct queue *queue, __u64 bytes)
{
	return (bytes * 8 * 1000000000ULL + queue->rate - 1) / queue->rate;
}

// When the line will have sent what waits. It is as a line of this rate alone would have it, within what the true length allows.
static __always_inline void follow_line(const struct queue *queue, struct state *state, const struct length *length, __u64 now)
{
	__s64 more = queue->header + queue->overhead;
	__u64 bytes = length->bytes + length->packets * more, least, most;

	bytes = bytes < 1ULL << 30 ? bytes : 1ULL << 30;
	least = now + time_on_line(queue, bytes);
	// What was begun, and of each packet a part of a nanosecond.
	most = least + time_on_line(queue, state->largest) + length->packets;
	least--;
	if (length->packets && state->free_at < least)
		state->free_at = least;
	if (state->free_at > most)
		state->free_at = most;
}

static __always_inline __u32 counted(const struct red *red, const struct length *length)
{
	return red->in_bytes ? length->bytes : length->packets;
}

// What stood before a packet of a queue, by the packet's number.
static __always_inline struct mark *mark_at(__u32 queue, __u32 packet)
{
	__u32 at = queue * MAX_WAITING + (packet & (MAX_WAITING - 1));

	return bpf_map_lookup_elem(&marks, &at);
}

struct arrival {
	__u64 now;
	// As IP counts it, and on the line.
	__u32 size, on_line;
	__u32 queue, level, draw;
	int is_capable;
};

// Of one average: a sample, before the packet is added. `is_free` is whether the line is.
static __always_inline void sample_one(const struct red *red, struct average *average, __u64 length, __u64 now, int is_free)
{
	if (is_free)
		sample_idle(average, now);
	else
		sample(red, average, length, now, settings.powers);
}

// The averages that count a packet: from its own on, up to the one before `end`.
static __always_inline __u32 first_of(const struct red *red, __u32 level)
{
	return red->averages == SHARED ? 0 : level;
}

static __always_inline __u32 end_of(const struct red *red, __u32 level)
{
	return red->averages == SHARED ? 1 : red->averages == PER_LEVEL ? level + 1 : red->levels;
}

APART __u32 by_red(const struct queue *queue, struct state *state, const struct arrival *arrival, const struct length *length)
{
	const struct mark *before = 0;
	const struct curve *curve;
	const struct red *red;
	struct average *own;
	struct gap *gap;
	__u64 share, room;
	__u32 verdict = PASS, first, end;
	int is_free;

	if (!queue || !state || !arrival || !length)
		return PASS;
	red = &queue->red;
	follow_line(queue, state, length, arrival->now);
	is_free = !length->packets && state->free_at <= arrival->now;
	first = first_of(red, arrival->level);
	end = end_of(red, arrival->level);
	if (red->averages != SHARED) {
		before = mark_at(arrival->queue, state->admitted - (__u32)length->packets);
		if (!before)
			return PASS;
	}
	for (__u32 i = 0; i < MAX_AVERAGES; i++) {
		struct average *average = &state->averages[i];
		__u64 waiting;

		if (i < first || i >= end)
			continue;
		waiting = counted(red, length);
		if (before)
			waiting = length->packets ? average->admitted - before->admitted[i] : 0;
		waiting <<= red->shift;
		sample_one(red, average, waiting, arrival->now, is_free);
	}
	own = &state->averages[first & (MAX_AVERAGES - 1)];
	curve = &red->curves[arrival->level & (MAX_LEVELS - 1)];
	gap = &state->gaps[arrival->level & (MAX_LEVELS - 1)];
	share = red->by_size ? arrival->size : 1;
	if (own->value >= curve->min)
		fall(red, own, settings.powers);
	if (own->value < curve->min || length->packets < red->spare_below)
		gap->passed = 0;
	else
		verdict = judge(red, curve, own->value, gap, share, arrival->is_capable, arrival->draw);
	room = red->in_bytes ? arrival->size : 1;
	if (verdict <= MARK && (counted(red, length) + room > queue->limit || length->packets >= MAX_WAITING - 1))
		verdict = OVERLIMIT;
	return verdict;
}

// Notes that a packet goes on.
APART int admit(const struct queue *queue, struct state *state, const struct arrival *arrival)
{
	__u64 begins, amount;
	struct mark *before;
	__u32 first, end;
	const struct red *red;

	if (!queue || !state || !arrival)
		return 0;
	red = &queue->red;
	first = first_of(red, arrival->level);
	end = end_of(red, arrival->level);
	begins = state->free_at > arrival->now ? state->free_at : arrival->now;
	state->free_at = begins + time_on_line(queue, arrival->on_line);
	if (arrival->on_line > state->largest)
		state->largest = arrival->on_line;
	amount = red->in_bytes ? arrival->size : 1;
	before = red->averages == SHARED ? 0 : mark_at(arrival->queue, state->admitted);
	for (__u32 i = 0; i < MAX_AVERAGES; i++) {
		struct average *average = &state->averages[i];

		if (before)
			before->admitted[i] = average->admitted;
		if (i < first || i >= end)
			continue;
		average->admitted += amount;
		average->idle_since = state->free_at;
	}
	state->admitted++;
	return 0;
}

APART __u32 by_sima(struct __sk_buff *skb, const struct queue *queue, const struct arrival *arrival)
{
	__u64 held[2], limits[2], waiting[2];
	struct length length;
	__u32 which = 0;

	if (!queue || !arrival)
		return PASS;
	for (__u32 i = 0; i < 2; i++) {
		__u32 number = queue->pair[i];
		const struct queue *one = bpf_map_lookup_elem(&queues, &number);
		struct state *state = bpf_map_lookup_elem(&states, &number);

		if (!one || !state || !find_length(skb, one, i, &length))
			return PASS;
		mix(&one->red, &state->averages[0], length.bytes << one->red.shift);
		waiting[i] = length.bytes;
		// A millionth of a byte below a whole number is that number, which a mean that rounds reaches.
		held[i] = (state->averages[0].value + (1ULL << one->red.shift >> 20)) >> one->red.shift;
		limits[i] = one->limit;
		if (number == arrival->queue)
			which = i;
	}
	if ((arrival->level & 7) < allowed_precedence(queue->map, held, limits))
		return FORCED;
	return waiting[which & 1] + arrival->size > limits[which & 1] ? OVERLIMIT : PASS;
}

// ARP and neighbour discovery, which belong to no class (RFC 4861 section 4).
static __always_inline int finds_neighbours(struct __sk_buff *skb)
{
	__u8 head[8], type;

	if (skb->protocol == bpf_htons(ETH_ARP))
		return 1;
	if (skb->protocol != bpf_htons(ETH_IPV6) || bpf_skb_load_bytes_relative(skb, 0, head, sizeof(head), BPF_HDR_START_NET))
		return 0;
	if (head[6] != 58 || head[7] != 255 || bpf_skb_load_bytes_relative(skb, 40, &type, sizeof(type), BPF_HDR_START_NET))
		return 0;
	return type >= 133 && type <= 137;
}

// Whether it is a packet of IP whose header can be read.
APART int parse(struct __sk_buff *skb, struct packet *packet)
{
	return packet && read_packet(skb, settings.link, packet);
}

static __always_inline void count(const struct arrival *arrival, __u32 verdict)
{
	__u32 at = arrival->queue * MAX_LEVELS + (arrival->level & (MAX_LEVELS - 1));
	struct counter *counter = bpf_map_lookup_elem(&counters, &at);

	if (!counter)
		return;
	counter->passed += verdict <= MARK;
	counter->marked += verdict == MARK;
	counter->early += verdict == EARLY;
	counter->forced += verdict == FORCED;
	counter->overlimit += verdict == OVERLIMIT;
}

SEC("tc")
int shortflow_early(struct __sk_buff *skb)
{
	__u32 index = skb->tc_index, verdict;
	struct arrival arrival = {};
	struct packet packet = {};
	const struct queue *queue;
	struct length length;
	struct state *state;
	__s64 size;

	// As above.
	asm volatile("" : "+r"(index));
	if (settings.is_test)
		index = skb->cb[0];
	if (!(index >> LEVEL_BITS) || !(index & ((1 << LEVEL_BITS) - 1)))
		return TC_ACT_UNSPEC;
	arrival.queue = (index >> LEVEL_BITS) - 1;
	arrival.level = (index & ((1 << LEVEL_BITS) - 1)) - 1;
	queue = bpf_map_lookup_elem(&queues, &arrival.queue);
	state = bpf_map_lookup_elem(&states, &arrival.queue);
	if (!queue || !state || queue->kind == NO_QUEUE || arrival.level >= queue->red.levels || finds_neighbours(skb))
		return TC_ACT_UNSPEC;
	arrival.now = settings.is_test ? skb->tstamp : bpf_ktime_get_ns();
	arrival.draw = settings.is_test ? skb->mark : bpf_get_prandom_u32();
	size = (__s64)skb->wire_len - queue->header;
	arrival.size = size < 1 ? 1 : size < MAX_SIZE ? size : MAX_SIZE;
	arrival.on_line = arrival.size + queue->header + queue->overhead;
	if (queue->kind == SIMA_QUEUE) {
		verdict = by_sima(skb, queue, &arrival);
	} else {
		if (!find_length(skb, queue, 0, &length))
			return TC_ACT_UNSPEC;
		if (queue->red.ecn != ECN_DROP && parse(skb, &packet))
			arrival.is_capable = (packet.ds & 3) != 0;
		verdict = by_red(queue, state, &arrival, &length);
		if (verdict <= MARK)
			admit(queue, state, &arrival);
	}
	count(&arrival, verdict);
	if (verdict > MARK)
		return TC_ACT_SHOT;
	if (verdict == MARK)
		write_ds(skb, &packet, packet.ds | 3);
	return TC_ACT_UNSPEC;
}
