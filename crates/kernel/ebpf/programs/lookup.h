// The rules by which packets belong to classes. For each field a table tells which rules its value meets, a bit for each, and
// a packet is of the first rule that all fields allow: the bit vectors of Lakshman & Stiliadis (1998), in which the words of
// long fields are those of their bytes, as in StrideBV (Ganegedara, Jiang & Prasanna 2014). So a packet costs the same
// however many rules there are. crates/kernel/ebpf/src/edge/rules.rs writes the tables.

#ifndef SHORTFLOW_LOOKUP_H
#define SHORTFLOW_LOOKUP_H

#include "packet.h"

// As many as a word has bits.
#define MAX_RULES 64

// What rules ask for, as bits: what none asks for is not looked up.
enum {
	ASKS_PROTOCOL = 1 << 0,
	ASKS_CODE_POINT = 1 << 1,
	ASKS_SOURCE = 1 << 2,
	ASKS_DESTINATION = 1 << 3,
	ASKS_SOURCE_PORT = 1 << 4,
	ASKS_DESTINATION_PORT = 1 << 5,
	ASKS_MARK = 1 << 6,
	// Not every kernel tells it.
	ASKS_GROUP = 1 << 7,
	ASKS_PROGRESS = 1 << 8,
	// The socket's priority.
	ASKS_PRIORITY = 1 << 9,
};

// By the bytes of an address, the last one first; and those that IPv4 may meet, of whose addresses the last four are asked.
struct of_address {
	__u64 bytes[16][256];
	__u64 ipv4;
};

// By ports: those between which no range begins or ends have one number, of which a byte has room for all.
struct of_port {
	__u8 number[1 << 16];
	__u64 rules[256];
};

// By what was sent, or remains: by how many of the bounds, which rise, are below it. The last place is of what nobody knows.
struct of_progress {
	__u64 up_to[MAX_RULES];
	__u64 rules[MAX_RULES + 1];
};

// Priorities of sockets by which rules can ask, with 0, which is none.
#define PRIORITIES 16

struct rules {
	// Those that there are.
	__u64 all;
	__u64 protocol[256], code_point[64];
	struct of_address source, destination;
	struct of_port source_port, destination_port;
	// By the bytes of a socket's mark, the last one first.
	__u64 mark[4][256];
	// By a socket's priority (SO_PRIORITY); the first place is of packets without one.
	__u64 priority[PRIORITIES];
	// Of those that ask for groups of processes, by the bytes of a group's number; which ask for those at a level of the
	// hierarchy; and which ask for none.
	__u64 group[8][256], at_level[MAX_RULES], of_any_group;
	// Which ask for no progress.
	__u64 at_any_progress;
	struct of_progress sent, remaining;
	__u32 levels;
	__u8 level[MAX_RULES];
	// The class of each, in the places that `place_of_first` finds.
	__u8 class[MAX_RULES];
	__u32 unused;
};

// A place for each of the 64 rules: that of the lowest bit (Leiserson, Prokop & Randall 1998).
static __always_inline __u32 place_of_first(__u64 bits)
{
	return (bits & -bits) * 0x03f79d71b4cb0a89ULL >> 58;
}

// The rules that all bytes of a value allow.
static __always_inline __u64 by_bytes(const __u64 (*tables)[256], int bytes, __u64 value)
{
	__u64 allowed = ~0ULL;

	for (int i = 0; i < bytes; i++)
		allowed &= tables[i][value >> 8 * i & 255];
	return allowed;
}

static __always_inline __u64 by_address(const struct of_address *of, const __u64 *address)
{
	// An address of IPv4 as packets keep it, whatever the packet's version.
	if (!address[0] && address[1] >> 32 == 0xffff)
		return of->ipv4 & by_bytes(of->bytes, 4, address[1]);
	return by_bytes(of->bytes, 8, address[1]) & by_bytes(of->bytes + 8, 8, address[0]);
}

static __always_inline __u64 by_port(const struct of_port *of, __u16 port)
{
	return of->rules[of->number[port]];
}

// 1 where `a` is below `b`, without a branch (Warren, Hacker's Delight, section 2-12).
static __always_inline __u64 is_below(__u64 a, __u64 b)
{
	return ((~a & b) | (~(a ^ b) & (a - b))) >> 63;
}

static __always_inline __u64 by_progress(const struct of_progress *of, int is_known, __u64 bytes)
{
	__u64 below = 0;

	if (!is_known)
		return of->rules[MAX_RULES];
	for (__u64 step = MAX_RULES / 2; step; step /= 2)
		below += step & -is_below(of->up_to[below + step - 1], bytes);
	below += is_below(of->up_to[below], bytes);
	return of->rules[below];
}

// The rules that a packet's headers allow.
static __always_inline __u64 by_headers(const struct rules *known, const struct packet *packet, __u32 asks)
{
	__u64 allowed = known->all;

	if (asks & ASKS_PROTOCOL)
		allowed &= known->protocol[packet->protocol];
	if (asks & ASKS_CODE_POINT)
		allowed &= known->code_point[packet->ds >> 2];
	if (asks & ASKS_SOURCE_PORT)
		allowed &= by_port(&known->source_port, packet->source_port);
	if (asks & ASKS_DESTINATION_PORT)
		allowed &= by_port(&known->destination_port, packet->destination_port);
	if (asks & ASKS_SOURCE)
		allowed &= by_address(&known->source, packet->source);
	if (asks & ASKS_DESTINATION)
		allowed &= by_address(&known->destination, packet->destination);
	return allowed;
}

#endif
