// A packet's headers, as far as classifiers look: the same reading as crates/node/wire, held against it by tests.

#ifndef SHORTFLOW_PACKET_H
#define SHORTFLOW_PACKET_H

#include "kernel.h"

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

// Who reads packets in another way than a program of traffic control defines `PACKET_SOURCE`, with `packet_source`, a structure that has
// `len` and `gso_segs`, `load` and `load_rarely`; and `PACKET_IS_READ_ONLY`, where it writes none.

// What stands before IP packets: nothing, as at a TUN device, or the header of Ethernet.
enum { LINK_NONE, LINK_ETHERNET };

enum { ETHERNET_LENGTH = 14, IPV4_LEAST = 20, IPV6_LENGTH = 40 };

// Tags of VLANs that are in the packet itself; a kernel keeps the outermost one beside it.
#define MAX_TAGS 2
// IPv6 extension headers (RFC 8200 §4.1), as many as crates/node/wire walks.
#define MAX_EXTENSIONS 8

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
	// Of a TCP header that is whole: its control bits, its sequence number, where it is, and where its data are; 0 without
	// one.
	__u8 flags;
	__u32 sequence, tcp_at, data_at;
};

// Control bits of TCP (RFC 9293).
enum { FIN = 1, SYN = 2, RST = 4, ACK = 16 };

// Before which headers begin that are read without asking the kernel; a power of 2.
#define MAX_AT (1 << 14)

#ifndef PACKET_SOURCE
#define PACKET_SOURCE

#define packet_source struct __sk_buff

// Reads words of 32 bits, as they are in the packet. Most packets have their headers in one piece, where they are read as they
// stand; of the others the kernel fetches the pieces.
static __always_inline int load(struct __sk_buff *skb, __u32 at, __u32 *words, __u32 count)
{
	const __u32 *there;
	__u64 bounded = at;

	if (at >= MAX_AT)
		return bpf_skb_load_bytes(skb, at, words, count * sizeof(*words));
	// The verifier needs the bound where it is added. Compilers would remove the check if they knew that it always holds.
	asm volatile("" : "+r"(bounded));
	there = (void *)(long)skb->data + (bounded & (MAX_AT - 1));
	if ((void *)(there + count) > (void *)(long)skb->data_end)
		return bpf_skb_load_bytes(skb, at, words, count * sizeof(*words));
	for (__u32 i = 0; i < count; i++)
		words[i] = there[i];
	return 0;
}

// Asks the kernel, which the verifier has less to look at in.
#define load_rarely(skb, at, word) bpf_skb_load_bytes(skb, at, word, sizeof(*(word)))

#endif

static __always_inline __u64 two_words(const __u32 *words)
{
	return (__u64)bpf_ntohl(words[0]) << 32 | bpf_ntohl(words[1]);
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
static __always_inline int skip_extensions(packet_source *skb, struct packet *packet, __u32 *at, __u32 end)
{
	for (int walked = 0; walked < MAX_EXTENSIONS; walked++) {
		__u8 kind = packet->protocol;
		__u32 head, length;

		if (!is_extension(packet->version, kind))
			return 1;
		// Hop-by-hop options stand first or are none.
		if (kind == HOP_BY_HOP && walked > 0)
			return 0;
		// Every extension header has eight bytes at least.
		if (*at + 8 > end || load_rarely(skb, *at, &head))
			return 0;
		head = bpf_ntohl(head);
		length = head >> 16 & 0xff;
		if (kind == FRAGMENT)
			length = 8;
		else if (kind == AUTHENTICATION)
			length = (length + 2) * 4;
		else
			length = (length + 1) * 8;
		if (kind == AUTHENTICATION && length < 12)
			return 0;
		if (*at + length > end)
			return 0;
		packet->protocol = head >> 24;
		*at += length;
		// Only the first fragment has the header of the transport.
		if (kind == FRAGMENT && (head & 0xfff8))
			return 0;
	}
	return !is_extension(packet->version, packet->protocol);
}

// Bytes of the headers from IP on, which each segment of a large packet of TCP or UDP will have.
static __always_inline __u32 header_of_segments(const struct packet *packet, __u32 at)
{
	if (packet->protocol == UDP)
		return at - packet->ip_at + 8;
	return packet->tcp_at ? packet->data_at - packet->ip_at : 0;
}

// Reads a header of TCP that is whole: the first four words have all that is looked at.
static __always_inline void read_tcp(packet_source *skb, struct packet *packet, __u32 at, __u32 end)
{
	__u32 head[4], length;

	if (at + 20 > end || load(skb, at, head, 4))
		return;
	head[3] = bpf_ntohl(head[3]);
	length = (head[3] >> 28) * 4;
	if (length < 20 || at + length > end)
		return;
	packet->flags = head[3] >> 16;
	packet->sequence = bpf_ntohl(head[1]);
	packet->tcp_at = at;
	packet->data_at = at + length;
}

// Reads the ports at `at`, and counts the segments of a packet that a device will cut.
APART int read_transport(packet_source *skb, struct packet *packet, __u32 at, __u32 end)
{
	__u32 ports;

	if (!skb || !packet)
		return 0;
	if (has_ports(packet->protocol) && at + 4 <= end && !load(skb, at, &ports, 1)) {
		packet->source_port = bpf_ntohl(ports) >> 16;
		packet->destination_port = bpf_ntohl(ports);
	}
	if (packet->protocol == TCP)
		read_tcp(skb, packet, at, end);
	if (skb->gso_segs > 1) {
		packet->segments = skb->gso_segs;
		packet->size = skb->len - packet->ip_at + (packet->segments - 1) * header_of_segments(packet, at);
	}
	return 0;
}

static __always_inline int read_ipv4(packet_source *skb, struct packet *packet)
{
	__u32 at = packet->ip_at, length, claimed, there;
	__u32 head[IPV4_LEAST / 4];

	if (load(skb, at, head, IPV4_LEAST / 4))
		return 0;
	head[0] = bpf_ntohl(head[0]);
	if (head[0] >> 28 != 4)
		return 0;
	length = (head[0] >> 24 & 15) * 4;
	there = skb->len - at;
	if (length < IPV4_LEAST || length > there)
		return 0;
	claimed = head[0] & 0xffff;
	// A packet too large for the field has the length 0 (Linux's BIG TCP).
	if (!claimed && skb->gso_segs > 1)
		claimed = there;
	if (claimed < length)
		return 0;
	packet->version = 4;
	packet->ds = head[0] >> 16;
	packet->protocol = bpf_ntohl(head[2]) >> 16;
	packet->size = claimed;
	packet->source[1] = 0xffffULL << 32 | bpf_ntohl(head[3]);
	packet->destination[1] = 0xffffULL << 32 | bpf_ntohl(head[4]);
	if (bpf_ntohl(head[1]) & 0x1fff)
		return 1;
	__u32 end = at + (claimed < there ? claimed : there);

	at += length;
	if (skip_extensions(skb, packet, &at, end))
		read_transport(skb, packet, at, end);
	return 1;
}

static __always_inline int read_ipv6(packet_source *skb, struct packet *packet)
{
	__u32 at = packet->ip_at, claimed, there;
	__u32 head[IPV6_LENGTH / 4];

	if (load(skb, at, head, IPV6_LENGTH / 4))
		return 0;
	head[0] = bpf_ntohl(head[0]);
	head[1] = bpf_ntohl(head[1]);
	if (head[0] >> 28 != 6)
		return 0;
	there = skb->len - at;
	claimed = IPV6_LENGTH + (head[1] >> 16);
	if (claimed == IPV6_LENGTH && skb->gso_segs > 1)
		claimed = there;
	packet->version = 6;
	packet->ds = head[0] >> 20;
	packet->protocol = head[1] >> 8;
	packet->size = claimed;
	packet->source[0] = two_words(head + 2);
	packet->source[1] = two_words(head + 4);
	packet->destination[0] = two_words(head + 6);
	packet->destination[1] = two_words(head + 8);
	__u32 end = at + (claimed < there ? claimed : there);

	at += IPV6_LENGTH;
	if (skip_extensions(skb, packet, &at, end))
		read_transport(skb, packet, at, end);
	return 1;
}

// Whether it is a packet of IP whose header can be read; `packet` is all zeros before.
static __always_inline int read_packet(packet_source *skb, __u32 link, struct packet *packet)
{
	__u32 kind = 0, at = 0, head;

	packet->segments = 1;
	if (link == LINK_ETHERNET) {
		// The type stands at the end of a word.
		at = ETHERNET_LENGTH;
		if (load(skb, at - 4, &head, 1))
			return 0;
		kind = bpf_ntohl(head) & 0xffff;
		for (int tags = 0; tags < MAX_TAGS; tags++) {
			if (kind != ETH_VLAN && kind != ETH_PROVIDER_VLAN && kind != ETH_OLD_PROVIDER_VLAN)
				break;
			at += 4;
			if (load(skb, at - 4, &head, 1))
				return 0;
			kind = bpf_ntohl(head) & 0xffff;
		}
	}
	packet->ip_at = at;
	if (link == LINK_NONE) {
		if (load(skb, at, &head, 1))
			return 0;
		kind = bpf_ntohl(head) >> 28 == 6 ? ETH_IPV6 : ETH_IPV4;
	}
	if (kind == ETH_IPV4)
		return read_ipv4(skb, packet);
	return kind == ETH_IPV6 && read_ipv6(skb, packet);
}

#ifndef PACKET_IS_READ_ONLY

// Bytes of data behind a TCP header that is whole, as far as IP tells of them.
static __always_inline __u32 payload_of(struct __sk_buff *skb, const struct packet *packet)
{
	__u32 end = packet->segments > 1 ? skb->len : packet->ip_at + packet->size;

	return packet->tcp_at && end > packet->data_at ? end - packet->data_at : 0;
}

// Whether it acknowledges, and does nothing else.
static __always_inline int is_bare_acknowledgement(struct __sk_buff *skb, const struct packet *packet)
{
	return packet->tcp_at && (packet->flags & (SYN | FIN | RST | ACK)) == ACK && !payload_of(skb, packet);
}

// Writes the DS field.
static __always_inline void write_ds(struct __sk_buff *skb, const struct packet *packet, __u8 ds)
{
	__u32 head[3], sum;

	if (ds == packet->ds)
		return;
	if (packet->version == 6) {
		if (load(skb, packet->ip_at, head, 1))
			return;
		head[0] = bpf_htonl((bpf_ntohl(head[0]) & ~(0xffU << 20)) | (__u32)ds << 20);
		bpf_skb_store_bytes(skb, packet->ip_at, head, sizeof(*head), 0);
		return;
	}
	// The checksum is in the same words, and changes by what the field does (RFC 1624, equation 3).
	if (load(skb, packet->ip_at, head, 3))
		return;
	sum = (~bpf_ntohl(head[2]) & 0xffff) + (~(__u32)packet->ds & 0xffff) + ds;
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	head[0] = bpf_htonl((bpf_ntohl(head[0]) & ~(0xffU << 16)) | (__u32)ds << 16);
	head[2] = bpf_htonl((bpf_ntohl(head[2]) & ~0xffffU) | (~sum & 0xffff));
	bpf_skb_store_bytes(skb, packet->ip_at, head, sizeof(head), 0);
}

// Writes the code point into the DS field, which leaves ECN as it is.
static __always_inline void write_code_point(struct __sk_buff *skb, const struct packet *packet, __u8 code_point)
{
	write_ds(skb, packet, code_point << 2 | (packet->ds & 3));
}

#endif

#endif
