// A bounded table of the flows or hosts that were seen last: an exact LRU list with what crates/node/elements/src/table.rs
// remembers. The silent are forgotten when they are met, which nobody can tell from forgetting them at once: they are
// the oldest of the list.

#ifndef SHORTFLOW_TABLE_H
#define SHORTFLOW_TABLE_H

#include "hash.h"
#include "kernel.h"
#include "packet.h"
#include "sima.h"

// The most entries of a table; a power of 2.
#define MAX_ENTRIES (1 << 16)
// How many entries of one bucket are looked at. Under a hash with a seed that nobody outside knows, and with as many
// buckets as entries, more than 32 meet in fewer than one of 10^30 buckets.
#define MAX_IN_BUCKET 32

// Whose packets are accounted for together.
enum { BY_NOBODY, BY_FLOW, BY_HOST_PAIR, BY_SOURCE, BY_DESTINATION };

struct name {
	__u64 source[2], destination[2], rest;
};

// As long as a line of most caches. Places are counted from 1; 0 is nowhere.
struct entry {
	struct name name;
	__u64 value, seen_at;
	// The next in its bucket, and the sequence number of the first packet of its connection.
	__u32 next, first_sequence;
};

// The neighbours of an entry in the order in which all were seen: apart from it, since a packet changes those of up to five
// entries, of which the rest does not matter. And what it has sent since it is known, or since another connection of its name has
// begun, in bytes.
struct neighbours {
	__u32 older, newer;
	__u64 bytes;
};

// What a meter remembers.
struct tally {
	// When tokens were earned last; when the last packet came in each window.
	__u64 at[2];
	// Tokens of both buckets; bytes in each window; a load.
	union {
		__u64 held[2];
		struct load load;
	};
};

// The measured load of the streams of a table, in tokens per sample.
struct measured {
	__u64 estimate;
	// The highest average in this window, and what came in this sample.
	__u64 highest, current;
	__u64 sample_ends;
	// Samples until the window ends; 0 where nothing has come yet.
	__u64 left;
};

struct table {
	struct bpf_spin_lock lock;
	__u32 used, oldest, newest;
	// When the newest was seen.
	__u64 newest_at;
	struct measured load;
	struct entry entries[MAX_ENTRIES];
	struct neighbours neighbours[MAX_ENTRIES];
	// Those of the entries, where each has a meter of its own.
	struct tally tallies[MAX_ENTRIES];
	__u32 buckets[MAX_ENTRIES];
	// When the connection of each began, where that was seen and its end was not; else 0. Apart from the entries, since it
	// is looked at when a connection begins and when it ends alone.
	__u64 begun[MAX_ENTRIES];
};

// How a class uses its table.
struct accounts {
	// What a host of IPv6 is known by.
	__u64 ipv6_mask[2];
	__u64 idle_timeout, seed;
	__u32 entries;
	__u8 by, unused[3];
};

// What a table holds for a packet's name.
struct seen {
	struct entry *entry;
	struct tally *tally;
	// When a packet of this name came last; now, for a new one.
	__u64 before, now;
	// What a new one has displaced, and when that was seen last.
	__u64 displaced, displaced_at;
	// What the connection has sent that has ended with this packet, and how long it took; what one has sent that is forgotten
	// before its end. 0 without such a connection.
	__u64 ended, took, forgotten;
	const struct packet *packet;
	// Places of the table that were ever used.
	__u32 used;
	__u8 is_new, has_displaced;
};

static __always_inline __u32 *bucket_of(struct table *table, const struct name *name, __u64 seed)
{
	__u64 hash = mix(seed ^ name->source[0]);

	hash = mix(hash ^ name->source[1]);
	hash = mix(hash ^ name->destination[0]);
	hash = mix(hash ^ name->destination[1]);
	hash = mix(hash ^ name->rest);
	return &table->buckets[hash & (MAX_ENTRIES - 1)];
}

static __always_inline struct entry *entry_at(struct table *table, __u32 place)
{
	return &table->entries[(place - 1) & (MAX_ENTRIES - 1)];
}

static __always_inline struct neighbours *neighbours_of(struct table *table, __u32 place)
{
	return &table->neighbours[(place - 1) & (MAX_ENTRIES - 1)];
}

static __always_inline struct tally *tally_of(struct table *table, __u32 place)
{
	return &table->tallies[(place - 1) & (MAX_ENTRIES - 1)];
}

static __always_inline struct name name_between(const __u64 *source, __u16 source_port, const __u64 *destination,
						__u16 destination_port, __u8 protocol)
{
	struct name name;

	__builtin_memcpy(name.source, source, sizeof(name.source));
	__builtin_memcpy(name.destination, destination, sizeof(name.destination));
	name.rest = (__u64)source_port << 32 | (__u64)destination_port << 16 | protocol;
	return name;
}

static __always_inline struct name name_of_flow(const struct packet *packet)
{
	return name_between(packet->source, packet->source_port, packet->destination, packet->destination_port,
			    packet->protocol);
}

// The flow in which a packet is answered.
static __always_inline struct name name_of_answers(const struct packet *packet)
{
	return name_between(packet->destination, packet->destination_port, packet->source, packet->source_port,
			    packet->protocol);
}

static __always_inline struct name name_of(const struct packet *packet, const struct accounts *accounts)
{
	struct name name = {};

	if (accounts->by == BY_FLOW)
		return name_of_flow(packet);
	if (accounts->by != BY_DESTINATION)
		name_host(name.source, packet->source, accounts->ipv6_mask);
	if (accounts->by != BY_SOURCE)
		name_host(name.destination, packet->destination, accounts->ipv6_mask);
	return name;
}

static __always_inline int is_same(const struct name *a, const struct name *b)
{
	return !((a->source[0] ^ b->source[0]) | (a->source[1] ^ b->source[1]) |
		 (a->destination[0] ^ b->destination[0]) | (a->destination[1] ^ b->destination[1]) |
		 (a->rest ^ b->rest));
}

static __always_inline void unlink_place(struct table *table, __u32 place)
{
	__u32 older = neighbours_of(table, place)->older, newer = neighbours_of(table, place)->newer;

	if (older)
		neighbours_of(table, older)->newer = newer;
	else
		table->oldest = newer;
	if (newer)
		neighbours_of(table, newer)->older = older;
	else
		table->newest = older;
}

static __always_inline void link_newest(struct table *table, __u32 place)
{
	struct neighbours *own = neighbours_of(table, place);

	own->older = table->newest;
	own->newer = 0;
	if (table->newest)
		neighbours_of(table, table->newest)->newer = place;
	else
		table->oldest = place;
	table->newest = place;
}

// Takes an entry out of its bucket.
static __always_inline void leave_bucket(struct table *table, __u32 place, __u64 seed)
{
	struct entry *leaving = entry_at(table, place);
	__u32 *link = bucket_of(table, &leaving->name, seed);
	__u32 before = 0, here = *link;

	for (int i = 0; i < MAX_IN_BUCKET && here; i++) {
		if (here == place) {
			if (before)
				entry_at(table, before)->next = leaving->next;
			else
				*link = leaving->next;
			return;
		}
		before = here;
		here = entry_at(table, here)->next;
	}
}

// The place for a new entry: an unused one, else that of the oldest.
static __always_inline __u32 place_for_new(struct table *table, const struct accounts *accounts, struct seen *seen)
{
	__u32 place = table->oldest;
	struct entry *oldest;

	if (table->used < accounts->entries && table->used < MAX_ENTRIES)
		return ++table->used;
	oldest = entry_at(table, place);
	// One that was silent for too long has gone before, and displaces nothing.
	if (seen->now - oldest->seen_at <= accounts->idle_timeout) {
		seen->has_displaced = 1;
		seen->displaced = oldest->value;
		seen->displaced_at = oldest->seen_at;
	}
	leave_bucket(table, place, accounts->seed);
	unlink_place(table, place);
	return place;
}

// Whether another connection begins with a packet whose name is known: with a SYN that was not sent before.
static __always_inline int is_begun_anew(const struct entry *entry, const struct packet *packet)
{
	return packet->flags & SYN && packet->sequence != entry->first_sequence;
}

// Notes which connection begins with a packet, and which ends. One whose SYN was not seen began before, and is not timed; one
// that has ended is not timed again, whatever is sent again of it.
static __always_inline void note_ends(struct table *table, __u32 place, struct seen *seen)
{
	const struct packet *packet = seen->packet;
	struct neighbours *own = neighbours_of(table, place);
	struct entry *entry = entry_at(table, place);
	__u64 *kept = &table->begun[(place - 1) & (MAX_ENTRIES - 1)], begun = *kept;

	if (seen->is_new || is_begun_anew(entry, packet)) {
		seen->forgotten = begun ? own->bytes : 0;
		begun = packet->flags & SYN ? seen->now : 0;
		entry->first_sequence = packet->sequence;
		own->bytes = 0;
	}
	if (packet->flags & (FIN | RST)) {
		seen->ended = begun ? own->bytes + packet->size : 0;
		seen->took = seen->now - begun;
		begun = 0;
	}
	*kept = begun;
}

// Notes that a packet of `name` has come; `seen->now` is the time, which a table never sees run backwards. The value and the
// tally of a new one are left as they were. To be called under the table's lock.
static __always_inline void see(struct table *table, const struct accounts *accounts, const struct name *name,
				struct seen *seen)
{
	__u32 *bucket = bucket_of(table, name, accounts->seed);
	__u32 place = *bucket, found = 0;
	struct entry *entry;

	if (table->newest_at > seen->now)
		seen->now = table->newest_at;
	table->newest_at = seen->now;
	for (int i = 0; i < MAX_IN_BUCKET && place; i++) {
		entry = entry_at(table, place);
		if (is_same(&entry->name, name)) {
			found = place;
			break;
		}
		place = entry->next;
	}
	if (found) {
		entry = entry_at(table, found);
		seen->is_new = seen->now - entry->seen_at > accounts->idle_timeout;
		if (found != table->newest) {
			unlink_place(table, found);
			link_newest(table, found);
		}
	} else {
		seen->is_new = 1;
		found = place_for_new(table, accounts, seen);
		entry = entry_at(table, found);
		entry->name = *name;
		entry->next = *bucket;
		*bucket = found;
		link_newest(table, found);
	}
	if (accounts->by == BY_FLOW) {
		if (seen->is_new || seen->packet->flags & (SYN | FIN | RST))
			note_ends(table, found, seen);
	} else if (seen->is_new) {
		neighbours_of(table, found)->bytes = 0;
	}
	neighbours_of(table, found)->bytes += seen->packet->size;
	seen->entry = entry;
	seen->tally = tally_of(table, found);
	seen->used = table->used;
	seen->before = seen->is_new ? seen->now : entry->seen_at;
	entry->seen_at = seen->now;
}

#endif
