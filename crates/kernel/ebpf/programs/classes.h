// What crates/kernel/ebpf/src/edge writes and reads: classes with what they remember, counters. Every field stands where its
// size would have it.

#ifndef SHORTFLOW_CLASSES_H
#define SHORTFLOW_CLASSES_H

#include "kernel.h"

#include <bpf/bpf_helpers.h>

#include "sima.h"
#include "table.h"
#include "window.h"

#define MAX_CLASSES 32
#define MAX_LEVELS 64
// The most connections of an aggregate; a power of 2.
#define MAX_CONNECTIONS 256
// The bounds between which it is counted how long connections took: one less than a power of 2. And the groups of those that
// have sent about as much.
#define MAX_TIMES 15
#define SIZES 4

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
	METER_AGGREGATE,
	METER_ADMISSION,
};

// How the connections of an aggregate share its tokens.
enum { SHARING_PARTITIONED, SHARING_COMMON, SHARING_LOGICAL };

enum { FORWARD, DROP, REMARK };

struct class {
	union {
		struct {
			__u64 rate[2];
			// How much the buckets hold, and in how long their rates fill them. Both buckets of one rate count as
			// one here. An aggregate has one bucket, in whose second place is the peak rate; three times its depth
			// fill it however much is owed.
			__u64 depth[2], most[2], filling[2];
		};
		// How a load of SIMA decays in silence, in the time of a byte, and in that of a byte at the rate up to which a
		// packet has the precedence 1.
		struct {
			struct decay silence, sending, first_threshold;
		};
	};
	// Of admission control, a sample.
	__u64 window;
	union {
		struct {
			struct pace committed, peak;
		};
		struct {
			// The load up to which streams are admitted, and what each declares, in tokens per sample.
			__u64 target, declared;
		};
	};
	struct accounts accounts;
	// How many packets of a flow are green first.
	union {
		// Packets with which a flow begins, of a Fair Marker.
		__u64 threshold;
		// In which time a table does not turn over unless in a flood, of DSTF.
		__u64 crowded;
		// The bytes of the largest packet that ever keeps to the profile of an aggregate.
		__u64 max_packet;
		// How many samples are a window, of admission control.
		__u64 samples;
	};
	// The windows up to which a connection's packets are green and yellow, and with which it begins, in segments.
	__u32 high, medium, initial_window;
	__u8 is_random, only_again;
	// Of an aggregate, and whether its buckets are as deep as round-trip times are long.
	__u8 sharing, by_rtt;
	// The colour with which a packet comes, by its code point.
	__u8 incoming[64];
	__u8 code_points[COLOR_ROOM], actions[COLOR_ROOM], remarks[COLOR_ROOM];
	__u8 meter, color, marks, three_colors;
	// Which of the tables, or of the aggregates, is its own.
	__u8 table;
	__u8 unused[7];
};

struct state {
	struct bpf_spin_lock lock;
	__u32 unused;
	struct tally tally;
};

struct connection {
	struct name name;
	// When its last packet came, and the number of that.
	__u64 seen_at, turn;
	// Its tokens, which are below zero where they are owed, and how many it may have.
	__s64 held, depth;
	// What it has sent since it is known.
	__u64 bytes;
	// Its smoothed round-trip time in microseconds; 0 where that is not known.
	__u32 rtt;
	__u8 is_known, is_closed, has_share, unused;
};

// What a walk over the connections of an aggregate adds up.
struct sums {
	// Round-trip times that are known, and how many those are.
	__u64 rtts, known;
	// The weight of a connection whose round-trip time is not known, of all, and of those that were met; the depth in parts of
	// the weight of all, and what was given.
	__u64 unknown, all, weights, quotient, remainder, given;
	// What each gets, and how many still have room then; the most room that one has.
	__u64 each, open, most;
	// The connection that is looked for, and the one that was silent longest, by their numbers; `MAX_CONNECTIONS` is none.
	__u64 oldest_turn;
	__u32 found, oldest;
};

struct aggregate {
	struct bpf_spin_lock lock;
	// Whether a processor works on it.
	__u32 is_taken;
	__u64 turn, earned_at;
	// When the packet before has passed at the peak rate.
	__u64 peak_free_at;
	// What all connections hold, and what nobody holds yet, or what one owed that has left.
	__s64 held, pool;
	// How many numbers were ever given to connections, how many of these are free, and how many connections have a share.
	__u32 numbers, frees, shares, unused;
	struct sums sums;
	__u8 free[MAX_CONNECTIONS];
	struct connection each[MAX_CONNECTIONS];
};

// Thresholds in tokens, and code points of the levels between them.
struct levels {
	__u64 thresholds[MAX_LEVELS];
	__u8 code_points[MAX_LEVELS];
	__u64 last;
};

struct counter {
	__u64 packets, bytes, dropped_packets, dropped_bytes;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_CLASSES);
	__type(key, __u32);
	__type(value, struct class);
} classes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_CLASSES);
	__type(key, __u32);
	__type(value, struct state);
} states SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_CLASSES);
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

// As many as classes need one, which is set before the program is loaded.
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct aggregate);
} aggregates SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, MAX_CLASSES * COLORS);
	__type(key, __u32);
	__type(value, struct counter);
} counters SEC(".maps");

// The code points of the last packets with data, SYN or FIN that came to connections of this host, by the names of what these
// send; as many as are needed, which is set before the program is loaded.
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, struct name);
	__type(value, __u32);
} received SEC(".maps");

struct table_counter {
	__u64 hits, misses, evictions, used;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, MAX_CLASSES);
	__type(key, __u32);
	__type(value, struct table_counter);
} table_counters SEC(".maps");

// How long the connections of a class took that have sent about as much.
struct times {
	// How many took at most as long as each bound, and longer than the one before; of the last nothing is the bound.
	__u64 parts[MAX_TIMES + 1];
	// The nanoseconds of all, and how many connections were forgotten before their end.
	__u64 sum, unfinished;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, MAX_CLASSES * SIZES);
	__type(key, __u32);
	__type(value, struct times);
} times SEC(".maps");

// Set before the program is loaded.
const volatile struct {
	// What stands before IP packets.
	__u32 link;
	// Time and draws come with the packet, for tests.
	__u32 is_test;
	// Whether acknowledgements have the code point of what they acknowledge.
	__u32 echoes;
	// What rules ask for.
	__u32 asks;
	// The meters of its classes, a bit each. The kernel's verifier knows it, and neither looks at other meters nor keeps them.
	__u32 meters;
	// Whether applications say where objects begin, and up to which of their bytes levels go.
	__u32 objects;
	// 2^(-i/64) in parts of 2^-63.
	__u64 powers[POWERS];
	// Up to how many nanoseconds and bytes connections are counted together.
	__u64 times[MAX_TIMES], sizes[SIZES - 1];
} settings;

#endif
