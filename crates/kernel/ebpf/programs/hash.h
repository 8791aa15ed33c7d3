// Hashes, and what a host is known by: crates/node/elements/src/flow_hash.rs.

#ifndef SHORTFLOW_HASH_H
#define SHORTFLOW_HASH_H

#include "kernel.h"

// The finalizer of SplitMix64 (Steele, Lea & Flood 2014, Figure 17).
static __always_inline __u64 mix(__u64 x)
{
	x += 0x9e3779b97f4a7c15ULL;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

// Whether an address is ::ffff:a.b.c.d, as which those of IPv4 are kept.
static __always_inline int is_ipv4(const __u64 *address)
{
	return !address[0] && address[1] >> 32 == 0xffff;
}

// The name of the host with an address, of which an IPv6 host may have all that a mask leaves alike.
static __always_inline void name_host(__u64 *name, const __u64 *address, const __u64 *ipv6_mask)
{
	int is_whole = is_ipv4(address);

	name[0] = is_whole ? address[0] : address[0] & ipv6_mask[0];
	name[1] = is_whole ? address[1] : address[1] & ipv6_mask[1];
}

#endif
