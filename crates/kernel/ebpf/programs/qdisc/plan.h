// What crates/kernel/ebpf/src/qdisc writes and reads: how packets wait, and those that do. Every field stands where its size
// would have it.
//
// The files of this folder know no packet of the kernel: they decide about places that packets have. Who includes them provides
//
//   struct waiting *waiting_at(__u32)     the packet at a place; 0 where there is no such place
//   struct flow *flow_at(__u32)           the flow with this number; 0 where there is no such number
//   struct flow_queue *flow_queue_at(__u32)  the queue of flows with this number; 0 where there is no such number
//   struct ranked *ranked_at(__u32)       an entry of the array in which all rankings are; 0 behind its end
//   __u32 find_flow(const struct flow_key *)          the number under which a key was kept; none where it was not
//   int keep_flow(const struct flow_key *, __u32)     keeps a number under a key, in place of another; not 0 where it cannot
//   void drop_flow(const struct flow_key *)           keeps none under a key
//   __u64 draw(void)                      64 random bits
//   __u64 seed_of(__u32)                  the same for the hash of flows in turn with this number
//   void give_up(struct holder *, __u32)  drops the packet at a place
//   EACH(i, n)                            a loop over 0 to n - 1

#ifndef SHORTFLOW_QDISC_PLAN_H
#define SHORTFLOW_QDISC_PLAN_H

#include "../kernel.h"
#include "../real.h"
#include "../wide.h"

// The queues of a plan; a bit of a word each.
#define MAX_QUEUES 64
// The queues with RED, and the levels of each.
#define MAX_REDS 8
#define MAX_LEVELS_OF_RED 8
// The queues of SIMA's core node, and the buffers of each, which are a queue of the plan each.
#define MAX_SIMAS 16
#define BUFFERS 2
// The queues that know flows.
#define MAX_STFS 8
// Those that serve flows in turn, and the queues of flows of all.
#define MAX_FQS 16
#define MAX_FLOW_QUEUES (1 << 14)
// The rankings that a flow can be in.
#define RANKINGS_OF_FLOW 4
// No place, and no flow.
#define NONE (~0U)

enum { SCHEDULER_STRICT, SCHEDULER_SHARED, SCHEDULER_WEIGHTED, SCHEDULER_DEFICIT, SCHEDULER_FAIR };
enum { GATE_TAIL, GATE_RED, GATE_STF, GATE_SIMA, GATE_FQ };
enum { AVERAGES_SHARED, AVERAGES_PER_LEVEL, AVERAGES_COUPLED };
enum { SPACING_UNIFORM, SPACING_WAIT, SPACING_UNCLAMPED, SPACING_GEOMETRIC };
enum { PLAIN, ATM, PTM };
enum { FAIR_AMONG_FLOWS, FAIR_AMONG_SOURCES, FAIR_AMONG_DESTINATIONS, FAIR_AMONG_BOTH };
// The list of a queue of flows; a resting one is old, and has no packets.
enum { UNLISTED, FRESH, OLD, RESTING };

// `parts`*2^-`shift`; `parts` has 32 bits, of which the highest is set, or is 0.
struct factor {
	__u64 parts;
	__u32 shift, unused;
};

// Thresholds of an average, in parts of 2^32; probabilities are in parts of 2^56.
struct curve {
	__u64 min, max, forced_from, max_probability;
	struct factor early, gentle;
};

struct red_plan {
	struct factor weight;
	// How an average falls, and the time of a mean packet: decay of programs/sima.h.
	__u64 decay_parts;
	__s32 decay_shift;
	__u32 levels;
	__u64 packet_time, spare_below;
	// The bytes of a mean packet, where the size of a packet matters, else 0.
	__u64 mean_packet;
	__u32 in_bytes, averages, spacing, unused;
	__u8 level_of[64];
	struct curve curves[MAX_LEVELS_OF_RED];
};

struct stf_plan {
	// In nanoseconds.
	__u64 idle_timeout;
	__u32 max_flows, unused;
};

// Two buffers in a row, of which the first is served first.
struct sima_plan {
	struct real weights[BUFFERS];
	// As programs/sima.h has it.
	__u64 limits[BUFFERS];
	__u32 map, unused;
	// Of each code point: the precedence, and by how many times 8 more the buffer.
	__u8 place_of[64];
};

// Flows in turn, with CoDel for each queue, and BLUE where hosts share the link fairly.
struct fq_plan {
	// Of CoDel, in nanoseconds and bytes.
	__u64 target, interval, mtu;
	// What a queue, or a host, may send in its turn, in parts of 2^-16 of a byte.
	__u64 quantum;
	// What a host of IPv6 is known by.
	__u64 ipv6_mask[2];
	// Its queues of flows: the first, and how many.
	__u32 first, queues;
	__u32 fairness, unused;
};

// A limit, which one class has or several share; whether the flow that holds most loses packets where it is reached.
struct room {
	__u64 limit;
	__u32 in_bytes, pushes_out;
};

// What a class of weighted fair queueing has.
struct share {
	// The virtual time of a byte, and the relative length of a packet or byte.
	struct wide per_byte, per_length;
	__u64 weight;
	// Of each flow; 0 where it has no limit of its own.
	__u64 flow_limit;
	__u32 flow_in_bytes;
	// Whether each 5-tuple is a flow, and whether the limit is the one that classes share.
	__u32 has_flows, is_shared, unused;
	struct room own;
};

struct queue_plan {
	__u64 limit;
	__u32 in_bytes, gate;
	// Its number among the queues with the same gate.
	__u32 of_gate;
	// Packets or bytes in its turn; 0 where it has the turn of the queue before.
	__u32 weight;
	// The first queue of its class.
	__u32 first, unused;
};

struct plan {
	// Bits per second; tokens of programs/buckets.h.
	__u64 rate, depth;
	// What a packet has on the link besides what the kernel counts; and the bytes before IP, which the kernel counts.
	__s32 overhead;
	__u32 mpu, framing, header;
	__u32 scheduler, queues;
	// Of a shared buffer.
	__u64 limit;
	__u32 in_bytes, otherwise;
	// What rules ask for, and what stands before IP packets.
	__u32 asks, link;
	// Plans of one shape differ in numbers alone, so that packets stay where they are.
	__u64 shape;
	// All rankings of the queues; and the classes, of which each has a queue or several.
	__u32 rankings, classes;
	__u64 powers[64];
	struct queue_plan each[MAX_QUEUES];
	struct red_plan reds[MAX_REDS];
	struct stf_plan stfs[MAX_STFS];
	struct sima_plan simas[MAX_SIMAS];
	struct room shared;
	struct share shares[MAX_QUEUES];
	struct fq_plan fqs[MAX_FQS];
};

// The neighbours in a list.
struct link {
	__u32 next, previous;
};

// Packets, or flows, in their order.
struct list {
	__u64 bytes;
	__u32 head, tail, count, unused;
};

// Numbers that are free, in a list, and how many were ever used; all of them.
struct pool {
	__u32 free, fresh, all, unused;
};

// What packets of a flow have in common, and the queue that knows the flow. Addresses are those of programs/packet.h.
struct flow_key {
	__u64 source[2], destination[2];
	__u16 source_port, destination_port, protocol, queue;
};

// The first has the lowest first part; where that is equal, the lowest second part, and so on.
struct rank {
	__u64 parts[3];
};

// A flow in a ranking.
struct ranked {
	struct rank rank;
	__u32 flow, unused;
};

// Number `number` of the plan's rankings, in which flows keep their places as the entry `of_flow` of their `places`.
struct ranking {
	__u32 number, rankings, of_flow, count;
};

struct flow {
	struct flow_key key;
	// In a list of flows, or in that of free numbers.
	struct link link;
	// In which epoch of the table the key was written.
	__u32 epoch;
	// Of weighted fair queueing: its class, and the virtual time at which the fluid server finishes its last packet.
	__u32 class;
	struct wide finish;
	// Its place in each ranking, plus 1; 0 where it is in none.
	__u32 places[RANKINGS_OF_FLOW];
	// Its packets.
	struct list packets;
	union {
		// Bytes that have left; since when it has no packet.
		struct {
			__u64 served, silent_since;
		};
		// Of a host: its queues that are listed, and those that always have something to send.
		struct {
			__u32 listed, bulk;
		};
	};
};

// Of one queue: when packets will have waited for too long, the next signal, and how many there were.
struct codel {
	__u64 late_at, next_signal, count, count_before;
	__u32 is_above, is_dropping;
};

struct blue {
	__u64 changed_at;
	// The probability of a drop, in parts of 2^-12.
	__u32 parts, has_changed;
};

// Flows with the same hash, or one of these.
struct flow_queue {
	// Its flow, where hosts share the link fairly, with the numbers of its hosts; whether other flows have packets here.
	struct flow_key key;
	__u32 source, destination;
	__u32 has_guests, listed;
	// In which epoch of the table of flows it was used, as `epoch` of a flow.
	__u32 epoch, unused;
	struct link link;
	struct list packets;
	// What it may send of its turn, below 0 where it has sent more.
	__s64 deficit;
	struct codel codel;
	struct blue blue;
};

// Queues of flows in the order in which they are served, new ones before old ones, and those with packets.
struct fq {
	struct list fresh, old;
	__u64 seed;
	__u32 flows, unused;
};

// Flows by least attained service.
struct stf {
	// Flows without a packet, the longest silent first.
	struct list silent;
	// Packets accepted: the number of the next one.
	__u64 taken;
	// Flows with packets: which is served next, and which loses a packet next.
	struct ranking next, last;
	// Flows that are remembered.
	__u32 flows, unused;
};

// The fluid server: virtual time, work that has not moved it yet, and the weights of the flows that it serves.
struct gps {
	struct wide virtual_time, remainder;
	__u64 weights;
	struct ranking backlogged;
};

// What is held under a limit, and the flows by upper bounds of what they hold.
struct held {
	__u64 packets, bytes;
	struct ranking longest;
};

struct wfq {
	struct gps gps;
	// Flows by the packet that the fluid server would finish first.
	struct ranking next;
	// Packets accepted: the number of the next one.
	__u64 taken;
	// The work of the line on the packet that left last, in nanobits, and when it was looked at.
	__u64 left, at;
	__u32 classes, unused;
	struct held shared;
	struct held own[MAX_QUEUES];
};

struct average {
	// In parts of 2^32.
	__u64 value;
	__u64 length, idle_since, empty;
};

struct level {
	struct average average;
	// Packets or bytes since the last drop.
	__u64 passed;
};

struct red {
	struct level levels[MAX_LEVELS_OF_RED];
};

// The averages of the buffers, in bytes.
struct sima {
	struct real averages[BUFFERS];
};

enum { OVERLIMIT, EARLY, FORCED, PUSHED_OUT, REASONS };

// What a queue has done.
struct count {
	__u64 packets, bytes;
	__u64 drops[REASONS];
};

// What comes before all, what an earlier plan left, and what cannot be read, whatever the plan.
enum { NEIGHBOURS, LEFT, UNREADABLE, LISTS_BESIDE };
// How many neighbours in a row are served before others, and after how many others one more is.
#define NEIGHBOURS_IN_A_ROW 10
#define OTHERS_PER_NEIGHBOUR 10
// After how many others one that cannot be read is served.
#define OTHERS_PER_UNREADABLE 99
// Packets beside the plan, of each kind.
#define MAX_BESIDE 1000
// How often queues are asked for one packet: they may drop all that wait.
#define MAX_ASKED (1 << 18)
// Packets that one pushes out at most: as many of the smallest as the largest has bytes for.
#define MAX_PUSHED_OUT 4096

struct machine {
	__u64 generation, shape;
	struct pool places, flows;
	// How often all flows were forgotten.
	__u32 epoch;
	// The plan's rankings, and the entries that there are for all of them.
	__u32 rankings, ranked, is_used;
	// Packets of the plan.
	__u64 packets, bytes;
	// The queues with packets, a bit each.
	__u64 occupied;
	// Of the shaper.
	__u64 held, owed, earned_at, free_at;
	// Whose turn it is, and for how many more packets.
	__u32 turn, left;
	// What each may send of its turns, in bytes; below 0 where it has sent more.
	__s64 deficits[MAX_QUEUES];
	__u32 neighbours_in_a_row, since_neighbour, since_unreadable;
	// All queues of flows.
	__u32 flow_queues;
	struct list queues[MAX_QUEUES];
	struct list beside[LISTS_BESIDE];
	struct red reds[MAX_REDS];
	struct sima simas[MAX_SIMAS];
	struct count counts[MAX_QUEUES];
	struct count counts_beside[LISTS_BESIDE];
	struct stf stfs[MAX_STFS];
	struct wfq wfq;
	struct fq fqs[MAX_FQS];
};

// What is known of a packet that comes.
struct arrival {
	// From IP on, and what the kernel counts; how many packets a device makes of it.
	__u32 size, length, segments;
	// Its queue, or one beside those of the plan.
	__u32 queue, is_beside;
	__u32 code_point;
	struct flow_key key;
};

// A packet that waits.
struct waiting {
	struct link in_queue, in_flow;
	__u32 size, length, segments;
	__u32 queue, is_beside, code_point;
	// Where its queue knows flows: its own, and the packet's number in the order of arrival.
	__u32 flow, unused;
	__u64 number;
	// When it came.
	__u64 since;
	// The virtual time at which the fluid server finishes it.
	struct wide finish;
};

#endif
