// Conditions packets at the edge of a domain: which class a packet belongs to, which colour it has there, which code
// point that gives it, and whether it goes on (RFC 2475 §2.3). The twin of `Conditioner` of crates/elements, whose
// decisions are the same to the last bit; `deploy` brings it to devices.

#include "kernel.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "buckets.h"
#include "packet.h"
#include "table.h"
#include "tcp.h"
#include "window.h"

// The kernel lends helpers to programs under its own licence; this one is also under ours.
char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define MOST_RULES 64
#define MOST_CLASSES 32
#define MOST_LEVELS 64

enum { GREEN, YELLOW, RED, COLORS };
// Room for as many as two bits tell apart, so that the kernel sees that no place is beyond.
#define COLOR_ROOM 4

enum {
	METER_FIXED,
	METER_TOKEN_BUCKET,
	METER_TWO_BUCKETS,
	METER_SR_TCM,
	METER_TR_TCM,
	METER_TSW,
	METER_FAIR_MARKER,
	METER_DSTF,
	METER_TCP_STATE,
	METER_SIMA,
};

enum { FORWARD, DROP, REMARK };

// What crates/ebpf/src/edge/layout.rs writes; every field stands where its size would have it.
struct rule {
	__u64 source[2], source_mask[2];
	__u64 destination[2], destination_mask[2];
	__u64 code_points;
	__u16 source_ports[2], destination_ports[2];
	__u16 class;
	__u8 protocol, any_protocol;
	__u32 unused;
};

struct rules {
	__u64 count;
	struct rule all[MOST_RULES];
};

struct class {
	union {
		struct {
			__u64 rate[2];
			// How much the buckets hold, and in how long their rates fill them. Both buckets of one rate count as
			// one here.
			__u64 depth[2], most[2], filling[2];
		};
		// How a load of SIMA decays in silence, in the time of a byte, and in that of a byte at the rate up to which a
		// packet has the precedence 1.
		struct {
			struct decay silence, sending, first_threshold;
		};
	};
	__u64 window;
	struct pace committed, peak;
	struct accounts accounts;
	// How many packets of a flow are green first.
	union {
		// Packets with which a flow begins, of a Fair Marker.
		__u64 threshold;
		// In which time a table does not turn over unless in a flood, of DSTF.
		__u64 crowded;
	};
	// The windows up to which a connection's packets are green and yellow, and with which it begins, in segments.
	__u32 high, medium, initial_window;
	__u8 is_random, only_again, unused_here[2];
	// The colour with which a packet comes, by its code point.
	__u8 incoming[64];
	__u8 code_points[COLOR_ROOM], actions[COLOR_ROOM], remarks[COLOR_ROOM];
	__u8 meter, color, marks, three_colors;
	// Which of the tables is its own.
	__u8 table;
	__u8 unused[7];
};

struct state {
	struct bpf_spin_lock lock;
	__u32 unused;
	struct tally tally;
};

// Thresholds in tokens, and code points of the levels between them.
struct levels {
	__u64 thresholds[MOST_LEVELS];
	__u8 code_points[MOST_LEVELS];
	__u64 last;
};

struct counter {
	__u64 packets, bytes, dropped_packets, dropped_bytes;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct rules);
} rules SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MOST_CLASSES);
	__type(key, __u32);
	__type(value, struct class);
} classes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MOST_CLASSES);
	__type(key, __u32);
	__type(value, struct state);
} states SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MOST_CLASSES);
	__type(key, __u32);
	__type(value, struct levels);
} levels SEC(".maps");

// As many as classes need one, which is set before the program is loaded.
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct table);
} tables SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, MOST_CLASSES * COLORS);
	__type(key, __u32);
	__type(value, struct counter);
} counters SEC(".maps");

struct table_counter {
	__u64 hits, misses, evictions, used;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, MOST_CLASSES);
	__type(key, __u32);
	__type(value, struct table_counter);
} table_counters SEC(".maps");

// Set before the program is loaded.
const volatile struct {
	// What stands before IP packets.
	__u32 link;
	// Time and draws come with the packet, for tests.
	__u32 is_test;
	// 2^(-i/64) in parts of 2^-63.
	__u64 powers[POWERS];
} settings;

static __always_inline int matches(const struct rule *rule, const struct packet *packet)
{
	__u64 other = 0;

	for (int i = 0; i < 2; i++) {
		other |= (packet->source[i] & rule->source_mask[i]) ^ rule->source[i];
		other |= (packet->destination[i] & rule->destination_mask[i]) ^ rule->destination[i];
	}
	other |= !(rule->code_points >> (packet->ds >> 2) & 1);
	other |= !rule->any_protocol && rule->protocol != packet->protocol;
	other |= packet->source_port < rule->source_ports[0];
	other |= packet->source_port > rule->source_ports[1];
	other |= packet->destination_port < rule->destination_ports[0];
	other |= packet->destination_port > rule->destination_ports[1];
	return !other;
}

struct search {
	const struct rules *rules;
	const struct packet *packet;
	__u32 class;
};

// Whether rule number `at` is not the one; then the next is tried.
static long try_rule(__u32 at, struct search *search)
{
	const struct rule *rule;

	if (at >= MOST_RULES)
		return 1;
	rule = &search->rules->all[at];
	if (!matches(rule, search->packet))
		return 0;
	search->class = rule->class;
	return 1;
}

// The class of the first rule that matches; `MOST_CLASSES` without one.
static __always_inline __u32 classify(const struct packet *packet)
{
	struct search search = { .packet = packet, .class = MOST_CLASSES };
	__u32 zero = 0;

	search.rules = bpf_map_lookup_elem(&rules, &zero);
	if (search.rules)
		bpf_loop(search.rules->count, try_rule, &search, 0);
	return search.class;
}

// Time is counted once, however the clock is set.
static __always_inline __u64 elapsed_since(__u64 *last, __u64 now)
{
	__u64 elapsed = now > *last ? now - *last : 0;

	*last += elapsed;
	return elapsed;
}

static __always_inline void earn(const struct class *class, struct tally *tally, __u64 elapsed)
{
	__u64 first = earned(class->rate[0], elapsed, class->filling[0], class->most[0]);

	first = fill(&tally->held[0], class->depth[0], first);
	if (class->meter == METER_SR_TCM) {
		fill(&tally->held[1], class->depth[1], first);
		return;
	}
	fill(&tally->held[1], class->depth[1], earned(class->rate[1], elapsed, class->filling[1], class->most[1]));
}

static __always_inline __u32 color_by_buckets(const struct class *class, struct tally *tally,
					      __u64 tokens, __u32 incoming)
{
	switch (class->meter) {
	case METER_TOKEN_BUCKET:
		return try_take(&tally->held[0], tokens) ? GREEN : YELLOW;
	case METER_TR_TCM:
		if (incoming == RED || !try_take(&tally->held[1], tokens))
			return RED;
		return incoming == YELLOW || !try_take(&tally->held[0], tokens) ? YELLOW : GREEN;
	default:
		if (incoming == GREEN && try_take(&tally->held[0], tokens))
			return GREEN;
		return incoming <= YELLOW && try_take(&tally->held[1], tokens) ? YELLOW : RED;
	}
}

// What is in a window with a packet, and the window with the time since the last one.
struct reading {
	__u64 all, span;
};

static __always_inline struct reading read_window(const struct class *class, struct tally *tally, int which,
						  __u64 now, __u32 size)
{
	__u64 idle = elapsed_since(&tally->at[which], now);
	struct reading reading;

	if (idle > MOST_IDLE)
		idle = MOST_IDLE;
	reading.span = class->window + idle;
	reading.all = tally->held[which] + ((__u64)size << 16);
	tally->held[which] = reading.all - part(reading.all, idle, reading.span);
	return reading;
}

static __always_inline __u32 color_by_window(const struct class *class, struct tally *tally, __u64 now,
					     __u32 size, __u32 draw)
{
	struct reading reading = read_window(class, tally, 0, now, size);

	if (class->three_colors && draw < excess(reading.all, carried(&class->peak, reading.span)))
		return RED;
	return draw < excess(reading.all, carried(&class->committed, reading.span)) ? YELLOW : GREEN;
}

static __always_inline void count_seen(__u32 class, const struct seen *seen)
{
	struct table_counter *counter = bpf_map_lookup_elem(&table_counters, &class);

	if (!counter)
		return;
	counter->hits += !seen->is_new;
	counter->misses += seen->is_new;
	counter->evictions += seen->has_displaced;
	counter->used = seen->used;
}

// Packets of the flow that came before this one.
static __always_inline __u64 packets_before(__u32 number, const struct class *class, struct table *table,
					    const struct packet *packet, __u64 now)
{
	const struct accounts *accounts = &class->accounts;
	struct name name = name_of(packet, accounts);
	struct seen seen = { .now = now, .size = packet->size };
	__u64 before;

	// A table without room takes every packet for a flow's first.
	if (!accounts->entries) {
		seen.is_new = 1;
		count_seen(number, &seen);
		return 0;
	}
	bpf_spin_lock(&table->lock);
	see(table, accounts, &name, &seen);
	before = seen.is_new ? 0 : seen.entry->value;
	seen.entry->value = before + 1;
	bpf_spin_unlock(&table->lock);
	count_seen(number, &seen);
	return before;
}

// What the committed rate leaves for packets that were not green first, in the span of their window.
static __always_inline __u64 left_by_green(const struct class *class, const struct tally *tally, __u64 now, __u64 span)
{
	__u64 idle = now > tally->at[0] ? now - tally->at[0] : 0, green_span, all;

	green_span = class->window + (idle < MOST_IDLE ? idle : MOST_IDLE);
	all = carried(&class->committed, green_span);
	return all > tally->held[0] ? scaled(all - tally->held[0], span, green_span) : 0;
}

// The Fair Marker (Casetti & Mellia 2005, section 4).
static __always_inline __u32 color_by_age(const struct class *class, struct tally *tally, int is_early, __u64 now,
					  __u32 size, __u32 draw)
{
	struct reading reading = read_window(class, tally, !is_early, now, size);
	__u64 allowance;

	if (is_early)
		allowance = carried(&class->committed, reading.span);
	else
		allowance = left_by_green(class, tally, now, reading.span);
	return draw < excess(reading.all, allowance) ? YELLOW : GREEN;
}

// What is left of bytes sent after some time, of which `rate[0]` forgets some.
static __always_inline __u64 not_forgotten(const struct class *class, __u64 sent, __u64 since, __u64 now)
{
	__u64 elapsed = now > since ? now - since : 0, forgotten;

	forgotten = earned(class->rate[0], elapsed, class->filling[0], class->most[0]);
	return sent > forgotten ? sent - forgotten : 0;
}

// The level of what a packet's flow or hosts have sent before (Guo et al. 2005, Figure 1).
static __always_inline __u32 level_of(__u32 number, const struct class *class, const struct levels *levels, struct table *table,
				      const struct packet *packet, __u64 now)
{
	const struct accounts *accounts = &class->accounts;
	struct name name = name_of(packet, accounts);
	struct seen seen = { .now = now, .size = packet->size };
	__u64 sent = 0, after;
	__u32 level = 0;

	bpf_spin_lock(&table->lock);
	see(table, accounts, &name, &seen);
	if (!seen.is_new)
		sent = not_forgotten(class, seen.entry->value, seen.before, now);
	else if (seen.has_displaced && (now > seen.displaced_at ? now - seen.displaced_at : 0) < class->crowded)
		sent = class->most[0];
	else if (seen.has_displaced && class->rate[0])
		sent = not_forgotten(class, seen.displaced, seen.displaced_at, now);
	while (level < MOST_LEVELS - 1 && level < levels->last && levels->thresholds[level] < sent)
		level++;
	after = sent + (level < levels->last ? packet->size * PER_BYTE : 0);
	seen.entry->value = after < class->most[0] ? after : class->most[0];
	bpf_spin_unlock(&table->lock);
	count_seen(number, &seen);
	return level;
}

// Whether one of 2^32 draws is below threshold/window.
static __always_inline int is_within(__u32 threshold, __u32 window, __u32 draw)
{
	return draw < ((__u64)threshold << 32) / window;
}

// Marking by the state of the sending TCP (Noureddine & Tobagi 2002, Algorithm 1).
static __always_inline __u32 color_by_sender(const struct class *class, const struct packet *packet,
					     const struct sender *sender, const __u32 *draws)
{
	if (!sender->is_known)
		return RED;
	if (sender->window <= class->high)
		return GREEN;
	if (packet->flags & SYN || (sender->is_recovering && (!class->only_again || sender->is_again)))
		return GREEN;
	if (!class->is_random)
		return sender->window <= class->medium ? YELLOW : RED;
	if (is_within(class->high, sender->window, draws[0]))
		return GREEN;
	return sender->window <= class->medium || is_within(class->medium, sender->window, draws[1]) ? YELLOW : RED;
}

// How a packet stands to the load of its stream, of SIMA.
static __always_inline struct rate rate_by_load(const struct class *class, struct tally *tally, __u64 now, struct load added)
{
	__u64 silence = halvings_within(&class->silence, 0, elapsed_since(&tally->at[0], now));
	struct rate rate = { .kept = load_after(settings.powers, tally->load, silence) };

	rate.load = sum_of(rate.kept, added);
	tally->load = rate.load;
	return rate;
}

// The tally of a packet's flow or hosts, which has nothing behind it where that is new. A new one that displaces another
// goes on with what that has left.
static __always_inline struct tally *own_tally(const struct class *class, struct table *table, const struct name *name,
					       struct seen *seen)
{
	see(table, &class->accounts, name, seen);
	if (seen->is_new && !seen->has_displaced) {
		seen->tally->at[0] = 0;
		seen->tally->held[0] = class->meter == METER_SIMA ? NOTHING_PARTS : class->depth[0];
		seen->tally->held[1] = class->meter == METER_SIMA ? NOTHING_HALVINGS : class->depth[1];
	}
	return seen->tally;
}

// The colour of a packet in its buckets, or its drop precedence by the momentary rate (Laatu, Harju & Loula 2003, section
// 2): of those that all have in common, or of those of its flow or hosts.
static __always_inline __u32 color_or_precedence(__u32 number, const struct class *class, struct state *state,
						 struct table *table, const struct packet *packet, __u64 now)
{
	int is_sima = class->meter == METER_SIMA, has_own = class->accounts.by != BY_NOBODY;
	__u32 bytes = packet->size ? packet->size : 1, found = 0;
	struct seen seen = { .now = now, .size = packet->size };
	struct tally *tally = &state->tally;
	struct name name = {};
	struct load added = {};
	struct rate rate = {};

	if (is_sima)
		added = lost_after(settings.powers, halvings_within(&class->sending, 0, bytes));
	if (has_own) {
		name = name_of(packet, &class->accounts);
		bpf_spin_lock(&table->lock);
		tally = own_tally(class, table, &name, &seen);
	} else {
		bpf_spin_lock(&state->lock);
	}
	if (is_sima) {
		rate = rate_by_load(class, tally, now, added);
	} else {
		earn(class, tally, elapsed_since(&tally->at[0], now));
		found = color_by_buckets(class, tally, packet->size * PER_BYTE, class->incoming[packet->ds >> 2]);
	}
	if (has_own) {
		bpf_spin_unlock(&table->lock);
		count_seen(number, &seen);
	} else {
		bpf_spin_unlock(&state->lock);
	}
	return is_sima ? precedence_of(settings.powers, &rate, &class->first_threshold, bytes) : found;
}

// What becomes of a packet.
struct fate {
	__u32 color;
	__u8 code_point;
};

static __always_inline struct fate fate_of(struct __sk_buff *skb, __u32 number, const struct class *class, struct state *state,
					   const struct packet *packet, __u64 now, const __u32 *draws)
{
	struct fate fate = { .color = class->color };
	__u32 which = class->table;
	struct table *table = bpf_map_lookup_elem(&tables, &which);
	struct levels *own = bpf_map_lookup_elem(&levels, &number);
	int is_early = 0;

	if (!table || !own)
		return fate;
	switch (class->meter) {
	case METER_DSTF: {
		__u32 level = level_of(number, class, own, table, packet, now);

		fate.color = !level ? GREEN : level == own->last ? RED : YELLOW;
		fate.code_point = own->code_points[level & (MOST_LEVELS - 1)];
		return fate;
	}
	case METER_FIXED:
		break;
	case METER_TCP_STATE: {
		struct sender sender = ask_sender(skb, packet, class->initial_window);

		fate.color = color_by_sender(class, packet, &sender, draws);
		break;
	}
	case METER_FAIR_MARKER:
		is_early = packets_before(number, class, table, packet, now) < class->threshold;
		bpf_spin_lock(&state->lock);
		fate.color = color_by_age(class, &state->tally, is_early, now, packet->size, draws[0]);
		bpf_spin_unlock(&state->lock);
		break;
	case METER_TSW:
		bpf_spin_lock(&state->lock);
		fate.color = color_by_window(class, &state->tally, now, packet->size, draws[0]);
		bpf_spin_unlock(&state->lock);
		break;
	default:
		fate.color = color_or_precedence(number, class, state, table, packet, now);
		if (class->meter == METER_SIMA) {
			fate.code_point = own->code_points[fate.color & (MOST_LEVELS - 1)];
			fate.color = !fate.color ? RED : fate.color == BEST ? GREEN : YELLOW;
			return fate;
		}
	}
	fate.code_point = class->marks ? class->code_points[fate.color & (COLOR_ROOM - 1)] : packet->ds >> 2;
	return fate;
}

static __always_inline void count(__u32 class, __u32 color, const struct packet *packet, int is_dropped)
{
	__u32 at = class * COLORS + color;
	struct counter *counter = bpf_map_lookup_elem(&counters, &at);

	if (!counter)
		return;
	counter->packets += packet->segments;
	counter->bytes += packet->size;
	if (is_dropped) {
		counter->dropped_packets += packet->segments;
		counter->dropped_bytes += packet->size;
	}
}

SEC("tc")
int shortflow_edge(struct __sk_buff *skb)
{
	struct packet packet;
	const struct class *class;
	struct state *state;
	struct fate fate;
	__u32 number, color, draws[2];
	__u64 now;

	if (!read_packet(skb, settings.link, &packet))
		return TC_ACT_UNSPEC;
	number = classify(&packet);
	class = bpf_map_lookup_elem(&classes, &number);
	state = bpf_map_lookup_elem(&states, &number);
	if (!class || !state)
		return TC_ACT_UNSPEC;
	now = settings.is_test ? skb->tstamp : bpf_ktime_get_ns();
	draws[0] = settings.is_test ? skb->cb[0] : bpf_get_prandom_u32();
	draws[1] = settings.is_test ? skb->cb[1] : bpf_get_prandom_u32();
	fate = fate_of(skb, number, class, state, &packet, now, draws);
	color = fate.color & (COLOR_ROOM - 1);
	if (class->actions[color] == REMARK)
		fate.code_point = class->remarks[color];
	count(number, color, &packet, class->actions[color] == DROP);
	if (class->actions[color] == DROP)
		return TC_ACT_SHOT;
	write_code_point(skb, &packet, fate.code_point);
	return TC_ACT_UNSPEC;
}
