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

/* The types of maps, which libbpf's declarations of helpers mention. */
enum bpf_map_type { BPF_MAP_TYPE_UNSPEC };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct bpf_sock {
	__u32 state;
};

struct __sk_buff {
	struct bpf_sock *sk;
};

struct inet_connection_sock {
	__u8 icsk_ca_state : 5;
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	__u32 snd_cwnd;
	__u32 snd_ssthresh;
	__u32 snd_wnd;
	__u32 mss_cache;
	__u32 srtt_us;
};

#pragma clang attribute pop

/* include/net/tcp_states.h */
enum {
	TCP_CLOSE = 7,
	TCP_LISTEN = 10,
};

/* include/uapi/linux/pkt_cls.h */
#define TC_ACT_UNSPEC (-1)

#endif
