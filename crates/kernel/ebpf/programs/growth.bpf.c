// Congestion control that grows as Reno does, but in congestion avoidance by rtt²/rtt_av² segments in a round trip, where
// rtt_av is the mean over all connections of the host that grow so (Mehra, Tewari & Kandlur 1999, section 5): among them
// throughput does not depend on round-trip times, and together they are as aggressive as as many of Reno with the mean one.
// The twin of `Growth::aggregate_fair` of crates/node/tcp.

#include "kernel.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "growth.h"

// The kernel lends helpers to programs under its own licence; this one is also under ours.
char LICENSE[] SEC("license") = "Dual MIT/GPL";

extern __u32 tcp_reno_ssthresh(struct sock *sk) __ksym;
extern __u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;
extern __u32 tcp_slow_start(struct tcp_sock *tcp, __u32 acked) __ksym;

// The connections of a host: of a network namespace.
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, struct round_trips);
} aggregates SEC(".maps");

static __always_inline struct growth *growth_of(const struct tcp_sock *tcp)
{
	return (struct growth *)tcp->inet_conn.icsk_ca_priv;
}

static __always_inline struct round_trips *aggregate_of(const struct tcp_sock *tcp)
{
	__u32 host = tcp->inet_conn.icsk_inet.sk.__sk_common.skc_net.net->ns.inum;
	struct round_trips *found = bpf_map_lookup_elem(&aggregates, &host), none = {};

	if (found)
		return found;
	bpf_map_update_elem(&aggregates, &host, &none, BPF_NOEXIST);
	return bpf_map_lookup_elem(&aggregates, &host);
}

SEC("struct_ops")
void BPF_PROG(aggregate_fair_init, struct sock *sk)
{
	struct growth *growth = growth_of((struct tcp_sock *)sk);

	growth->rtt = 0;
	growth->fraction = 0;
}

SEC("struct_ops")
void BPF_PROG(aggregate_fair_release, struct sock *sk)
{
	struct tcp_sock *tcp = (struct tcp_sock *)sk;
	struct round_trips *aggregate = aggregate_of(tcp);

	if (aggregate)
		forget_rtt(aggregate, growth_of(tcp));
}

SEC("struct_ops")
__u32 BPF_PROG(aggregate_fair_ssthresh, struct sock *sk)
{
	growth_of((struct tcp_sock *)sk)->fraction = 0;
	return tcp_reno_ssthresh(sk);
}

SEC("struct_ops")
__u32 BPF_PROG(aggregate_fair_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC("struct_ops")
void BPF_PROG(aggregate_fair_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tcp = (struct tcp_sock *)sk;
	struct growth *growth = growth_of(tcp);
	struct round_trips *aggregate = aggregate_of(tcp);
	__u64 mean = aggregate ? mean_rtt(aggregate, growth, tcp->srtt_us) : 0;
	__u32 window = tcp->snd_cwnd, more;
	int is_slow_start = window < tcp->snd_ssthresh;

	// A window that is not used does not grow.
	if (is_slow_start ? window >= 2 * tcp->max_packets_out : !BPF_CORE_READ_BITFIELD(tcp, is_cwnd_limited))
		return;
	if (is_slow_start) {
		tcp_slow_start(tcp, acked);
		return;
	}
	more = grown(growth, window, acked, squared_ratio(growth->rtt, mean));
	if (more && window + more <= tcp->snd_cwnd_clamp)
		tcp->snd_cwnd = window + more;
}

SEC(".struct_ops.link")
struct tcp_congestion_ops aggregate_fair = {
	.init = (void *)aggregate_fair_init,
	.release = (void *)aggregate_fair_release,
	.ssthresh = (void *)aggregate_fair_ssthresh,
	.undo_cwnd = (void *)aggregate_fair_undo_cwnd,
	.cong_avoid = (void *)aggregate_fair_cong_avoid,
	.name = "aggregate_fair",
};
