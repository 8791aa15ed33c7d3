// The papers' queues as a queueing discipline of the kernel (Linux 6.16 and newer with CONFIG_NET_SCH_BPF): holds packets and
// hands them on as programs/qdisc decides, which knows no packet of the kernel. The kernel calls it for one packet at a time,
// under the lock of the device's queue.
//
// The discipline stays at its device without the process that loaded it, until tc or the device takes it away; then all of it is
// gone. It is at the root of one device: each device has maps of its own.

#include "kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

// The bytes of a packet in which headers are looked for.
#define MAX_HEADERS 256

// What is read of a packet.
struct headers {
	__u32 len, gso_segs, there, unused;
	__u8 bytes[MAX_HEADERS];
};

#define PACKET_SOURCE
#define PACKET_IS_READ_ONLY
#define packet_source struct headers

static __always_inline int load(packet_source *headers, __u32 at, __u32 *words, __u32 count)
{
	__u64 bounded = at;

	if (at >= MAX_HEADERS || at + count * sizeof(*words) > headers->there)
		return -1;
	// That it is less, the verifier is to be told where it is added; compilers would leave that out, if they knew.
	asm volatile("" : "+r"(bounded));
	if (bounded > MAX_HEADERS - count * sizeof(*words))
		return -1;
	__builtin_memcpy(words, headers->bytes + bounded, count * sizeof(*words));
	return 0;
}

#define load_rarely(headers, at, word) load(headers, at, word, 1)

#include "lookup.h"
#include "packet.h"
#include "qdisc/plan.h"

// The kernel lends helpers to programs under its own licence; this one is also under ours.
char LICENSE[] SEC("license") = "Dual MIT/GPL";

enum { NET_XMIT_SUCCESS, NET_XMIT_DROP };
enum { EBUSY = 16, EINVAL = 22, EOPNOTSUPP = 95 };
#define TC_H_ROOT 0xffffffffU

// Neighbour discovery (RFC 4861 section 4): from the solicitation of routers to redirects, which no router has passed on.
enum { ICMPV6 = 58, ROUTER_SOLICITATION = 133, REDIRECT = 137, MOST_HOPS = 255 };

extern void bpf_kfree_skb(struct sk_buff *skb) __ksym;
extern void bpf_qdisc_skb_drop(struct sk_buff *skb, struct bpf_sk_buff_ptr *to_free) __ksym;
extern void bpf_qdisc_watchdog_schedule(struct Qdisc *sch, __u64 expire, __u64 delta_ns) __ksym;
extern void bpf_qdisc_bstats_update(struct Qdisc *sch, const struct sk_buff *skb) __ksym;
extern int bpf_dynptr_from_skb(struct __sk_buff *skb, __u64 flags, struct bpf_dynptr *out) __ksym;
extern int bpf_iter_num_new(struct bpf_iter_num *it, int start, int end) __ksym;
extern int *bpf_iter_num_next(struct bpf_iter_num *it) __ksym;
extern void bpf_iter_num_destroy(struct bpf_iter_num *it) __ksym;

#define __kptr __attribute__((btf_type_tag("kptr")))

// A place for a packet. What is known of it stands first, so that it is there where the place is.
struct slot {
	struct waiting waiting;
	struct sk_buff __kptr *packet;
};

// As many as may wait, which is set before the program is loaded.
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct slot);
} slots SEC(".maps");

// As many flows as the queues of a plan remember, the numbers by which they are found, and the entries of all rankings; one of
// each where no queue knows flows. The kernel compares whole keys, and seeds its hash with a random number.
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct flow);
} flows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct flow_key);
	__type(value, __u32);
} numbers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct ranked);
} ranked SEC(".maps");

// As many as there are queues of flows in turn, or one.
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct flow_queue);
} flow_queues SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct machine);
} machines SEC(".maps");

// Two, of which the number of the generation that is live says by its last bit which is followed.
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct plan);
} plans SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct rules);
} rules SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} live SEC(".maps");

// What is known of the packet that comes: more than the stack has room for.
struct read {
	struct headers headers;
	struct arrival arrival;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct read);
} scratch SEC(".maps");

// What who loaded it keeps here: which discipline it is, and what is deployed.
struct note {
	char text[4096];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 3);
	__type(key, __u32);
	__type(value, struct note);
} notes SEC(".maps");

// Who holds packets, on the way to giving some up: while one comes by a list, else at once.
struct holder {
	struct Qdisc *discipline;
	struct bpf_sk_buff_ptr *to_free;
};

#define EACH(i, n) bpf_for(i, 0, n)

static __always_inline struct waiting *waiting_at(__u32 place)
{
	struct slot *slot = bpf_map_lookup_elem(&slots, &place);

	return slot ? &slot->waiting : NULL;
}

static __always_inline struct flow *flow_at(__u32 number)
{
	return bpf_map_lookup_elem(&flows, &number);
}

static __always_inline struct ranked *ranked_at(__u32 place)
{
	return bpf_map_lookup_elem(&ranked, &place);
}

static __always_inline struct flow_queue *flow_queue_at(__u32 number)
{
	return bpf_map_lookup_elem(&flow_queues, &number);
}

static __always_inline __u32 find_flow(const struct flow_key *key)
{
	__u32 *number = bpf_map_lookup_elem(&numbers, key);

	return number ? *number : NONE;
}

static __always_inline int keep_flow(const struct flow_key *key, __u32 number)
{
	return bpf_map_update_elem(&numbers, key, &number, BPF_ANY);
}

static __always_inline void drop_flow(const struct flow_key *key)
{
	bpf_map_delete_elem(&numbers, key);
}

static __always_inline __u64 draw(void)
{
	return (__u64)bpf_get_prandom_u32() << 32 | bpf_get_prandom_u32();
}

static __always_inline __u64 seed_of(__u32 number)
{
	return draw();
}

static __always_inline __u32 length_of(const struct sk_buff *skb)
{
	return ((struct qdisc_skb_cb *)skb->cb)->pkt_len;
}

static __always_inline void give_up(struct holder *holder, __u32 place)
{
	struct slot *slot = bpf_map_lookup_elem(&slots, &place);
	struct sk_buff *packet;

	if (!slot)
		return;
	packet = bpf_kptr_xchg(&slot->packet, NULL);
	if (!packet)
		return;
	holder->discipline->qstats.backlog -= length_of(packet);
	holder->discipline->q.qlen--;
	holder->discipline->qstats.drops++;
	if (holder->to_free)
		bpf_qdisc_skb_drop(packet, holder->to_free);
	else
		bpf_kfree_skb(packet);
}

#include "qdisc/queue.h"

// How many packets a device makes of one.
static __always_inline __u32 segments_of(struct sk_buff *skb)
{
	struct skb_shared_info *shared = (void *)(skb->head + skb->end);
	__u16 segments = BPF_CORE_READ(shared, gso_segs);

	return segments > 1 ? segments : 1;
}

static __always_inline struct read *read_headers(struct sk_buff *skb)
{
	__u32 zero = 0, there = skb->len;
	struct read *read = bpf_map_lookup_elem(&scratch, &zero);
	struct headers *headers = &read->headers;
	struct bpf_dynptr bytes;

	if (!read)
		return NULL;
	headers->len = there;
	headers->gso_segs = segments_of(skb);
	headers->there = 0;
	if (there > MAX_HEADERS)
		there = MAX_HEADERS;
	if (!there || bpf_dynptr_from_skb((struct __sk_buff *)skb, 0, &bytes))
		return read;
	if (!bpf_dynptr_read(headers->bytes, there, &bytes, 0, 0))
		headers->there = there;
	return read;
}

// Whether it finds neighbours, without which nothing else arrives.
static __always_inline int is_neighbours(struct headers *headers, const struct packet *packet)
{
	__u32 word;

	if (packet->version != 6)
		return headers->there >= ETHERNET_LENGTH && headers->bytes[12] << 8 == (ETH_ARP & 0xff00) &&
		       headers->bytes[13] == (ETH_ARP & 0xff);
	if (packet->protocol != ICMPV6 || load(headers, packet->ip_at + 4, &word, 1))
		return 0;
	if ((bpf_ntohl(word) & 0xff) != MOST_HOPS || load(headers, packet->ip_at + IPV6_LENGTH, &word, 1))
		return 0;
	word = bpf_ntohl(word) >> 24;
	return word >= ROUTER_SOLICITATION && word <= REDIRECT;
}

// Which queue a packet is for.
APART int classify(struct headers *headers, const struct plan *plan, const struct rules *known, struct arrival *arrival)
{
	struct packet packet = {};
	__u64 allowed;
	int is_read;

	if (!headers || !plan || !known || !arrival)
		return 0;
	is_read = read_packet(headers, plan->link, &packet);
	arrival->is_beside = 1;
	arrival->queue = NEIGHBOURS;
	if ((plan->link == LINK_ETHERNET || packet.version == 6) && is_neighbours(headers, &packet))
		return 0;
	arrival->queue = UNREADABLE;
	if (!is_read)
		return 0;
	arrival->is_beside = 0;
	arrival->size = packet.size;
	arrival->code_point = packet.ds >> 2;
	allowed = by_headers(known, &packet, plan->asks);
	arrival->queue = allowed ? known->class[place_of_first(allowed)] : plan->otherwise;
	__builtin_memcpy(arrival->key.source, packet.source, sizeof(packet.source));
	__builtin_memcpy(arrival->key.destination, packet.destination, sizeof(packet.destination));
	arrival->key.source_port = packet.source_port;
	arrival->key.destination_port = packet.destination_port;
	arrival->key.protocol = packet.protocol;
	arrival->key.queue = arrival->queue;
	return 0;
}

// The plan that is followed, which the queues have taken over.
static __always_inline const struct plan *followed(struct machine *machine, __u32 *which)
{
	__u32 zero = 0;
	__u64 *generation = bpf_map_lookup_elem(&live, &zero);
	const struct plan *plan;

	if (!generation)
		return NULL;
	*which = *generation & 1;
	plan = bpf_map_lookup_elem(&plans, which);
	if (plan)
		take_over(plan, machine, *generation);
	return plan;
}

SEC("struct_ops")
int BPF_PROG(shortflow_enqueue, struct sk_buff *skb, struct Qdisc *sch, struct bpf_sk_buff_ptr *to_free)
{
	struct holder holder = { .discipline = sch, .to_free = to_free };
	__u32 zero = 0, which = 0, place = NONE, length = length_of(skb);
	const struct rules *known = NULL;
	const struct plan *plan = NULL;
	struct machine *machine;
	struct read *read;
	struct slot *slot;

	read = read_headers(skb);
	machine = bpf_map_lookup_elem(&machines, &zero);
	if (machine)
		plan = followed(machine, &which);
	known = bpf_map_lookup_elem(&rules, &which);
	if (read && machine && plan && known) {
		read->arrival = (struct arrival){ .length = length, .segments = read->headers.gso_segs };
		classify(&read->headers, plan, known, &read->arrival);
		place = arrive(&holder, plan, machine, &read->arrival, bpf_ktime_get_ns());
	}
	slot = place == NONE ? NULL : bpf_map_lookup_elem(&slots, &place);
	if (!slot) {
		sch->qstats.drops++;
		bpf_qdisc_skb_drop(skb, to_free);
		return NET_XMIT_DROP;
	}
	skb = bpf_kptr_xchg(&slot->packet, skb);
	// No packet was there.
	if (skb)
		bpf_qdisc_skb_drop(skb, to_free);
	sch->q.qlen++;
	sch->qstats.backlog += length;
	return NET_XMIT_SUCCESS;
}

SEC("struct_ops")
struct sk_buff *BPF_PROG(shortflow_dequeue, struct Qdisc *sch)
{
	struct holder holder = { .discipline = sch };
	__u32 zero = 0, which = 0, place;
	const struct plan *plan = NULL;
	struct machine *machine;
	struct sk_buff *packet;
	struct slot *slot;
	__u64 until = 0;

	if (!sch->q.qlen)
		return NULL;
	machine = bpf_map_lookup_elem(&machines, &zero);
	if (machine)
		plan = followed(machine, &which);
	if (!plan)
		return NULL;
	place = serve(&holder, plan, machine, bpf_ktime_get_ns(), &until);
	if (until) {
		sch->qstats.overlimits++;
		bpf_qdisc_watchdog_schedule(sch, until, 0);
	}
	slot = place == NONE ? NULL : bpf_map_lookup_elem(&slots, &place);
	if (!slot)
		return NULL;
	packet = bpf_kptr_xchg(&slot->packet, NULL);
	free_place(machine, place);
	if (!packet)
		return NULL;
	sch->q.qlen--;
	sch->qstats.backlog -= length_of(packet);
	bpf_qdisc_bstats_update(sch, packet);
	return packet;
}

// One discipline has these maps, at the root of a device.
SEC("struct_ops")
int BPF_PROG(shortflow_init, struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	__u32 zero = 0, which = 0;
	struct machine *machine = bpf_map_lookup_elem(&machines, &zero);
	struct note *kind = bpf_map_lookup_elem(&notes, &zero);

	if (sch->parent != TC_H_ROOT)
		return -EOPNOTSUPP;
	if (!machine || machine->is_used)
		return -EBUSY;
	// It names all maps, so that who finds this program finds them.
	if (!followed(machine, &which) || !bpf_map_lookup_elem(&rules, &which) || !kind || !kind->text[0])
		return -EINVAL;
	machine->is_used = 1;
	return 0;
}

// The kernel empties the queues of a device, as when it is switched off.
SEC("struct_ops")
void BPF_PROG(shortflow_reset, struct Qdisc *sch)
{
	__u32 zero = 0;
	struct machine *machine = bpf_map_lookup_elem(&machines, &zero);
	struct sk_buff *packet;
	struct slot *slot;
	int i;

	if (!machine)
		return;
	bpf_for(i, 0, machine->places.fresh) {
		__u32 place = i;

		slot = bpf_map_lookup_elem(&slots, &place);
		if (!slot)
			break;
		packet = bpf_kptr_xchg(&slot->packet, NULL);
		if (packet)
			bpf_kfree_skb(packet);
	}
	forget_packets(machine);
}

SEC("struct_ops")
void BPF_PROG(shortflow_destroy, struct Qdisc *sch)
{
}

SEC(".struct_ops.link")
struct Qdisc_ops shortflow = {
	.enqueue = (void *)shortflow_enqueue,
	.dequeue = (void *)shortflow_dequeue,
	.init = (void *)shortflow_init,
	.reset = (void *)shortflow_reset,
	.destroy = (void *)shortflow_destroy,
	.id = "shortflow",
};
