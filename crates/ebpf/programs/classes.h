// What crates/ebpf/src/edge writes and reads: rules, classes with what they remember, counters. Every field stands where its
// size would have it.

#ifndef SHORTFLOW_CLASSES_H
#define SHORTFLOW_CLASSES_H

#include "kernel.h"

#include <bpf/bpf_helpers.h>

#include "sima.h"
#include "table.h"
#include "window.h"

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

#endif
