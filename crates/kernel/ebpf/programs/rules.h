// The class of a packet, by its headers and by what this host knows of its sender.

#ifndef SHORTFLOW_RULES_H
#define SHORTFLOW_RULES_H

#include "classes.h"
#include "lookup.h"
#include "packet.h"
#include "tcp.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct rules);
} rules SEC(".maps");

// How far the connection of a packet is. Tests tell one more of each, and 0 where nothing is known.
APART int find_progress(struct __sk_buff *skb, const struct packet *packet, struct progress *progress)
{
	if (!packet || !progress)
		return 0;
	if (!settings.is_test) {
		read_progress(skb, packet, progress);
		if (settings.objects)
			read_object(skb, packet, progress);
		return 0;
	}
	progress->is_known = !!skb->cb[3];
	progress->has_end = !!skb->cb[4];
	progress->sent = skb->cb[3] - 1;
	progress->remaining = skb->cb[4] - 1;
	return 0;
}

// By the groups of processes, one at each level, of which the sender is.
static __always_inline __u64 by_groups(struct __sk_buff *skb, const struct rules *known)
{
	__u64 allowed = known->of_any_group;

	for (__u32 i = 0; i < MAX_RULES && i < known->levels; i++)
		allowed |= known->at_level[i] & by_bytes(known->group, 8, bpf_skb_ancestor_cgroup_id(skb, known->level[i]));
	return allowed;
}

// The priority that an application has set on its socket. What is forwarded has one by its TOS, which says nothing of a socket.
static __always_inline __u32 priority_of_socket(const struct __sk_buff *skb)
{
	return skb->sk && skb->priority < PRIORITIES ? skb->priority & (PRIORITIES - 1) : 0;
}

// The class of the first rule that matches; `MAX_CLASSES` without one. What the host knows of the sender is asked for where
// the headers leave rules that ask for it.
static __always_inline __u32 classify(struct __sk_buff *skb, const struct packet *packet)
{
	struct progress progress = {};
	const struct rules *known;
	__u32 zero = 0;
	__u64 allowed;

	known = bpf_map_lookup_elem(&rules, &zero);
	if (!known)
		return MAX_CLASSES;
	allowed = by_headers(known, packet, settings.asks);
	if (settings.asks & ASKS_MARK)
		allowed &= by_bytes(known->mark, 4, skb->mark);
	if (settings.asks & ASKS_PRIORITY)
		allowed &= known->priority[priority_of_socket(skb)];
	if (settings.asks & ASKS_GROUP && allowed & ~known->of_any_group)
		allowed &= by_groups(skb, known);
	if (settings.asks & ASKS_PROGRESS && allowed & ~known->at_any_progress) {
		find_progress(skb, packet, &progress);
		if (progress.has_level)
			allowed &= known->sent.rules[progress.level <= MAX_RULES ? progress.level : MAX_RULES];
		else
			allowed &= by_progress(&known->sent, progress.is_known, progress.sent);
		allowed &= by_progress(&known->remaining, progress.has_end, progress.remaining);
	}
	return allowed ? known->class[place_of_first(allowed)] : MAX_CLASSES;
}

#endif
