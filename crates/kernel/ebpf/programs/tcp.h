// What a host's TCP tells of the sender of a packet, at the moment when it sends it.

#ifndef SHORTFLOW_TCP_H
#define SHORTFLOW_TCP_H

#include "kernel.h"
#include "objects.h"
#include "packet.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

struct sender {
	// By which it is bound, in whole segments: its own window, or what the peer offers if that is less.
	__u32 window;
	__u8 is_known, is_recovering, is_again;
};

// Whether a segment is sent again: what is new counts as sent when it has left.
static __always_inline int is_sent_again(struct __sk_buff *skb, const struct packet *packet, const struct tcp_sock *tcp)
{
	__be32 bytes;

	if (!packet->tcp_at || bpf_skb_load_bytes(skb, packet->tcp_at + 4, &bytes, sizeof(bytes)))
		return 0;
	return (__s32)(bpf_ntohl(bytes) - tcp->snd_nxt) < 0;
}

// `initial_window` is that of a connection of which there is no socket yet.
static __always_inline struct sender ask_sender(struct __sk_buff *skb, const struct packet *packet,
						__u32 initial_window)
{
	struct sender sender = {};
	struct bpf_sock *any = skb->sk, *socket;
	struct tcp_sock *tcp;
	__u32 offered;

	if (!any || packet->protocol != TCP)
		return sender;
	// A SYN-ACK is sent before there is a socket: the listener keeps a request.
	if (bpf_skc_to_tcp_request_sock(any)) {
		sender.window = initial_window;
		sender.is_known = 1;
		return sender;
	}
	socket = bpf_sk_fullsock(any);
	// Resets are sent by a socket of nobody's.
	if (!socket || socket->state == TCP_CLOSE || socket->state == TCP_LISTEN)
		return sender;
	tcp = bpf_skc_to_tcp_sock(socket);
	if (!tcp)
		return sender;
	sender.is_known = 1;
	sender.window = tcp->snd_cwnd;
	// A connection that is being opened does not know yet what the peer offers.
	if (socket->state == TCP_SYN_SENT || socket->state == TCP_SYN_RECV)
		return sender;
	if (tcp->mss_cache) {
		offered = tcp->snd_wnd / tcp->mss_cache;
		if (offered < sender.window)
			sender.window = offered;
	}
	sender.is_recovering = BPF_CORE_READ_BITFIELD(&tcp->inet_conn, icsk_ca_state) == TCP_CA_RECOVERY;
	sender.is_again = is_sent_again(skb, packet, tcp);
	return sender;
}

// How far a connection is, before a packet of it.
struct progress {
	// Bytes of its application that were sent at least once, and those that it has handed in besides.
	__u64 sent, remaining;
	// Whether anything is known of the sender, and of what it has handed in.
	__u8 is_known, has_end;
	// Whether the application says which of the levels the packet has, and which; `BEYOND` is the last.
	__u8 has_level, level, unused[4];
};

#define BEYOND 64

static __always_inline int is_closing(const struct bpf_sock *socket)
{
	return socket->state == TCP_FIN_WAIT1 || socket->state == TCP_LAST_ACK || socket->state == TCP_CLOSING;
}

// The byte of the connection with which a packet begins, from 0 on: also of one that is sent again. A connection counts a
// segment as it hands it on.
static __always_inline __u64 first_byte(struct __sk_buff *skb, const struct packet *packet, const struct bpf_sock *socket,
					const struct tcp_sock *tcp)
{
	__u64 sent = tcp->bytes_sent - tcp->bytes_retrans;
	__s32 ahead = packet->sequence - tcp->snd_nxt;

	if (socket->state == TCP_SYN_SENT || socket->state == TCP_SYN_RECV)
		return 0;
	if (ahead >= 0)
		return sent - payload_of(skb, packet);
	// A FIN that was sent has a number behind the last byte.
	if (is_closing(socket) && tcp->snd_nxt == tcp->write_seq)
		ahead++;
	return sent + ahead;
}

// How far a packet is in its object, where the application has said where that begins: then, and only then, `progress` changes.
static __always_inline void read_object(struct __sk_buff *skb, const struct packet *packet, struct progress *progress)
{
	struct bpf_sock *any = skb->sk, *socket;
	struct object *object = 0;
	struct objects *all;
	struct tcp_sock *tcp;
	__u64 at;

	if (!any || packet->protocol != TCP || !packet->tcp_at)
		return;
	socket = bpf_sk_fullsock(any);
	if (!socket || socket->state == TCP_CLOSE || socket->state == TCP_LISTEN)
		return;
	tcp = bpf_skc_to_tcp_sock(socket);
	if (!tcp)
		return;
	all = bpf_sk_storage_get(&objects, socket, 0, 0);
	if (!all)
		return;
	at = first_byte(skb, packet, socket, tcp);
	for (__u32 back = 0; back < OBJECTS && back < all->many; back++) {
		object = object_before(all, back);
		if (object->from <= at)
			break;
		object = 0;
	}
	if (!object)
		return;
	progress->sent = at - object->from;
	progress->is_known = 1;
	if (!object->value.count)
		return;
	progress->has_level = 1;
	progress->level = 0;
	for (__u32 i = 0; i < MAX_THRESHOLDS && i < object->value.count; i++)
		progress->level += object->value.thresholds[i] <= progress->sent;
	if (progress->level == object->value.count)
		progress->level = BEYOND;
}

// Of datagrams, and of a connection that is being opened, nothing was sent. A connection counts a segment as it hands it on.
static __always_inline void read_progress(struct __sk_buff *skb, const struct packet *packet, struct progress *progress)
{
	struct bpf_sock *any = skb->sk, *socket;
	struct tcp_sock *tcp;
	int has_fin;

	if (!any)
		return;
	progress->is_known = packet->protocol != TCP || bpf_skc_to_tcp_request_sock(any);
	progress->has_end = progress->is_known && packet->protocol == TCP;
	socket = bpf_sk_fullsock(any);
	// Resets are sent by a socket of nobody's.
	if (progress->is_known || !socket || socket->state == TCP_CLOSE || socket->state == TCP_LISTEN)
		return;
	tcp = bpf_skc_to_tcp_sock(socket);
	if (!tcp)
		return;
	progress->is_known = progress->has_end = 1;
	if (socket->state == TCP_SYN_SENT || socket->state == TCP_SYN_RECV)
		return;
	progress->sent = tcp->bytes_sent - tcp->bytes_retrans;
	if (!is_sent_again(skb, packet, tcp))
		progress->sent -= payload_of(skb, packet);
	// The FIN has a number behind the last byte.
	has_fin = is_closing(socket);
	progress->remaining = (__u32)(tcp->write_seq - tcp->snd_nxt);
	if (has_fin && progress->remaining)
		progress->remaining--;
}

// The smoothed round-trip time of the connection that sends a packet, in microseconds; 0 if it is unknown.
static __always_inline __u32 smoothed_rtt(struct __sk_buff *skb, const struct packet *packet)
{
	struct bpf_sock *any = skb->sk, *socket;
	struct tcp_sock *tcp;
	__u32 eighths;

	if (!any || packet->protocol != TCP)
		return 0;
	socket = bpf_sk_fullsock(any);
	if (!socket)
		return 0;
	tcp = bpf_skc_to_tcp_sock(socket);
	if (!tcp)
		return 0;
	eighths = tcp->srtt_us;
	return eighths && eighths < 8 ? 1 : eighths >> 3;
}

#endif
