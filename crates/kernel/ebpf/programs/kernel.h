/* What the programs use of the kernel's types. Where a field stands is found when a program is loaded (CO-RE):
 * names and types count here, not the order. */

#ifndef SHORTFLOW_KERNEL_H
#define SHORTFLOW_KERNEL_H

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;

/* include/uapi/linux/bpf.h; libbpf's declarations of helpers mention it. */
enum bpf_map_type {
	BPF_MAP_TYPE_UNSPEC = 0,
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_LPM_TRIE = 11,
	BPF_MAP_TYPE_XSKMAP = 17,
	BPF_MAP_TYPE_SK_STORAGE = 24,
};

/* Where an offset in a packet counts from: its IP header. */
enum bpf_hdr_start_off {
	BPF_HDR_START_NET = 1,
};

/* Flags for writing to maps. */
enum {
	BPF_ANY = 0,
	BPF_NOEXIST = 1,
	BPF_F_NO_PREALLOC = 1,
	BPF_F_CLONE = 1 << 9,
	BPF_SK_STORAGE_GET_F_CREATE = 1,
};

#ifdef __bpf__
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
#endif

struct bpf_sock {
	__u32 protocol;
	__u32 state;
};

struct __sk_buff {
	__u32 len;
	__u32 mark;
	__u32 priority;
	__u32 protocol;
	__u32 tc_index;
	__u32 cb[5];
	__u32 data;
	__u32 data_end;
	__u64 tstamp;
	__u32 gso_segs;
	struct bpf_sock *sk;
	__u32 gso_size;
	__u32 wire_len;
};

/* What a device has of queueing disciplines: all but its root, by their handles. */
struct hlist_node {
	struct hlist_node *next;
};

struct hlist_head {
	struct hlist_node *first;
};

struct net_device {
	struct hlist_head qdisc_hash[16];
};

struct qdisc_skb_head {
	__u32 qlen;
};

struct gnet_stats_queue {
	__u32 qlen;
	__u32 backlog;
	__u32 drops;
	__u32 requeues;
	__u32 overlimits;
};

struct Qdisc {
	struct hlist_node hash;
	__u32 handle;
	__u32 parent;
	struct qdisc_skb_head q;
	struct gnet_stats_queue qstats;
};

struct sk_buff {
	struct net_device *dev;
	__u32 len;
	char cb[48];
	unsigned char *head;
	__u32 end;
};

struct xdp_md {
	__u32 data;
	__u32 data_end;
	__u32 data_meta;
	__u32 ingress_ifindex;
	__u32 rx_queue_index;
};

struct ns_common {
	unsigned int inum;
};

struct net {
	struct ns_common ns;
};

typedef struct {
	struct net *net;
} possible_net_t;

struct in6_addr {
	union {
		__be32 u6_addr32[4];
	} in6_u;
};

struct sock_common {
	possible_net_t skc_net;
	__be32 skc_daddr;
	__be32 skc_rcv_saddr;
	__be16 skc_dport;
	__u16 skc_num;
	unsigned short skc_family;
	volatile unsigned char skc_state;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
};

struct sk_buff;

struct sk_buff_head {
	struct sk_buff *next;
};

struct sock {
	struct sock_common __sk_common;
	struct sk_buff_head sk_write_queue;
	unsigned long sk_pacing_rate;
	__u32 sk_pacing_status;
};

struct inet_connection_sock_af_ops {
	__u16 net_header_len;
};

struct inet_sock {
	struct sock sk;
};

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	const struct inet_connection_sock_af_ops *icsk_af_ops;
	__u8 icsk_ca_state : 5;
	__u8 icsk_retransmits;
	__u8 icsk_probes_out;
	__u64 icsk_ca_priv[13];
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	__u32 snd_cwnd;
	__u32 snd_ssthresh;
	__u32 snd_wnd;
	__u32 snd_nxt;
	__u32 snd_una;
	__u32 mss_cache;
	__u32 srtt_us;
	__u32 write_seq;
	__u64 bytes_sent;
	__u64 bytes_retrans;
	__u32 segs_out;
	__u16 tcp_header_len;
	__u32 packets_out;
	__u32 sacked_out;
	__u32 lost_out;
	__u32 retrans_out;
	__u32 delivered;
	__u64 tcp_wstamp_ns;
	__u64 tcp_clock_cache;
	__u32 snd_cwnd_clamp;
	__u32 max_packets_out;
	__u8 is_cwnd_limited : 1;
};

/* A congestion control, as the kernel is given it. */
struct tcp_congestion_ops {
	__u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, __u32 ack, __u32 acked);
	__u32 (*undo_cwnd)(struct sock *sk);
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
	char name[16];
	/* What only some controls have stands behind the name, whose place the loader knows. */
	void (*set_state)(struct sock *sk, __u8 state);
	/* The kernel also says what was acknowledged, in other ways from one version to the next. */
	void (*cong_control)(struct sock *sk);
	__u32 (*min_tso_segs)(struct sock *sk);
};

/* A walk over the connections of a network namespace. */
struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__tcp {
	struct bpf_iter_meta *meta;
	struct sock_common *sk_common;
};

/* A connection of a group of processes, when something happens to it. */
struct bpf_sock_ops {
	__u32 op;
	struct bpf_sock *sk;
};

/* An option of a socket that a process of a group sets or reads. */
struct bpf_sockopt {
	struct bpf_sock *sk;
	void *optval;
	void *optval_end;
	__s32 level;
	__s32 optname;
	__s32 optlen;
	__s32 retval;
};

struct skb_shared_info {
	unsigned short gso_segs;
};

/* What the kernel keeps of a packet in a queue, in `cb`. */
struct qdisc_skb_cb {
	__u32 pkt_len;
};

struct nlattr;
struct netlink_ext_ack;

/* Packets that are dropped when the queue's lock is free. */
struct bpf_sk_buff_ptr {
	struct sk_buff *skb;
};

/* A queueing discipline, as the kernel is given it. */
struct Qdisc_ops {
	int (*enqueue)(struct sk_buff *skb, struct Qdisc *sch, struct bpf_sk_buff_ptr *to_free);
	struct sk_buff *(*dequeue)(struct Qdisc *sch);
	int (*init)(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack);
	void (*reset)(struct Qdisc *sch);
	void (*destroy)(struct Qdisc *sch);
	char id[16];
};

#ifdef __bpf__
#pragma clang attribute pop
#endif

/* A lock in the value of a map, which the kernel knows by its name. */
struct bpf_spin_lock {
	__u32 val;
};

/* A view of a packet, and a count of a loop, which the kernel knows by their names. */
struct bpf_dynptr {
	__u64 opaque[2];
} __attribute__((aligned(8)));

struct bpf_iter_num {
	__u64 opaque[1];
} __attribute__((aligned(8)));

/* include/uapi/linux/if_ether.h */
enum {
	ETH_IPV4 = 0x0800,
	ETH_ARP = 0x0806,
	ETH_VLAN = 0x8100,
	ETH_IPV6 = 0x86dd,
	ETH_PROVIDER_VLAN = 0x88a8,
	ETH_OLD_PROVIDER_VLAN = 0x9100,
};

/* include/net/tcp_states.h */
enum {
	TCP_ESTABLISHED = 1,
	TCP_SYN_SENT = 2,
	TCP_SYN_RECV = 3,
	TCP_FIN_WAIT1 = 4,
	TCP_TIME_WAIT = 6,
	TCP_CLOSE = 7,
	TCP_CLOSE_WAIT = 8,
	TCP_LAST_ACK = 9,
	TCP_LISTEN = 10,
	TCP_CLOSING = 11,
	TCP_NEW_SYN_RECV = 12,
};

/* enum tcp_ca_state of include/uapi/linux/tcp.h */
enum {
	TCP_CA_CWR = 2,
	TCP_CA_RECOVERY = 3,
	TCP_CA_LOSS = 4,
};

/* include/uapi/linux/bpf.h */
enum xdp_action {
	XDP_PASS = 2,
};

/* include/uapi/linux/pkt_cls.h */
#define TC_ACT_UNSPEC (-1)
#define TC_ACT_SHOT 2

// The kernel's verifier looks at each of these functions by itself, so that what there is to be tried in one does not multiply
// with what there is in the others. All that it takes for known in them is what kinds of things they are given.
#define APART __attribute__((noinline))

#endif
