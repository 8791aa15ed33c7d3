// A congestion control whose connections keep together to a traffic profile inside the host's TCP (Mehra, Tewari & Kandlur 1999,
// sections 4 and 6): what the profile does not allow stays unsent, so it is not in flight and lengthens no round trip. Beside it
// stand the programs that give the control to connections, new and live, and take it back.
//
// TCP asks `min_tso_segs` before each burst that it sends, be it new or repaired, and sends no more than its window. So the
// control keeps its own window, and in the kernel's place says how much of it may be used. What must wait is woken by the
// kernel's own pacing timer, so no process has to run.

#include "kernel.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_tracing.h>

#include "gate.h"
#include "growth.h"

// The kernel lends helpers to programs under its own licence; this one is also under ours.
char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define GROWTH_RENO 0
#define GROWTH_AGGREGATE_FAIR 1
#define GROWTH_CONSTANT_RATE 2
#define GROWTH_INCREASE_BY_K 3

// The window of a new connection in segments (RFC 6928).
#define INITIAL_WINDOW 10
// The kernel makes bursts of about this many microseconds at least.
#define LEAST_WAIT 1000
// No limit (SO_MAX_PACING_RATE).
#define UNPACED (~0UL)
// include/net/sock.h
#define SK_PACING_NEEDED 1
#define IPPROTO_TCP 6
#define TCP_CONGESTION 13
#define AF_INET 2
#define AF_INET6 10
#define NAME_BYTES 16

#define BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB 4
#define BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB 5

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct settings);
} settings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct shares);
} profile SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct round_trips);
} round_trips SEC(".maps");

// What a connection of the profile had before, and what `stop_unpaid` has done since TCP asked last.
struct former {
	// The congestion control.
	char name[NAME_BYTES];
	// Bytes that were stopped, as TCP counts them as sent, and those that were paid for.
	__u32 stopped, paid;
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct former);
} formers SEC(".maps");

// What a connection keeps, in `icsk_ca_priv`.
struct member {
	struct growth growth;
	struct ticket ticket;
	// As TCP counts them: bytes and segments that were sent, and segments that were delivered.
	__u64 bytes;
	__u32 segments, delivered;
	// In segments.
	__u32 window, window_before;
	__u32 pacing_before;
};

_Static_assert(sizeof(struct member) <= 13 * 8, "it is in icsk_ca_priv");

static __always_inline struct member *member_of(const struct tcp_sock *tcp)
{
	return (struct member *)tcp->inet_conn.icsk_ca_priv;
}

static __always_inline struct settings *the_settings(void)
{
	__u32 first = 0;

	return bpf_map_lookup_elem(&settings, &first);
}

static __always_inline struct shares *the_profile(void)
{
	__u32 first = 0;

	return bpf_map_lookup_elem(&profile, &first);
}

static __always_inline struct round_trips *all_round_trips(void)
{
	__u32 first = 0;

	return bpf_map_lookup_elem(&round_trips, &first);
}

// Bytes of IP and TCP before the data of a segment.
static __always_inline __u32 header_of(const struct tcp_sock *tcp)
{
	return tcp->tcp_header_len + tcp->inet_conn.icsk_af_ops->net_header_len;
}

static __always_inline __u32 in_flight(const struct tcp_sock *tcp)
{
	return tcp->packets_out - (tcp->sacked_out + tcp->lost_out) + tcp->retrans_out;
}

// Bytes that were sent since the last question, with their headers.
static __always_inline __u32 sent_since(const struct tcp_sock *tcp, const struct member *member, const struct former *former,
					__u32 header)
{
	__u32 sent = tcp->bytes_sent - member->bytes + (tcp->segs_out - member->segments) * header;

	// TCP counts options of segments in other ways than the device.
	return former && former->stopped < sent ? sent - former->stopped : former && former->stopped ? 0 : sent;
}

// Counts from now on.
static __always_inline void begin_count(const struct tcp_sock *tcp, struct member *member, struct former *former)
{
	member->bytes = tcp->bytes_sent;
	member->segments = tcp->segs_out;
	if (former)
		former->stopped = former->paid = 0;
}

// A window that sends no more than this rate in a round trip (section 3.3).
static __always_inline __u32 capped(const struct settings *set, const struct tcp_sock *tcp, __u32 window)
{
	__u64 most;

	if (!set->window_rate || !tcp->srtt_us || !tcp->mss_cache)
		return window;
	most = set->window_rate * tcp->srtt_us / 8000000 / tcp->mss_cache;
	if (!most)
		most = 1;
	return most < window ? most : window;
}

// The rate at which the kernel lets a burst of so many bytes follow by a pause. From a pause it takes up to half for the time
// that the connection was silent before, so this is added first.
static __always_inline unsigned long rate_for(const struct tcp_sock *tcp, __u64 bytes, __u64 wait)
{
	__u64 silent = 0, pause = wait * 1000, rate;

	if (tcp->tcp_clock_cache > tcp->tcp_wstamp_ns)
		silent = tcp->tcp_clock_cache - tcp->tcp_wstamp_ns;
	pause += silent < pause ? silent : pause;
	if (!pause)
		return UNPACED;
	rate = bytes * 1000000000 / pause;
	return rate ? rate : 1;
}

// Bytes of the burst that leaves first of so many segments.
static __always_inline __u64 first_burst(const struct tcp_sock *tcp, __u32 segments)
{
	__u64 bytes = (__u64)segments * tcp->mss_cache;
	const struct sock *sk = &tcp->inet_conn.icsk_inet.sk;
	__u32 waiting = sk->sk_write_queue.next->len;

	if (tcp->lost_out > tcp->retrans_out)
		return tcp->mss_cache;
	return waiting && waiting < bytes ? waiting : bytes;
}

// As many segments as are granted leave as one burst: the kernel defers one that is smaller than it could be until an
// acknowledgement comes, and nothing else would wake the connection.
static __always_inline __u32 open_gate(struct tcp_sock *tcp, struct member *member, struct former *former,
				       const struct settings *set, struct shares *all)
{
	__u32 flying = in_flight(tcp), window = capped(set, tcp, member->window), header = header_of(tcp);
	__u32 room = window > flying ? window - flying : 0, mss = tcp->mss_cache;
	__u32 end = tcp->snd_una + tcp->snd_wnd, waiting = tcp->write_seq - tcp->snd_nxt, lost, wanted;
	__u32 offered = (__s32)(end - tcp->snd_nxt) > 0 ? end - tcp->snd_nxt : 0;
	struct question question = {};
	struct ticket ticket;
	struct answer answer;
	struct sock *sk = &tcp->inet_conn.icsk_inet.sk;
	__u32 burst;

	sk->sk_pacing_status = SK_PACING_NEEDED;
	// The kernel's timer asks again. What is to be repaired then needs a window that is not full.
	if (tcp->tcp_wstamp_ns > tcp->tcp_clock_cache) {
		tcp->snd_cwnd = flying + 1;
		return 1;
	}
	if (!mss)
		return 1;
	lost = tcp->lost_out > tcp->retrans_out ? tcp->lost_out - tcp->retrans_out : 0;
	if (waiting > offered)
		waiting = offered;
	wanted = lost + (waiting + mss - 1) / mss;
	if (wanted > room)
		wanted = room;
	question.now = bpf_ktime_get_ns() / 1000;
	question.sent = sent_since(tcp, member, former, header);
	question.paid = former ? former->paid : 0;
	begin_count(tcp, member, former);
	question.segment = mss + header;
	question.wanted = wanted;
	question.rtt = tcp->srtt_us;
	question.is_urgent = !flying || lost;
	ticket = member->ticket;
	bpf_spin_lock(&all->lock);
	ask(set, all, &ticket, &question, &answer);
	bpf_spin_unlock(&all->lock);
	member->ticket = ticket;
	tcp->snd_cwnd = flying + answer.segments;
	// The kernel may still send one without asking, as a probe.
	burst = answer.segments ? answer.segments : 1;
	if (answer.segments == wanted) {
		sk->sk_pacing_rate = UNPACED;
	} else {
		if (answer.wait < LEAST_WAIT)
			answer.wait = LEAST_WAIT;
		sk->sk_pacing_rate = rate_for(tcp, first_burst(tcp, burst), answer.wait);
	}
	return burst;
}

SEC("struct_ops")
void BPF_PROG(profile_init, struct sock *sk)
{
	struct tcp_sock *tcp = (struct tcp_sock *)sk;
	struct member *member = member_of(tcp);
	struct settings *set = the_settings();
	struct shares *all = the_profile();
	struct ticket ticket = {};
	__u64 now = bpf_ktime_get_ns() / 1000;

	member->growth = (struct growth){};
	member->ticket = ticket;
	begin_count(tcp, member, 0);
	member->delivered = tcp->delivered;
	member->window = member->window_before = tcp->snd_cwnd ? tcp->snd_cwnd : INITIAL_WINDOW;
	member->pacing_before = sk->sk_pacing_status;
	if (!set || !all)
		return;
	bpf_spin_lock(&all->lock);
	earn(set, all, now);
	ticket.number = join(set, all, &ticket.serial);
	bpf_spin_unlock(&all->lock);
	member->ticket = ticket;
}

SEC("struct_ops")
void BPF_PROG(profile_release, struct sock *sk)
{
	struct tcp_sock *tcp = (struct tcp_sock *)sk;
	struct member *member = member_of(tcp);
	struct round_trips *times = all_round_trips();
	struct settings *set = the_settings();
	struct shares *all = the_profile();
	struct former *former = bpf_sk_storage_get(&formers, sk, 0, 0);
	struct ticket ticket;
	__u32 sent, paid;

	// Whoever comes next finds the window and the pacing that are its own.
	tcp->snd_cwnd = member->window ? member->window : 1;
	sk->sk_pacing_rate = UNPACED;
	sk->sk_pacing_status = member->pacing_before;
	if (times)
		forget_rtt(times, &member->growth);
	sent = sent_since(tcp, member, former, header_of(tcp));
	paid = former ? former->paid : 0;
	bpf_sk_storage_delete(&formers, sk);
	if (!set || !all)
		return;
	ticket = member->ticket;
	bpf_spin_lock(&all->lock);
	give_up(set, all, &ticket, sent, paid);
	bpf_spin_unlock(&all->lock);
	member->ticket = ticket;
}

SEC("struct_ops")
__u32 BPF_PROG(profile_min_tso_segs, struct sock *sk)
{
	struct tcp_sock *tcp = (struct tcp_sock *)sk;
	struct member *member = member_of(tcp);
	struct settings *set = the_settings();
	struct shares *all = the_profile();

	if (set && all)
		return open_gate(tcp, member, bpf_sk_storage_get(&formers, sk, 0, 0), set, all);
	tcp->snd_cwnd = member->window;
	return 1;
}

// Segments that the window grows by in a round trip.
static __always_inline __u64 growth_by(const struct settings *set, struct tcp_sock *tcp, struct growth *growth)
{
	struct round_trips *times = all_round_trips();
	__u32 rtt = tcp->srtt_us;

	switch (set->growth) {
	case GROWTH_AGGREGATE_FAIR:
		return times ? squared_ratio(rtt, mean_rtt(times, growth, rtt)) : 1ULL << POINT;
	case GROWTH_CONSTANT_RATE:
		return squared_ratio(rtt, set->reference_rtt);
	case GROWTH_INCREASE_BY_K:
		return rtt > set->reference_rtt ? (__u64)set->increase << POINT : 1ULL << POINT;
	default:
		return 1ULL << POINT;
	}
}

static __always_inline void grow(const struct settings *set, struct tcp_sock *tcp, struct member *member, __u32 delivered)
{
	__u64 each = growth_by(set, tcp, &member->growth);
	__u32 window = member->window, used = tcp->max_packets_out;
	__u32 more;

	// A window that is not used does not grow.
	if (window < tcp->snd_ssthresh) {
		if (window >= 2 * used)
			return;
		more = tcp->snd_ssthresh - window < delivered ? tcp->snd_ssthresh - window : delivered;
	} else {
		if (window > used)
			return;
		more = grown(&member->growth, window, delivered, each);
	}
	if (window + more <= tcp->snd_cwnd_clamp)
		member->window = window + more;
}

// Called for each acknowledgement, in the place of the kernel's own reduction of the window.
SEC("struct_ops")
void BPF_PROG(profile_cong_control, struct sock *sk)
{
	struct tcp_sock *tcp = (struct tcp_sock *)sk;
	struct member *member = member_of(tcp);
	struct settings *set = the_settings();
	__u32 delivered = tcp->delivered - member->delivered, state;

	member->delivered = tcp->delivered;
	state = BPF_CORE_READ_BITFIELD(&tcp->inet_conn, icsk_ca_state);
	// Congestion halves the window once, in the first answer to it.
	if (state == TCP_CA_CWR || state == TCP_CA_RECOVERY) {
		if (member->window > tcp->snd_ssthresh)
			member->window = tcp->snd_ssthresh;
	} else if (set && delivered) {
		grow(set, tcp, member, delivered);
	}
}

SEC("struct_ops")
__u32 BPF_PROG(profile_ssthresh, struct sock *sk)
{
	struct member *member = member_of((struct tcp_sock *)sk);
	struct former *former = bpf_sk_storage_get(&formers, sk, 0, 0);
	__u32 threshold = ((struct tcp_sock *)sk)->snd_ssthresh;

	// TCP takes a segment that was stopped for congestion of the device.
	if (former && former->stopped)
		return threshold > member->window ? threshold : member->window;
	member->growth.fraction = 0;
	member->window_before = member->window;
	return member->window > 4 ? member->window / 2 : 2;
}

SEC("struct_ops")
__u32 BPF_PROG(profile_undo_cwnd, struct sock *sk)
{
	struct member *member = member_of((struct tcp_sock *)sk);

	if (member->window < member->window_before)
		member->window = member->window_before;
	return member->window ? member->window : 1;
}

SEC("struct_ops")
void BPF_PROG(profile_set_state, struct sock *sk, __u8 state)
{
	// RFC 5681 section 3.1: after a timeout, one segment.
	if (state == TCP_CA_LOSS)
		member_of((struct tcp_sock *)sk)->window = 1;
}

SEC(".struct_ops")
struct tcp_congestion_ops profile_control = {
	.init = (void *)profile_init,
	.release = (void *)profile_release,
	.ssthresh = (void *)profile_ssthresh,
	.undo_cwnd = (void *)profile_undo_cwnd,
	.set_state = (void *)profile_set_state,
	.cong_control = (void *)profile_cong_control,
	.min_tso_segs = (void *)profile_min_tso_segs,
	.name = "profile",
};

#include "selection.h"
#include "unpaid.h"
