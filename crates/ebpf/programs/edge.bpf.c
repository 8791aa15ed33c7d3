// Conditions packets at the edge of a domain: which class a packet belongs to, which colour it has there, which code
// point that gives it, and whether it goes on (RFC 2475 §2.3). The twin of `Conditioner` of crates/elements, whose
// decisions are the same to the last bit; `deploy` brings it to devices.

#include "kernel.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "buckets.h"
#include "packet.h"
#include "window.h"

// The kernel lends helpers to programs under its own licence; this one is also under ours.
char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define MOST_RULES 64
#define MOST_CLASSES 32

enum { GREEN, YELLOW, RED, COLORS };

enum {
	METER_FIXED,
	METER_TOKEN_BUCKET,
	METER_TWO_BUCKETS,
	METER_SR_TCM,
	METER_TR_TCM,
	METER_TSW,
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
	__u64 rate[2];
	// How much the buckets hold, and in how long their rates fill them. Both buckets of one rate count as one here.
	__u64 depth[2], most[2], filling[2];
	__u64 window;
	struct pace committed, peak;
	// The colour with which a packet comes, by its code point.
	__u8 incoming[64];
	__u8 code_points[COLORS];
	__u8 actions[COLORS];
	__u8 remarks[COLORS];
	__u8 meter, color, marks, three_colors;
	__u8 unused[3];
};

struct state {
	struct bpf_spin_lock lock;
	__u32 unused;
	// When tokens were earned last, or the last packet came.
	__u64 at;
	// Tokens of both buckets; bytes in the window in the first.
	__u64 held[2];
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
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, MOST_CLASSES * COLORS);
	__type(key, __u32);
	__type(value, struct counter);
} counters SEC(".maps");

// Set before the program is loaded.
const volatile struct {
	// What stands before IP packets.
	__u32 link;
	// Time and draws come with the packet, for tests.
	__u32 is_test;
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

// Tokens are earned once, however the clock is set.
static __always_inline __u64 elapsed_since(struct state *state, __u64 now)
{
	__u64 elapsed = now > state->at ? now - state->at : 0;

	state->at += elapsed;
	return elapsed;
}

static __always_inline void earn(const struct class *class, struct state *state, __u64 elapsed)
{
	__u64 first = earned(class->rate[0], elapsed, class->filling[0], class->most[0]);

	first = fill(&state->held[0], class->depth[0], first);
	if (class->meter == METER_SR_TCM) {
		fill(&state->held[1], class->depth[1], first);
		return;
	}
	fill(&state->held[1], class->depth[1], earned(class->rate[1], elapsed, class->filling[1], class->most[1]));
}

static __always_inline __u32 color_by_buckets(const struct class *class, struct state *state,
					      __u64 tokens, __u32 incoming)
{
	switch (class->meter) {
	case METER_TOKEN_BUCKET:
		return try_take(&state->held[0], tokens) ? GREEN : YELLOW;
	case METER_TR_TCM:
		if (incoming == RED || !try_take(&state->held[1], tokens))
			return RED;
		return incoming == YELLOW || !try_take(&state->held[0], tokens) ? YELLOW : GREEN;
	default:
		if (incoming == GREEN && try_take(&state->held[0], tokens))
			return GREEN;
		return incoming <= YELLOW && try_take(&state->held[1], tokens) ? YELLOW : RED;
	}
}

static __always_inline __u32 color_by_window(const struct class *class, struct state *state,
					     __u64 elapsed, __u32 size, __u32 draw)
{
	__u64 idle = elapsed < MOST_IDLE ? elapsed : MOST_IDLE;
	__u64 span = class->window + idle, all = state->held[0] + ((__u64)size << 16);
	__u64 over = excess(all, carried(&class->committed, span));

	state->held[0] = all - part(all, idle, span);
	if (class->three_colors && draw < excess(all, carried(&class->peak, span)))
		return RED;
	return draw < over ? YELLOW : GREEN;
}

static __always_inline __u32 color_of(const struct class *class, struct state *state,
				      const struct packet *packet, __u64 now, __u32 draw)
{
	__u32 incoming = class->incoming[packet->ds >> 2], color;
	__u64 elapsed;

	if (class->meter == METER_FIXED)
		return class->color;
	bpf_spin_lock(&state->lock);
	elapsed = elapsed_since(state, now);
	if (class->meter == METER_TSW) {
		color = color_by_window(class, state, elapsed, packet->size, draw);
	} else {
		earn(class, state, elapsed);
		color = color_by_buckets(class, state, packet->size * PER_BYTE, incoming);
	}
	bpf_spin_unlock(&state->lock);
	return color;
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
int edge(struct __sk_buff *skb)
{
	struct packet packet;
	const struct class *class;
	struct state *state;
	__u32 number, color, code_point, draw;
	__u64 now;

	if (!read_packet(skb, settings.link, &packet))
		return TC_ACT_UNSPEC;
	number = classify(&packet);
	class = bpf_map_lookup_elem(&classes, &number);
	state = bpf_map_lookup_elem(&states, &number);
	if (!class || !state)
		return TC_ACT_UNSPEC;
	now = settings.is_test ? skb->tstamp : bpf_ktime_get_ns();
	draw = settings.is_test ? skb->cb[0] : bpf_get_prandom_u32();
	color = color_of(class, state, &packet, now, draw);
	if (color > RED)
		color = RED;
	code_point = class->marks ? class->code_points[color] : packet.ds >> 2;
	if (class->actions[color] == REMARK)
		code_point = class->remarks[color];
	count(number, color, &packet, class->actions[color] == DROP);
	if (class->actions[color] == DROP)
		return TC_ACT_SHOT;
	write_code_point(skb, &packet, code_point);
	return TC_ACT_UNSPEC;
}
