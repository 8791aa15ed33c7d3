// A private socket option of TCP connections, by which an application without privileges says where an object begins, and how
// many bytes of it have each level. Attached to a cgroup; the program for packets (edge.bpf.c) reads what is kept.

#include "kernel.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "objects.h"
#include "packet.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define EINVAL 22
#define ENOMEM 12

static __always_inline int is_ours(const struct bpf_sockopt *option)
{
	return option->level == SOL_SHORTFLOW && option->optname == SHORTFLOW_OBJECT && option->sk && option->sk->protocol == TCP;
}

static __always_inline int refuse(int why)
{
	bpf_set_retval(-why);
	return 0;
}

// Thresholds do not fall, and what is not used is zero, so that a later version can give it a meaning.
static __always_inline int is_valid(const struct value *value)
{
	__u64 before = 0;

	if (value->version != SHORTFLOW_VERSION || value->flags & ~SHORTFLOW_STARTS || value->count > MAX_THRESHOLDS)
		return 0;
	for (int i = 0; i < MAX_THRESHOLDS; i++) {
		if (i >= value->count ? value->thresholds[i] != 0 : value->thresholds[i] < before)
			return 0;
		before = value->thresholds[i];
	}
	return 1;
}

// How many bytes the application has written, those that wait included.
static __always_inline __u64 written(struct objects *all, struct bpf_sock *socket)
{
	const struct tcp_sock *tcp;
	__u64 sent;

	// Nothing is written before a connection is open.
	if (socket->state == TCP_CLOSE || socket->state == TCP_LISTEN || socket->state == TCP_SYN_SENT)
		return 0;
	*(volatile __u64 *)&all->socket = (unsigned long)socket;
	tcp = (const struct tcp_sock *)(unsigned long)*(volatile __u64 *)&all->socket;
	all->socket = 0;
	sent = BPF_CORE_READ(tcp, bytes_sent) - BPF_CORE_READ(tcp, bytes_retrans);
	return sent + (BPF_CORE_READ(tcp, write_seq) - BPF_CORE_READ(tcp, snd_nxt));
}

static __always_inline int keep(struct objects *all, struct bpf_sock *socket, const struct value *value)
{
	__u64 from = written(all, socket);
	struct object *newest;

	// Without a start, the newest object gets other thresholds. The first begins with the connection.
	if (value->flags & SHORTFLOW_STARTS || !all->many) {
		newest = all->many ? object_before(all, 0) : 0;
		// An object without a byte is replaced.
		if (!newest || newest->from != from)
			all->many++;
		newest = object_before(all, 0);
		newest->from = value->flags & SHORTFLOW_STARTS ? from : 0;
	} else {
		newest = object_before(all, 0);
	}
	newest->value = *value;
	return 1;
}

SEC("cgroup/setsockopt")
int shortflow_set(struct bpf_sockopt *option)
{
	struct bpf_sock *socket = option->sk;
	struct value *given = option->optval;
	struct objects *all;
	struct value value;

	if (!is_ours(option) || !socket)
		return 1;
	// At a cgroup below, another one of these has taken the value already.
	if ((option->optlen != sizeof(value) && option->optlen != -1) || (void *)(given + 1) > option->optval_end)
		return refuse(EINVAL);
	value = *given;
	if (!is_valid(&value))
		return refuse(EINVAL);
	all = bpf_sk_storage_get(&objects, socket, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!all)
		return refuse(ENOMEM);
	keep(all, socket, &value);
	// The kernel, which has no such option, does not see it.
	option->optlen = -1;
	return 1;
}

SEC("cgroup/getsockopt")
int shortflow_get(struct bpf_sockopt *option)
{
	struct bpf_sock *socket = option->sk;
	struct value *wanted = option->optval;
	struct objects *all;

	if (!is_ours(option) || !socket)
		return 1;
	if (option->optlen < (int)sizeof(*wanted) || (void *)(wanted + 1) > option->optval_end)
		return refuse(EINVAL);
	all = bpf_sk_storage_get(&objects, socket, 0, 0);
	if (all && all->many)
		*wanted = object_before(all, 0)->value;
	else
		*wanted = (struct value){ .version = SHORTFLOW_VERSION };
	option->optlen = sizeof(*wanted);
	option->retval = 0;
	return 1;
}
