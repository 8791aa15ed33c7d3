// Segments that TCP sends without asking: its timers repeat what got no answer, and probe a window that is closed. They leave
// TCP only if the profile has tokens for them. Else TCP is answered that the device is congested: to it the segment is unsent,
// and the timer tries again in half a second. Later TCP is answered that the segment was refused, and its timer backs off.

#ifndef SHORTFLOW_UNPAID_H
#define SHORTFLOW_UNPAID_H

// What a program at a cgroup answers.
#define REFUSED 0
#define PASS 1
#define CONGESTED 2
// Options that a segment without data may have.
#define MAX_OPTIONS 40
// So often in turn a timer tries at its shortest distance.
#define QUICK_TRIES 3
// After so many tries a segment leaves without tokens: TCP closes a connection without an application after 8 (tcp_orphan_retries).
#define MAX_TRIES 7

// How often in turn a timer of this connection has sent or tried to.
static __always_inline __u32 tries(const struct tcp_sock *tcp)
{
	__u32 probes = tcp->inet_conn.icsk_probes_out, retransmits = tcp->inet_conn.icsk_retransmits;

	return probes > retransmits ? probes : retransmits;
}

SEC("cgroup_skb/egress")
int stop_unpaid(struct __sk_buff *skb)
{
	__u32 header, sent, right, bytes, more;
	struct settings *set = the_settings();
	struct shares *all = the_profile();
	struct bpf_sock *socket = skb->sk;
	struct ticket ticket = {};
	struct former *former;
	struct member *member;
	struct tcp_sock *tcp;
	__u32 tried;
	__u64 now;
	int may;

	if (!set || !all || !socket)
		return PASS;
	socket = bpf_sk_fullsock(socket);
	if (!socket)
		return PASS;
	former = bpf_sk_storage_get(&formers, socket, 0, 0);
	if (!former)
		return PASS;
	tcp = bpf_skc_to_tcp_sock(socket);
	if (!tcp)
		return PASS;
	header = header_of(tcp);
	if (skb->len <= header + MAX_OPTIONS)
		return PASS;
	member = member_of(tcp);
	ticket.number = member->ticket.number;
	ticket.serial = member->ticket.serial;
	// What was asked for is paid for.
	sent = sent_since(tcp, member, former, header);
	right = member->ticket.granted + former->paid;
	if (sent <= right)
		return PASS;
	bytes = skb->len;
	if (skb->gso_segs > 1)
		bytes += (skb->gso_segs - 1) * header;
	more = sent - right < bytes ? sent - right : bytes;
	now = bpf_ktime_get_ns() / 1000;
	tried = tries(tcp);
	bpf_spin_lock(&all->lock);
	may = pay(set, all, &ticket, now, more, tcp->srtt_us);
	if (!may && tried >= MAX_TRIES) {
		may = 1;
		take(set, all, &ticket, (__s64)more * (__s64)PER_BYTE);
		all->forced += more;
		all->stopped--;
	}
	bpf_spin_unlock(&all->lock);
	if (may) {
		former->paid += more;
		return PASS;
	}
	former->stopped += bytes;
	return tried < QUICK_TRIES ? CONGESTED : REFUSED;
}

#endif
