// Hands the packets that cross a bridge to a router in user space, while that listens.
//
// Everything else goes to the bridge: frames without IP (ARP, STP, LLDP), neighbour discovery, frames to many, frames to
// this machine, and frames that are larger than a place of the router's memory. If no socket listens at the queue, all frames go there.
//
// The router says about every two milliseconds that it is alive. If it is silent for longer than it may, all frames go to
// the bridge: the kernel needs up to 100 ms to close the sockets of a process that was killed, and a process may hang.

#include "kernel.h"

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

// The kernel lends helpers to programs under its own licence; this one is also under ours.
char LICENSE[] SEC("license") = "Dual MIT/GPL";

// Queues of a device. `MAX_QUEUES` of src/inline.rs.
#define MAX_QUEUES 64
// Addresses of this machine at the most. `InlineProgram::MAX_OWN` of src/inline.rs.
#define OWN 16
// Tags before the IP header: a provider's and a customer's.
#define MAX_TAGS 2

enum { HANDED_OVER, TO_THE_BRIDGE, TOO_LONG, ROUTER_SILENT, NO_SOCKET, COUNTERS };

struct address {
	__u8 bytes[6];
};

// Set before the program is loaded. `Settings` of src/inline.rs.
const volatile struct {
	__u64 max_silence;
	__u32 max_length;
	struct address own[OWN];
} settings;

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, MAX_QUEUES);
	__type(key, __u32);
	__type(value, __u32);
} sockets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, COUNTERS);
	__type(key, __u32);
	__type(value, __u64);
} frames SEC(".maps");

// When the router was alive last, in nanoseconds of the monotonic clock.
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} alive SEC(".maps");

// The first bytes of IPv6, and of ICMPv6 behind it (RFC 8200 §3, RFC 4443 §2.1).
struct ipv6 {
	__u8 before[6];
	__u8 next_header;
	__u8 after[33];
	__u8 icmp_type;
};

enum { ICMPV6 = 58, ROUTER_SOLICITATION = 133, REDIRECT = 137 };

struct ethernet {
	__u8 destination[6];
	__u8 source[6];
	__be16 type;
};

struct tag {
	__be16 control;
	__be16 type;
};

static __always_inline int counted(__u32 what, int verdict)
{
	__u64 *count = bpf_map_lookup_elem(&frames, &what);

	if (count)
		(*count)++;
	return verdict;
}

static __always_inline int is_tag(__be16 type)
{
	return type == bpf_htons(ETH_VLAN) || type == bpf_htons(ETH_PROVIDER_VLAN) ||
	       type == bpf_htons(ETH_OLD_PROVIDER_VLAN);
}

static __always_inline int is_own(const __u8 *address)
{
	for (int i = 0; i < OWN; i++) {
		int same = 1;

		for (int j = 0; j < 6; j++)
			same &= address[j] == settings.own[i].bytes[j];
		if (same)
			return 1;
	}
	return 0;
}

// Without neighbour discovery (RFC 4861) nothing is reached, so no policy may hold it back.
static __always_inline int is_discovery(void *packet, void *end)
{
	struct ipv6 *header = packet;

	if ((void *)(header + 1) > end)
		return 0;
	return header->next_header == ICMPV6 && header->icmp_type >= ROUTER_SOLICITATION &&
	       header->icmp_type <= REDIRECT;
}

static __always_inline int is_silent(void)
{
	__u32 zero = 0;
	__u64 *at = bpf_map_lookup_elem(&alive, &zero);

	return !at || bpf_ktime_get_ns() - *at > settings.max_silence;
}

static __always_inline int hand_over(struct xdp_md *context, __u32 length)
{
	void *data = (void *)(long)context->data;
	void *end = (void *)(long)context->data_end;
	struct ethernet *header = data;
	void *next = header + 1;
	__u32 queue = context->rx_queue_index;
	__be16 type;

	if (next > end)
		return counted(TO_THE_BRIDGE, XDP_PASS);
	// The lowest bit of the first byte is set in addresses of groups.
	if ((header->destination[0] & 1) || is_own(header->destination))
		return counted(TO_THE_BRIDGE, XDP_PASS);
	type = header->type;
	for (int i = 0; i < MAX_TAGS && is_tag(type); i++) {
		struct tag *tag = next;

		next = tag + 1;
		if (next > end)
			return counted(TO_THE_BRIDGE, XDP_PASS);
		type = tag->type;
	}
	if (type != bpf_htons(ETH_IPV4) && type != bpf_htons(ETH_IPV6))
		return counted(TO_THE_BRIDGE, XDP_PASS);
	if (type == bpf_htons(ETH_IPV6) && is_discovery(next, end))
		return counted(TO_THE_BRIDGE, XDP_PASS);
	if (length > settings.max_length)
		return counted(TOO_LONG, XDP_PASS);
	if (is_silent())
		return counted(ROUTER_SILENT, XDP_PASS);
	if (!bpf_map_lookup_elem(&sockets, &queue))
		return counted(NO_SOCKET, XDP_PASS);
	counted(HANDED_OVER, XDP_PASS);
	return bpf_redirect_map(&sockets, queue, XDP_PASS);
}

// For devices whose frames may lie in several pieces (Linux 5.18 and newer).
SEC("xdp.frags")
int in_pieces(struct xdp_md *context)
{
	return hand_over(context, bpf_xdp_get_buff_len(context));
}

// For older kernels.
SEC("xdp")
int in_one_piece(struct xdp_md *context)
{
	return hand_over(context, context->data_end - context->data);
}
