// A packet's headers, as far as classifiers look: the same reading as crates/wire, held against it by tests.

#ifndef SHORTFLOW_PACKET_H
#define SHORTFLOW_PACKET_H

#include "kernel.h"

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

// What stands before IP packets: nothing, as at a TUN device, or the header of Ethernet.
enum { LINK_NONE, LINK_ETHERNET };

enum { ETHERNET_LENGTH = 14, IPV4_LEAST = 20, IPV6_LENGTH = 40 };

// Tags of VLANs that are in the packet itself; a kernel keeps the outermost one beside it.
#define MOST_TAGS 2
// IPv6 extension headers (RFC 8200 §4.1), as many as crates/wire walks.
#define MOST_EXTENSIONS 8

enum {
	HOP_BY_HOP = 0,
	TCP = 6,
	UDP = 17,
	DCCP = 33,
	ROUTING = 43,
	FRAGMENT = 44,
	AUTHENTICATION = 51,
	DESTINATION_OPTIONS = 60,
	SCTP = 132,
	MOBILITY = 135,
	UDP_LITE = 136,
	HIP = 139,
	SHIM6 = 140,
};

struct packet {
	// An IPv4 address is kept as ::ffff:a.b.c.d, so that one comparison is for both families.
	__u64 source[2];
	__u64 destination[2];
	// Where the IP header begins.
	__u32 ip_at;
	// Bytes from there on, headers of all segments counted.
	__u32 size;
	__u32 segments;
	__u16 source_port;
	__u16 destination_port;
	__u8 protocol;
	// The DS field: the code point, then two bits of ECN.
	__u8 ds;
	__u8 version;
	// Of a TCP header that is whole: its control bits, and where it is; 0 without one.
	__u8 flags;
	__u32 tcp_at;
};

// Control bits of TCP (RFC 9293).
enum { FIN = 1, SYN = 2, RST = 4, ACK = 16 };

static __always_inline __u64 two_words(const __u8 *bytes)
{
	__u64 value = 0;

	for (int i = 0; i < 8; i++)
		value = value << 8 | bytes[i];
	return value;
}

static __always_inline __u32 word(const __u8 *bytes)
{
	return (__u32)bytes[0] << 8 | bytes[1];
}

static __always_inline int is_extension(__u8 version, __u8 kind)
{
	// Of extension headers, IPv4 has the authentication header alone.
	if (version == 4)
		return kind == AUTHENTICATION;
	return kind == HOP_BY_HOP || kind == ROUTING || kind == FRAGMENT || kind == AUTHENTICATION ||
	       kind == DESTINATION_OPTIONS || kind == MOBILITY || kind == HIP || kind == SHIM6;
}

static __always_inline int has_ports(__u8 protocol)
{
	return protocol == TCP || protocol == UDP || protocol == DCCP || protocol == SCTP || protocol == UDP_LITE;
}

// Walks extension headers from `*at` to `end`; false where there are no ports to be read behind them.
static __always_inline int skip_extensions(struct __sk_buff *skb, struct packet *packet, __u32 *at, __u32 end)
{
	for (int walked = 0; walked < MOST_EXTENSIONS; walked++) {
		__u8 kind = packet->protocol;
		__u8 head[8];
		__u32 length;

		if (!is_extension(packet->version, kind))
			return 1;
		// Hop-by-hop options stand first or are none.
		if (kind == HOP_BY_HOP && walked > 0)
			return 0;
		// Every extension header has eight bytes at least.
		if (*at + 8 > end || bpf_skb_load_bytes(skb, *at, head, sizeof(head)))
			return 0;
		if (kind == FRAGMENT)
			length = 8;
		else if (kind == AUTHENTICATION)
			length = ((__u32)head[1] + 2) * 4;
		else
			length = ((__u32)head[1] + 1) * 8;
		if (kind == AUTHENTICATION && length < 12)
			return 0;
		if (*at + length > end)
			return 0;
		packet->protocol = head[0];
		*at += length;
		// Only the first fragment has the header of the transport.
		if (kind == FRAGMENT && (word(head + 2) & 0xfff8))
			return 0;
	}
	return !is_extension(packet->version, packet->protocol);
}

// Bytes of the headers from IP on, which each segment of a large packet of TCP or UDP will have.
static __always_inline __u32 header_of_segments(struct __sk_buff *skb, const struct packet *packet, __u32 at)
{
	__u8 offset;

	if (packet->protocol == UDP)
		return at - packet->ip_at + 8;
	if (packet->protocol != TCP || bpf_skb_load_bytes(skb, at + 12, &offset, 1))
		return 0;
	return at - packet->ip_at + (offset >> 4) * 4;
}

// Reads the ports at `at`, and counts the segments of a packet that a device will cut.
static __always_inline void read_transport(struct __sk_buff *skb, struct packet *packet, __u32 at, __u32 end)
{
	__u8 ports[4], offset_and_flags[2];

	if (has_ports(packet->protocol) && at + 4 <= end && !bpf_skb_load_bytes(skb, at, ports, sizeof(ports))) {
		packet->source_port = word(ports);
		packet->destination_port = word(ports + 2);
	}
	if (packet->protocol == TCP && at + 20 <= end && !bpf_skb_load_bytes(skb, at + 12, offset_and_flags, 2) &&
	    offset_and_flags[0] >> 4 >= 5 && at + (offset_and_flags[0] >> 4) * 4 <= end) {
		packet->flags = offset_and_flags[1];
		packet->tcp_at = at;
	}
	if (skb->gso_segs > 1) {
		packet->segments = skb->gso_segs;
		packet->size = skb->len - packet->ip_at +
			       (packet->segments - 1) * header_of_segments(skb, packet, at);
	}
}

static __always_inline int read_ipv4(struct __sk_buff *skb, struct packet *packet)
{
	__u32 at = packet->ip_at, length, claimed, there;
	__u8 head[IPV4_LEAST];

	if (bpf_skb_load_bytes(skb, at, head, sizeof(head)) || head[0] >> 4 != 4)
		return 0;
	length = (head[0] & 15) * 4;
	there = skb->len - at;
	if (length < IPV4_LEAST || length > there)
		return 0;
	claimed = word(head + 2);
	// The length of a packet too large for the field is told as 0 (Linux's BIG TCP).
	if (!claimed && skb->gso_segs > 1)
		claimed = there;
	if (claimed < length)
		return 0;
	packet->version = 4;
	packet->ds = head[1];
	packet->protocol = head[9];
	packet->size = claimed;
	packet->source[1] = 0xffffULL << 32 | (__u64)word(head + 12) << 16 | word(head + 14);
	packet->destination[1] = 0xffffULL << 32 | (__u64)word(head + 16) << 16 | word(head + 18);
	if (word(head + 6) & 0x1fff)
		return 1;
	__u32 end = at + (claimed < there ? claimed : there);

	at += length;
	if (skip_extensions(skb, packet, &at, end))
		read_transport(skb, packet, at, end);
	return 1;
}

static __always_inline int read_ipv6(struct __sk_buff *skb, struct packet *packet)
{
	__u32 at = packet->ip_at, claimed, there;
	__u8 head[IPV6_LENGTH];

	if (bpf_skb_load_bytes(skb, at, head, sizeof(head)) || head[0] >> 4 != 6)
		return 0;
	there = skb->len - at;
	claimed = IPV6_LENGTH + word(head + 4);
	if (claimed == IPV6_LENGTH && skb->gso_segs > 1)
		claimed = there;
	packet->version = 6;
	packet->ds = (head[0] << 4 | head[1] >> 4) & 0xff;
	packet->protocol = head[6];
	packet->size = claimed;
	packet->source[0] = two_words(head + 8);
	packet->source[1] = two_words(head + 16);
	packet->destination[0] = two_words(head + 24);
	packet->destination[1] = two_words(head + 32);
	__u32 end = at + (claimed < there ? claimed : there);

	at += IPV6_LENGTH;
	if (skip_extensions(skb, packet, &at, end))
		read_transport(skb, packet, at, end);
	return 1;
}

// Whether it is a packet of IP whose header can be read; `packet` is all zeros before.
static __always_inline int read_packet(struct __sk_buff *skb, __u32 link, struct packet *packet)
{
	__u8 bytes[2], first;
	__u32 kind = 0, at = 0;

	packet->segments = 1;
	if (link == LINK_ETHERNET) {
		at = ETHERNET_LENGTH;
		if (bpf_skb_load_bytes(skb, at - 2, bytes, sizeof(bytes)))
			return 0;
		kind = word(bytes);
		for (int tags = 0; tags < MOST_TAGS; tags++) {
			if (kind != ETH_VLAN && kind != ETH_PROVIDER_VLAN && kind != ETH_OLD_PROVIDER_VLAN)
				break;
			at += 4;
			if (bpf_skb_load_bytes(skb, at - 2, bytes, sizeof(bytes)))
				return 0;
			kind = word(bytes);
		}
	}
	packet->ip_at = at;
	if (bpf_skb_load_bytes(skb, at, &first, 1))
		return 0;
	if (link == LINK_NONE)
		kind = first >> 4 == 6 ? ETH_IPV6 : ETH_IPV4;
	if (kind == ETH_IPV4)
		return read_ipv4(skb, packet);
	return kind == ETH_IPV6 && read_ipv6(skb, packet);
}

// Bytes of data behind a TCP header that is whole, as far as IP tells of them.
static __always_inline __u32 payload_of(struct __sk_buff *skb, const struct packet *packet)
{
	__u32 headers, end = packet->segments > 1 ? skb->len : packet->ip_at + packet->size;
	__u8 offset;

	if (!packet->tcp_at || bpf_skb_load_bytes(skb, packet->tcp_at + 12, &offset, 1))
		return 0;
	headers = packet->tcp_at + (offset >> 4) * 4;
	return end > headers ? end - headers : 0;
}

// Whether it acknowledges, and does nothing else.
static __always_inline int is_bare_acknowledgement(struct __sk_buff *skb, const struct packet *packet)
{
	return packet->tcp_at && (packet->flags & (SYN | FIN | RST | ACK)) == ACK && !payload_of(skb, packet);
}

// Writes the code point into the DS field, which leaves ECN as it is.
static __always_inline void write_code_point(struct __sk_buff *skb, const struct packet *packet, __u8 code_point)
{
	__u8 ds = code_point << 2 | (packet->ds & 3);
	__u8 head[2];

	if (ds == packet->ds)
		return;
	if (packet->version == 4) {
		bpf_l3_csum_replace(skb, packet->ip_at + 10, bpf_htons(packet->ds), bpf_htons(ds), 2);
		bpf_skb_store_bytes(skb, packet->ip_at + 1, &ds, 1, 0);
		return;
	}
	if (bpf_skb_load_bytes(skb, packet->ip_at, head, sizeof(head)))
		return;
	head[0] = (head[0] & 0xf0) | ds >> 4;
	head[1] = (head[1] & 0x0f) | (ds << 4 & 0xf0);
	bpf_skb_store_bytes(skb, packet->ip_at, head, sizeof(head), 0);
}

#endif
