// Gives each packet the class of its customer: the one with the longest prefix that has the packet's address. The class goes
// into the packet's priority, which HTB takes for a class where its upper half is HTB's handle.
//
// Packets of nobody get the class of unknown addresses. What is no IP, IPv6's neighbour discovery, without which nothing is
// reached, and what routers and hosts of this link tell each other (OSPF, VRRP, MLD) has the handle alone, by which HTB sends it
// past all classes.

#include "packet.h"

char LICENSE[] SEC("license") = "GPL";

// Set before the program is loaded. `Settings` of src/plans/program.rs.
const volatile struct {
	// LINK_NONE or LINK_ETHERNET.
	__u32 link;
	// Whether the destination says whose packets they are, instead of the source.
	__u32 by_destination;
	// HTB's handle, in the upper half.
	__u32 root;
	// The class of unknown addresses, with the handle.
	__u32 unknown;
} settings;

// How many bits of the address count, and the address as one of IPv6, in the order of the network.
struct prefix {
	__u32 length;
	__u32 address[4];
};

struct address {
	__u32 words[4];
};

// Classes of customers, with the handle: of prefixes, and of single addresses, which are the longest prefixes and need one look
// instead of one for each bit that tells them from others. Memory is taken for each entry when it comes.
struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, 1 << 20);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct prefix);
	__type(value, __u32);
} prefixes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 20);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct address);
	__type(value, __u32);
} addresses SEC(".maps");

enum { OF_CUSTOMERS, OF_NOBODY, PAST_CLASSES, KINDS };

struct count {
	__u64 packets;
	__u64 bytes;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, KINDS);
	__type(key, __u32);
	__type(value, struct count);
} counts SEC(".maps");

enum { ICMPV6 = 58, ROUTER_SOLICITATION = 133, REDIRECT = 137 };

static __always_inline int counted(struct __sk_buff *skb, __u32 kind, __u32 class)
{
	struct count *count = bpf_map_lookup_elem(&counts, &kind);

	if (count) {
		count->packets += skb->gso_segs > 1 ? skb->gso_segs : 1;
		count->bytes += skb->wire_len;
	}
	skb->priority = class;
	// Filters of others may follow.
	return TC_ACT_UNSPEC;
}

// Where the IP header begins, and the type of what begins there; the type is 0 where nothing can be read.
static __always_inline __u32 find_ip(struct __sk_buff *skb, __u32 *at)
{
	__u32 head, kind;

	*at = 0;
	if (settings.link == LINK_NONE) {
		if (load(skb, 0, &head, 1))
			return 0;
		return bpf_ntohl(head) >> 28 == 6 ? ETH_IPV6 : ETH_IPV4;
	}
	*at = ETHERNET_LENGTH;
	if (load(skb, *at - 4, &head, 1))
		return 0;
	kind = bpf_ntohl(head) & 0xffff;
	for (int tags = 0; tags < MAX_TAGS; tags++) {
		if (kind != ETH_VLAN && kind != ETH_PROVIDER_VLAN && kind != ETH_OLD_PROVIDER_VLAN)
			break;
		*at += 4;
		if (load(skb, *at - 4, &head, 1))
			return 0;
		kind = bpf_ntohl(head) & 0xffff;
	}
	return kind;
}

static __always_inline int is_discovery(struct __sk_buff *skb, __u32 at)
{
	__u32 head[2], type;

	if (load(skb, at, head, 2) || (bpf_ntohl(head[1]) >> 8 & 0xff) != ICMPV6)
		return 0;
	if (load(skb, at + IPV6_LENGTH, &type, 1))
		return 0;
	type = bpf_ntohl(type) >> 24;
	return type >= ROUTER_SOLICITATION && type <= REDIRECT;
}

// Whether the destination is a group of this link alone: 224.0.0.0/24 (RFC 5771 section 4) or ff02::/16 (RFC 4291 section 2.7).
static __always_inline int is_of_link(struct __sk_buff *skb, __u32 at, __u32 kind)
{
	__u32 head;

	if (load(skb, at + (kind == ETH_IPV4 ? 16 : 24), &head, 1))
		return 0;
	head = bpf_ntohl(head);
	return kind == ETH_IPV4 ? head >> 8 == 0xe00000 : head >> 16 == 0xff02;
}

SEC("tc")
int shortflow_plans(struct __sk_buff *skb)
{
	struct prefix prefix = {};
	__u32 at, kind = find_ip(skb, &at), *class;

	prefix.length = 128;
	if (kind == ETH_IPV4) {
		prefix.address[2] = bpf_htonl(0xffff);
		// The source is the fourth word, the destination the fifth (RFC 791).
		if (load(skb, at + (settings.by_destination ? 16 : 12), prefix.address + 3, 1))
			return counted(skb, PAST_CLASSES, settings.root);
	} else if (kind == ETH_IPV6) {
		if (load(skb, at + (settings.by_destination ? 24 : 8), prefix.address, 4) || is_discovery(skb, at))
			return counted(skb, PAST_CLASSES, settings.root);
	} else {
		return counted(skb, PAST_CLASSES, settings.root);
	}
	class = bpf_map_lookup_elem(&addresses, prefix.address);
	if (!class)
		class = bpf_map_lookup_elem(&prefixes, &prefix);
	// All of IPv4 is unknown where it would belong to a prefix of IPv6.
	if (class && *class != settings.unknown)
		return counted(skb, OF_CUSTOMERS, *class);
	if (is_of_link(skb, at, kind))
		return counted(skb, PAST_CLASSES, settings.root);
	return counted(skb, OF_NOBODY, settings.unknown);
}
