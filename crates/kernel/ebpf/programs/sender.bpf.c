// Writes before each packet that a host sends what its kernel knows of the connection at that moment: the window,
// the phase of congestion control, the round-trip time. Whoever reads the device has both at once.
//
// The record takes the place of a header of the link layer, which a TUN device does not have, or of its end. So it is
// copied before each segment when a large packet is cut, and no checksum counts it in.

#include "kernel.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

// The kernel lends helpers to programs under its own licence; this one is also under ours.
char LICENSE[] SEC("license") = "Dual MIT/GPL";

// What `Record::split` of crates/kernel/ebpf/src/record.rs reads.
struct record {
	// No version of IP has 0 in the upper half of its first byte.
	__u8 magic[4];
	__u8 kind;
	__u8 state;
	__u8 recovery;
	__u8 unused;
	__u32 congestion_window;
	__u32 threshold;
	__u32 peer_window;
	__u32 mss;
	__u32 smoothed_rtt;
};

// Bytes of the header of Ethernet.
enum { ETHERNET = 14 };

enum { KIND_NONE, KIND_REQUEST, KIND_TCP };

static __always_inline void describe(struct record *record, struct bpf_sock *any)
{
	struct bpf_sock *socket;
	struct tcp_sock *tcp;

	// A SYN-ACK is sent before there is a socket: the listener keeps a request.
	if (bpf_skc_to_tcp_request_sock(any)) {
		record->kind = KIND_REQUEST;
		return;
	}
	socket = bpf_sk_fullsock(any);
	if (!socket)
		return;
	// Resets are sent by a socket of nobody's.
	if (socket->state == TCP_CLOSE || socket->state == TCP_LISTEN)
		return;
	tcp = bpf_skc_to_tcp_sock(socket);
	if (!tcp)
		return;
	record->kind = KIND_TCP;
	record->state = socket->state;
	record->recovery = BPF_CORE_READ_BITFIELD(&tcp->inet_conn, icsk_ca_state);
	record->congestion_window = tcp->snd_cwnd;
	record->threshold = tcp->snd_ssthresh;
	record->peer_window = tcp->snd_wnd;
	record->mss = tcp->mss_cache;
	record->smoothed_rtt = tcp->srtt_us;
}

// Writes the record before the packet, behind `link` bytes of a header of the link layer.
static __always_inline int write_before(struct __sk_buff *skb, __u32 link)
{
	struct record record = { .magic = { 0, 'S', 'F', 1 } };
	struct bpf_sock *any = skb->sk;
	__u8 header[ETHERNET];

	if (any)
		describe(&record, any);
	if (link && bpf_skb_load_bytes((void *)skb, 0, header, ETHERNET))
		return TC_ACT_UNSPEC;
	// A packet for which there is no memory goes without a record.
	if (bpf_skb_change_head((void *)skb, sizeof(record), 0))
		return TC_ACT_UNSPEC;
	if (link)
		bpf_skb_store_bytes((void *)skb, 0, header, ETHERNET, 0);
	bpf_skb_store_bytes((void *)skb, link, &record, sizeof(record), 0);
	return TC_ACT_UNSPEC;
}

SEC("tc")
int sender(struct __sk_buff *skb)
{
	return write_before(skb, 0);
}

SEC("tc")
int sender_on_ethernet(struct __sk_buff *skb)
{
	return write_before(skb, ETHERNET);
}
