// Does nothing: what it takes to run any program at all.

#include "kernel.h"

#include <bpf/bpf_helpers.h>

SEC("tc")
int shortflow_nothing(struct __sk_buff *skb)
{
	return TC_ACT_UNSPEC;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
