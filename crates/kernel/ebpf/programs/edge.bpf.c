// Conditions packets at the edge of a domain: which class a packet belongs to, which colour it has there, which code
// point that gives it, and whether it goes on (RFC 2475 §2.3). The twin of `Conditioner` of crates/node/elements, whose
// decisions are the same to the last bit; `deploy` brings it to devices.

#include "kernel.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "admission.h"
#include "aggregate.h"
#include "buckets.h"
#include "classes.h"
#include "packet.h"
#include "rules.h"
#include "tcp.h"
#include "times.h"

// The kernel lends helpers to programs under its own licence; this one is also under ours.
char LICENSE[] SEC("license") = "Dual MIT/GPL";

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

	if (idle > MAX_IDLE)
		idle = MAX_IDLE;
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

// The first segment of a packet that a device will cut is of a new flow; then the others know it, unless a table has no room.
static __always_inline void count_seen(__u32 class, const struct seen *seen, const struct packet *packet)
{
	struct table_counter *counter = bpf_map_lookup_elem(&table_counters, &class);
	__u32 fresh = seen->used ? seen->is_new : packet->segments;

	if (seen->ended | seen->forgotten)
		count_ends(class, seen->ended, seen->took, seen->forgotten);
	if (!counter)
		return;
	counter->hits += packet->segments - fresh;
	counter->misses += fresh;
	counter->evictions += seen->has_displaced;
	counter->used = seen->used;
}

// Packets of the flow that came before this one.
static __always_inline __u64 packets_before(__u32 number, const struct class *class, struct table *table,
					    const struct packet *packet, __u64 now)
{
	const struct accounts *accounts = &class->accounts;
	struct name name = name_of(packet, accounts);
	struct seen seen = { .now = now, .packet = packet };
	__u64 before;

	// A table without room takes every packet for a flow's first.
	if (!accounts->entries) {
		seen.is_new = 1;
		count_seen(number, &seen, packet);
		return 0;
	}
	bpf_spin_lock(&table->lock);
	see(table, accounts, &name, &seen);
	before = seen.is_new ? 0 : seen.entry->value;
	seen.entry->value = before + packet->segments;
	bpf_spin_unlock(&table->lock);
	count_seen(number, &seen, packet);
	return before;
}

// What the committed rate leaves for packets that were not green first, in the span of their window.
static __always_inline __u64 left_by_green(const struct class *class, const struct tally *tally, __u64 now, __u64 span)
{
	__u64 idle = now > tally->at[0] ? now - tally->at[0] : 0, green_span, all;

	green_span = class->window + (idle < MAX_IDLE ? idle : MAX_IDLE);
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
	struct seen seen = { .now = now, .packet = packet };
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
	while (level < MAX_LEVELS - 1 && level < levels->last && levels->thresholds[level] < sent)
		level++;
	after = sent + (level < levels->last ? packet->size * PER_BYTE : 0);
	seen.entry->value = after < class->most[0] ? after : class->most[0];
	bpf_spin_unlock(&table->lock);
	count_seen(number, &seen, packet);
	return level;
}

// When a packet comes, and 32 random bits for it. Each takes as long as finding a packet's class, so only a meter that needs it
// asks for it.

static __always_inline __u64 time_of(struct __sk_buff *skb)
{
	return settings.is_test ? skb->tstamp : bpf_ktime_get_ns();
}

// The same to a tick of the kernel's timer (CONFIG_HZ: 1 to 10 ms), which takes half as long to read: for what forgets bytes
// and silent flows over seconds. Packets from which to which connections are timed have the exact time.
static __always_inline __u64 tick_of(struct __sk_buff *skb, const struct packet *packet)
{
	if (settings.is_test || packet->flags & (SYN | FIN | RST))
		return time_of(skb);
	return bpf_ktime_get_coarse_ns();
}

static __always_inline __u32 draw(struct __sk_buff *skb)
{
	return settings.is_test ? skb->cb[0] : bpf_get_prandom_u32();
}

static __always_inline __u64 draw_two(struct __sk_buff *skb)
{
	__u64 second = settings.is_test ? skb->cb[1] : bpf_get_prandom_u32();

	return second << 32 | draw(skb);
}

// Whether one of 2^32 draws is below threshold/window.
static __always_inline int is_within(__u32 threshold, __u32 window, __u32 draw)
{
	return draw < ((__u64)threshold << 32) / window;
}

// Marking by the state of the sending TCP (Noureddine & Tobagi 2002, Algorithm 1).
static __always_inline __u32 color_by_sender(const struct class *class, const struct packet *packet,
					     const struct sender *sender, __u64 draws)
{
	if (!sender->is_known)
		return RED;
	if (sender->window <= class->high)
		return GREEN;
	if (packet->flags & SYN || (sender->is_recovering && (!class->only_again || sender->is_again)))
		return GREEN;
	if (!class->is_random)
		return sender->window <= class->medium ? YELLOW : RED;
	if (is_within(class->high, sender->window, draws))
		return GREEN;
	return sender->window <= class->medium || is_within(class->medium, sender->window, draws >> 32) ? YELLOW : RED;
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

// The tally of a packet's flow or hosts, which has `fresh` behind it where that is new. A new one that displaces another
// goes on with what that has left.
static __always_inline struct tally *own_tally(const struct class *class, struct table *table, const struct name *name,
					       const __u64 *fresh, struct seen *seen)
{
	see(table, &class->accounts, name, seen);
	if (seen->is_new && !seen->has_displaced) {
		seen->tally->at[0] = 0;
		seen->tally->held[0] = fresh[0];
		seen->tally->held[1] = fresh[1];
	}
	return seen->tally;
}

static __always_inline __u32 color_in(const struct class *class, struct tally *tally, const struct packet *packet, __u64 now)
{
	earn(class, tally, elapsed_since(&tally->at[0], now));
	return color_by_buckets(class, tally, packet->size * PER_BYTE, class->incoming[packet->ds >> 2]);
}

// What there is for a packet of a class.
struct room {
	const struct class *class;
	struct state *state;
	struct table *table;
};

// Whether it is there, and the packet too.
static __always_inline int find_room(__u32 number, const struct packet *packet, struct room *room)
{
	__u32 which;

	room->class = bpf_map_lookup_elem(&classes, &number);
	room->state = bpf_map_lookup_elem(&states, &number);
	if (!packet || !room->class || !room->state)
		return 0;
	which = room->class->table;
	room->table = bpf_map_lookup_elem(&tables, &which);
	return !!room->table;
}

// The meters, which find their room themselves and return numbers.

// More than the thresholds of a policy (`MAX_DEPTH` of src/edge/mod.rs), whose tokens fit into 64 bits.
#define MAX_BYTES (1ULL << 31)

// The level by what an application has said of the packet's object; that of its flow or hosts where it has said nothing.
static __always_inline __u32 level_in_object(struct __sk_buff *skb, const struct packet *packet, const struct levels *levels,
					     __u32 of_flow)
{
	struct progress progress = {};
	__u32 level = 0;
	__u64 sent;

	read_object(skb, packet, &progress);
	if (!progress.is_known)
		return of_flow;
	if (progress.has_level)
		return progress.level < levels->last ? progress.level : levels->last;
	sent = (progress.sent < MAX_BYTES ? progress.sent : MAX_BYTES) * PER_BYTE;
	while (level < MAX_LEVELS - 1 && level < levels->last && levels->thresholds[level] < sent)
		level++;
	return level;
}

APART __u32 meter_by_dstf(__u32 number, const struct packet *packet, __u64 now, struct __sk_buff *skb)
{
	const struct levels *own = bpf_map_lookup_elem(&levels, &number);
	struct room room;
	__u32 level;

	if (!own || !find_room(number, packet, &room))
		return 0;
	level = level_of(number, room.class, own, room.table, packet, now);
	return settings.objects ? level_in_object(skb, packet, own, level) : level;
}

APART __u32 meter_by_sender(__u32 number, const struct packet *packet, struct __sk_buff *skb)
{
	struct sender sender;
	struct room room;

	if (!find_room(number, packet, &room))
		return GREEN;
	sender = ask_sender(skb, packet, room.class->initial_window);
	return color_by_sender(room.class, packet, &sender, room.class->is_random ? draw_two(skb) : 0);
}

APART __u32 meter_by_age(__u32 number, const struct packet *packet, __u64 now, __u32 draw)
{
	struct room room;
	__u32 color;
	int is_early;

	if (!find_room(number, packet, &room))
		return GREEN;
	is_early = packets_before(number, room.class, room.table, packet, now) < room.class->threshold;
	bpf_spin_lock(&room.state->lock);
	color = color_by_age(room.class, &room.state->tally, is_early, now, packet->size, draw);
	bpf_spin_unlock(&room.state->lock);
	return color;
}

APART __u32 meter_by_window(__u32 number, const struct packet *packet, __u64 now, __u32 draw)
{
	struct room room;
	__u32 color;

	if (!find_room(number, packet, &room))
		return GREEN;
	bpf_spin_lock(&room.state->lock);
	color = color_by_window(room.class, &room.state->tally, now, packet->size, draw);
	bpf_spin_unlock(&room.state->lock);
	return color;
}

// In the buckets that all have in common, or in those of the packet's flow or hosts.
APART __u32 meter_by_buckets(__u32 number, const struct packet *packet, __u64 now)
{
	struct seen seen = { .now = now, .packet = packet };
	struct tally *tally;
	struct name name;
	struct room room;
	__u32 color;

	if (!find_room(number, packet, &room))
		return GREEN;
	if (room.class->accounts.by == BY_NOBODY) {
		bpf_spin_lock(&room.state->lock);
		color = color_in(room.class, &room.state->tally, packet, now);
		bpf_spin_unlock(&room.state->lock);
		return color;
	}
	name = name_of(packet, &room.class->accounts);
	bpf_spin_lock(&room.table->lock);
	tally = own_tally(room.class, room.table, &name, room.class->depth, &seen);
	color = color_in(room.class, tally, packet, now);
	bpf_spin_unlock(&room.table->lock);
	count_seen(number, &seen, packet);
	return color;
}

// The drop precedence of a packet by the momentary rate (Laatu, Harju & Loula 2003, section 2): by that of all, or of its flow
// or hosts.
APART __u32 meter_by_rate(__u32 number, const struct packet *packet, __u64 now)
{
	const __u64 fresh[2] = { NOTHING_PARTS, NOTHING_HALVINGS };
	struct seen seen = { .now = now, .packet = packet };
	struct tally *tally;
	struct load added;
	struct rate rate;
	struct name name;
	struct room room;
	__u32 bytes;

	if (!find_room(number, packet, &room))
		return 0;
	bytes = packet->size ? packet->size : 1;
	added = lost_after(settings.powers, halvings_within(&room.class->sending, 0, bytes));
	if (room.class->accounts.by == BY_NOBODY) {
		bpf_spin_lock(&room.state->lock);
		rate = rate_by_load(room.class, &room.state->tally, now, added);
		bpf_spin_unlock(&room.state->lock);
	} else {
		name = name_of(packet, &room.class->accounts);
		bpf_spin_lock(&room.table->lock);
		tally = own_tally(room.class, room.table, &name, fresh, &seen);
		rate = rate_by_load(room.class, tally, now, added);
		bpf_spin_unlock(&room.table->lock);
		count_seen(number, &seen, packet);
	}
	return precedence_of(settings.powers, &rate, &room.class->first_threshold, bytes);
}

// Whether a packet keeps to its connection's share of the profile of an aggregate (Mehra, Tewari & Kandlur 1999, section 4.2).
APART __u32 meter_by_share(__u32 number, const struct packet *packet, __u64 now, struct __sk_buff *skb)
{
	struct seen seen = { .now = now };
	struct connection *one;
	struct walk walk = {};
	__u32 which, color;

	walk.class = bpf_map_lookup_elem(&classes, &number);
	if (!packet || !walk.class)
		return YELLOW;
	which = walk.class->table;
	walk.in = bpf_map_lookup_elem(&aggregates, &which);
	if (!walk.in || !take(&walk))
		return YELLOW;
	walk.now = now;
	walk.name = name_of_flow(packet);
	one = see_connection(&walk, packet, &seen);
	set_rtt(&walk, one, settings.is_test ? skb->cb[2] : smoothed_rtt(skb, packet));
	color = admit(&walk, one, skb, packet) ? GREEN : YELLOW;
	passed(&walk, one, packet);
	give_back(walk.in);
	count_seen(number, &seen, packet);
	return color;
}

// Whether a packet's stream is admitted, and the packet within what it has declared (Jamin et al. 1997).
APART __u32 meter_by_admission(__u32 number, const struct packet *packet, __u64 now)
{
	struct seen seen = { .now = now, .packet = packet };
	__u64 loaded_at;
	struct name name;
	struct room room;
	__u32 color;

	if (!find_room(number, packet, &room))
		return RED;
	name = name_of(packet, &room.class->accounts);
	loaded_at = room.state->tally.at[0];
	bpf_spin_lock(&room.table->lock);
	color = color_of_stream(room.class, room.table, &name, packet, &seen, now, loaded_at);
	bpf_spin_unlock(&room.table->lock);
	count_seen(number, &seen, packet);
	return color;
}

// What becomes of a packet.
struct fate {
	__u32 color;
	__u8 code_point;
};

static __always_inline int has_meter(const struct class *class, __u32 meter)
{
	return (settings.meters & (1U << meter)) && class->meter == meter;
}

static __always_inline __u32 color_of(struct __sk_buff *skb, __u32 number, const struct class *class,
				      const struct packet *packet)
{
	if (has_meter(class, METER_TCP_STATE))
		return meter_by_sender(number, packet, skb);
	if (has_meter(class, METER_FAIR_MARKER))
		return meter_by_age(number, packet, time_of(skb), draw(skb));
	if (has_meter(class, METER_ADMISSION))
		return meter_by_admission(number, packet, time_of(skb));
	if (has_meter(class, METER_AGGREGATE))
		return meter_by_share(number, packet, time_of(skb), skb);
	if (has_meter(class, METER_TSW))
		return meter_by_window(number, packet, time_of(skb), draw(skb));
	if (has_meter(class, METER_TOKEN_BUCKET) || has_meter(class, METER_TWO_BUCKETS) || has_meter(class, METER_SR_TCM) ||
	    has_meter(class, METER_TR_TCM))
		return meter_by_buckets(number, packet, time_of(skb));
	return class->color;
}

// Of a class whose levels have code points of their own.
static __always_inline struct fate fate_by_level(struct __sk_buff *skb, __u32 number, const struct class *class,
						 const struct packet *packet, __u64 now)
{
	const struct levels *own = bpf_map_lookup_elem(&levels, &number);
	struct fate fate = { .color = class->color };
	__u32 level = 0;

	if (!own)
		return fate;
	if (has_meter(class, METER_DSTF)) {
		level = meter_by_dstf(number, packet, now, skb);
		fate.color = !level ? GREEN : level == own->last ? RED : YELLOW;
	} else if (has_meter(class, METER_SIMA)) {
		level = meter_by_rate(number, packet, now);
		fate.color = !level ? RED : level == BEST ? GREEN : YELLOW;
	}
	fate.code_point = own->code_points[level & (MAX_LEVELS - 1)];
	return fate;
}

static __always_inline struct fate fate_of(struct __sk_buff *skb, __u32 number, const struct class *class,
					   const struct packet *packet)
{
	struct fate fate;

	if (has_meter(class, METER_DSTF))
		return fate_by_level(skb, number, class, packet, tick_of(skb, packet));
	if (has_meter(class, METER_SIMA))
		return fate_by_level(skb, number, class, packet, time_of(skb));
	fate.color = color_of(skb, number, class, packet) & (COLOR_ROOM - 1);
	fate.code_point = class->marks ? class->code_points[fate.color] : packet->ds >> 2;
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

// Whether it is a packet of IP whose header can be read.
APART int parse(struct __sk_buff *skb, struct packet *packet)
{
	return packet && read_packet(skb, settings.link, packet);
}

// What becomes of a packet of a class.
static __always_inline int condition(struct __sk_buff *skb, __u32 number, const struct class *class,
				     const struct packet *packet)
{
	struct fate fate = fate_of(skb, number, class, packet);
	__u32 color = fate.color & (COLOR_ROOM - 1);

	if (class->actions[color] == REMARK)
		fate.code_point = class->remarks[color];
	count(number, color, packet, class->actions[color] == DROP);
	if (class->actions[color] == DROP)
		return TC_ACT_SHOT;
	write_code_point(skb, packet, fate.code_point);
	return TC_ACT_UNSPEC;
}

// Whether it is an acknowledgement alone, which has the code point of what came last to its connection then.
APART int echo(struct __sk_buff *skb, const struct packet *packet)
{
	struct name name;
	__u32 *code_point;

	if (!packet || packet->protocol != TCP || !is_bare_acknowledgement(skb, packet))
		return 0;
	// What a router forwards is of no connection of its own.
	if (!settings.is_test && !skb->sk)
		return 0;
	name = name_of_flow(packet);
	code_point = bpf_map_lookup_elem(&received, &name);
	if (!code_point)
		return 0;
	write_code_point(skb, packet, *code_point & 63);
	return 1;
}

// Sees what a device receives, and keeps the code points that acknowledgements are to have.
SEC("tc")
int shortflow_echo(struct __sk_buff *skb)
{
	struct packet packet = {};
	struct name name;
	__u32 code_point;

	if (!parse(skb, &packet) || packet.protocol != TCP || !packet.tcp_at || is_bare_acknowledgement(skb, &packet))
		return TC_ACT_UNSPEC;
	name = name_of_answers(&packet);
	code_point = packet.ds >> 2;
	bpf_map_update_elem(&received, &name, &code_point, BPF_ANY);
	return TC_ACT_UNSPEC;
}

SEC("tc")
int shortflow_edge(struct __sk_buff *skb)
{
	const struct class *class;
	struct packet packet = {};
	__u32 number;

	if (!parse(skb, &packet) || (settings.echoes && echo(skb, &packet)))
		return TC_ACT_UNSPEC;
	number = classify(skb, &packet);
	class = bpf_map_lookup_elem(&classes, &number);
	return class ? condition(skb, number, class, &packet) : TC_ACT_UNSPEC;
}
