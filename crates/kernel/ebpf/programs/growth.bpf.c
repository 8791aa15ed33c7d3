// Congestion control that grows as Reno does, but in congestion avoidance by rtt²/rtt_av² segments in a round trip, where
// rtt_av is the mean over all connections of the host that grow so (Mehra, Tewari & Kandlur 1999, section 5): among them
// throughput does not depend on round-trip times, and together they are as aggressive as as many of Reno with the mean one.
// The twin of `Growth::aggregate_fair` of crates/node/tcp.

#include "kernel.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

// The kernel lends helpers to programs under its own licence; this one is also under ours.
char LICENSE[] SEC("license") = "Dual MIT/GPL";

// Binary digits behind the point.
#define POINT 16
// No connection grows by more segments in a round trip than this, in its root: whatever the clock says.
#define MAX_RATIO (64ULL << POINT)

extern __u32 tcp_reno_ssthresh(struct sock *sk) __ksym;
extern __u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;
extern __u32 tcp_slow_start(struct tcp_sock *tcp, __u32 acked) __ksym;

// The connections of a host: of a network namespace.
struct aggregate {
	// Round-trip times in eighths of a microsecond.
	__u64 sum;
	__u64 connections;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, struct aggregate);
} aggregates SEC(".maps");

// What a connection keeps.
struct member {
	// What it counts with in its aggregate; zero before there is a sample.
	__u32 rtt;
	// What it has grown by less than a segment.
	__u32 fraction;
};

static __always_inline struct member *member_of(const struct tcp_sock *tcp)
{
	return (struct member *)tcp->inet_conn.icsk_ca_priv;
}

static __always_inline struct aggregate *aggregate_of(const struct tcp_sock *tcp)
{
	__u32 host = tcp->inet_conn.icsk_inet.sk.__sk_common.skc_net.net->ns.inum;
	struct aggregate *found = bpf_map_lookup_elem(&aggregates, &host), none = {};

	if (found)
		return found;
	bpf_map_update_elem(&aggregates, &host, &none, BPF_NOEXIST);
	return bpf_map_lookup_elem(&aggregates, &host);
}

// The mean over the aggregate, in which this connection has its present round-trip time from now on; zero where there is
// none yet.
static __always_inline __u64 mean_rtt(struct tcp_sock *tcp, struct member *member)
{
	struct aggregate *aggregate = aggregate_of(tcp);
	__u32 rtt = tcp->srtt_us;
	__u64 count, sum;

	if (!aggregate || !rtt)
		return 0;
	if (!member->rtt)
		__sync_fetch_and_add(&aggregate->connections, 1);
	// Wrapping, as sums of differences may pass below zero on their way.
	__sync_fetch_and_add(&aggregate->sum, (__u64)rtt - member->rtt);
	member->rtt = rtt;
	count = aggregate->connections;
	sum = aggregate->sum;
	return count ? sum / count : 0;
}

SEC("struct_ops")
void BPF_PROG(aggregate_fair_init, struct sock *sk)
{
	struct member *member = member_of((struct tcp_sock *)sk);

	member->rtt = 0;
	member->fraction = 0;
}

SEC("struct_ops")
void BPF_PROG(aggregate_fair_release, struct sock *sk)
{
	struct tcp_sock *tcp = (struct tcp_sock *)sk;
	struct member *member = member_of(tcp);
	struct aggregate *aggregate = aggregate_of(tcp);

	if (!aggregate || !member->rtt)
		return;
	__sync_fetch_and_add(&aggregate->sum, -(__u64)member->rtt);
	__sync_fetch_and_add(&aggregate->connections, -1ULL);
	member->rtt = 0;
}

SEC("struct_ops")
__u32 BPF_PROG(aggregate_fair_ssthresh, struct sock *sk)
{
	member_of((struct tcp_sock *)sk)->fraction = 0;
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
	struct member *member = member_of(tcp);
	__u64 mean = mean_rtt(tcp, member), ratio = 1ULL << POINT, more;
	__u32 window = tcp->snd_cwnd;
	int is_slow_start = window < tcp->snd_ssthresh;

	// A window that is not used does not grow.
	if (is_slow_start ? window >= 2 * tcp->max_packets_out : !BPF_CORE_READ_BITFIELD(tcp, is_cwnd_limited))
		return;
	if (is_slow_start) {
		tcp_slow_start(tcp, acked);
		return;
	}
	if (mean)
		ratio = ((__u64)member->rtt << POINT) / mean;
	if (ratio > MAX_RATIO)
		ratio = MAX_RATIO;
	more = window ? acked * (ratio * ratio >> POINT) / window : 0;
	// A segment for an acknowledgement at most.
	if (more > 1ULL << POINT)
		more = 1ULL << POINT;
	more += member->fraction;
	member->fraction = more & ((1ULL << POINT) - 1);
	more >>= POINT;
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
