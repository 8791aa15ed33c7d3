// Which connections belong to a profile, and how they come to it and leave: new ones as they are established, live ones by a walk
// over all of this network namespace. Each remembers the congestion control that it had, and is given it back.

#ifndef SHORTFLOW_SELECTION_H
#define SHORTFLOW_SELECTION_H

// Those that a profile is for; what is zero matches everything. `Filter` of crates/kernel/ebpf/src/profile/layout.rs.
struct filter {
	// Of 128 bits; addresses of IPv4 are mapped (::ffff:0:0/96).
	__u32 here[4], here_mask[4], there[4], there_mask[4];
	__u16 port_here, port_there;
	// The network namespace, by its number in /proc.
	__u32 namespace;
	// The control of the profile, and the one for connections that chose this one themselves.
	char name[NAME_BYTES], usual[NAME_BYTES];
};

const volatile struct filter filter SEC(".rodata.filter") = {};

struct addresses {
	__u32 here[4], there[4];
};

static __always_inline int is_within(const __u32 *address, const volatile __u32 *wanted, const volatile __u32 *mask)
{
	__u32 differs = 0;

	for (int i = 0; i < 4; i++)
		differs |= (address[i] ^ wanted[i]) & mask[i];
	return !differs;
}

static __always_inline int is_selected(const struct sock_common *socket)
{
	struct addresses at = {};

	if (socket->skc_family == AF_INET) {
		at.here[2] = at.there[2] = bpf_htonl(0xffff);
		at.here[3] = socket->skc_rcv_saddr;
		at.there[3] = socket->skc_daddr;
	} else if (socket->skc_family == AF_INET6) {
		for (int i = 0; i < 4; i++) {
			at.here[i] = socket->skc_v6_rcv_saddr.in6_u.u6_addr32[i];
			at.there[i] = socket->skc_v6_daddr.in6_u.u6_addr32[i];
		}
	} else {
		return 0;
	}
	return socket->skc_net.net->ns.inum == filter.namespace && is_within(at.here, filter.here, filter.here_mask) &&
	       is_within(at.there, filter.there, filter.there_mask) &&
	       (!filter.port_here || socket->skc_num == filter.port_here) &&
	       (!filter.port_there || bpf_ntohs(socket->skc_dport) == filter.port_there);
}

static __always_inline int is_same_name(const char *one, const volatile char *other)
{
	for (int i = 0; i < NAME_BYTES; i++) {
		if (one[i] != other[i])
			return 0;
		if (!one[i])
			return 1;
	}
	return 1;
}

static __always_inline void copy_name(char *to, const volatile char *from)
{
	for (int i = 0; i < NAME_BYTES; i++)
		to[i] = from[i];
}

// Whether its segments can keep to the profile at all.
static __always_inline int fits(const struct tcp_sock *tcp)
{
	struct settings *set = the_settings();

	return set && tcp->mss_cache + header_of(tcp) <= set->max_packet;
}

// A byte of the walk's output for each connection: `+` one that changed, `-` one that the kernel refused, `!` one with
// longer segments than the profile allows.
static __always_inline void say(struct seq_file *output, char what)
{
	bpf_seq_write(output, &what, 1);
}

static __always_inline int is_open(const struct sock_common *socket)
{
	return socket->skc_state == TCP_ESTABLISHED || socket->skc_state == TCP_CLOSE_WAIT ||
	       socket->skc_state == TCP_FIN_WAIT1 || socket->skc_state == TCP_LAST_ACK || socket->skc_state == TCP_CLOSING;
}

// Live connections that belong to the profile and are not in it.
SEC("iter/tcp")
int take_over(struct bpf_iter__tcp *walk)
{
	struct sock_common *socket = walk->sk_common;
	struct former had = {}, *kept;
	char name[NAME_BYTES];
	struct tcp_sock *tcp;

	if (!socket || !is_open(socket) || !is_selected(socket))
		return 0;
	tcp = bpf_skc_to_tcp_sock(socket);
	if (!tcp || bpf_getsockopt(tcp, IPPROTO_TCP, TCP_CONGESTION, had.name, NAME_BYTES) || is_same_name(had.name, filter.name))
		return 0;
	if (!fits(tcp)) {
		say(walk->meta->seq, '!');
		return 0;
	}
	kept = bpf_sk_storage_get(&formers, tcp, &had, BPF_SK_STORAGE_GET_F_CREATE);
	copy_name(name, filter.name);
	if (!kept || bpf_setsockopt(tcp, IPPROTO_TCP, TCP_CONGESTION, name, NAME_BYTES)) {
		bpf_sk_storage_delete(&formers, tcp);
		say(walk->meta->seq, '-');
		return 0;
	}
	say(walk->meta->seq, '+');
	return 0;
}

// Gives a connection that has the control back what it had.
static __always_inline void return_former(struct seq_file *output, struct sock_common *socket)
{
	struct former had = {}, *kept;
	struct tcp_sock *tcp;

	tcp = bpf_skc_to_tcp_sock(socket);
	if (!tcp || bpf_getsockopt(tcp, IPPROTO_TCP, TCP_CONGESTION, had.name, NAME_BYTES) || !is_same_name(had.name, filter.name))
		return;
	kept = bpf_sk_storage_get(&formers, tcp, 0, 0);
	if (kept)
		had = *kept;
	else
		copy_name(had.name, filter.usual);
	say(output, bpf_setsockopt(tcp, IPPROTO_TCP, TCP_CONGESTION, had.name, NAME_BYTES) ? '-' : '+');
	bpf_sk_storage_delete(&formers, tcp);
}

static __always_inline int can_have_control(const struct sock_common *socket)
{
	return socket->skc_state != TCP_TIME_WAIT && socket->skc_state != TCP_NEW_SYN_RECV;
}

// All that have the control.
SEC("iter/tcp")
int give_back(struct bpf_iter__tcp *walk)
{
	struct sock_common *socket = walk->sk_common;

	if (socket && can_have_control(socket))
		return_former(walk->meta->seq, socket);
	return 0;
}

// Those that have the control and do not belong to the profile.
SEC("iter/tcp")
int give_back_others(struct bpf_iter__tcp *walk)
{
	struct sock_common *socket = walk->sk_common;

	if (socket && can_have_control(socket) && !is_selected(socket))
		return_former(walk->meta->seq, socket);
	return 0;
}

// New connections, when they are established.
SEC("sockops")
int select_new(struct bpf_sock_ops *connection)
{
	struct former had = {};
	char name[NAME_BYTES];
	struct bpf_sock *any;
	struct tcp_sock *tcp;

	if (connection->op != BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB && connection->op != BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB)
		return 1;
	any = connection->sk;
	if (!any)
		return 1;
	tcp = bpf_skc_to_tcp_sock(any);
	if (!tcp || !is_selected(&tcp->inet_conn.icsk_inet.sk.__sk_common) || !fits(tcp))
		return 1;
	if (bpf_getsockopt(connection, IPPROTO_TCP, TCP_CONGESTION, had.name, NAME_BYTES) || is_same_name(had.name, filter.name))
		return 1;
	if (!bpf_sk_storage_get(&formers, any, &had, BPF_SK_STORAGE_GET_F_CREATE))
		return 1;
	copy_name(name, filter.name);
	if (bpf_setsockopt(connection, IPPROTO_TCP, TCP_CONGESTION, name, NAME_BYTES))
		bpf_sk_storage_delete(&formers, any);
	return 1;
}

#endif
