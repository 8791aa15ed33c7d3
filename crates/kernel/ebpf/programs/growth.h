// How a window grows in congestion avoidance by other amounts than a segment in a round trip: the twin of `Growth` of
// crates/node/tcp.

#ifndef SHORTFLOW_GROWTH_H
#define SHORTFLOW_GROWTH_H

#include "kernel.h"

// Binary digits behind the point.
#define POINT 16
// No connection grows by more segments in a round trip than this, in its root: whatever the clock says.
#define MAX_RATIO (64ULL << POINT)

// The round-trip times of connections that count together.
struct round_trips {
	// In eighths of a microsecond.
	__u64 sum;
	__u64 connections;
};

// What a connection keeps.
struct growth {
	// What it counts with; zero before there is a sample.
	__u32 rtt;
	// What it has grown by less than a segment.
	__u32 fraction;
};

// The mean, in which this connection has its present round-trip time from now on; zero where there is none yet.
static __always_inline __u64 mean_rtt(struct round_trips *all, struct growth *growth, __u32 rtt)
{
	__u64 count, sum;

	if (!rtt)
		return 0;
	if (!growth->rtt)
		__sync_fetch_and_add(&all->connections, 1);
	// Wrapping, as sums of differences may pass below zero on their way.
	__sync_fetch_and_add(&all->sum, (__u64)rtt - growth->rtt);
	growth->rtt = rtt;
	count = all->connections;
	sum = all->sum;
	return count ? sum / count : 0;
}

static __always_inline void forget_rtt(struct round_trips *all, struct growth *growth)
{
	if (!growth->rtt)
		return;
	__sync_fetch_and_add(&all->sum, -(__u64)growth->rtt);
	__sync_fetch_and_add(&all->connections, -1ULL);
	growth->rtt = 0;
}

// rtt²/reference², with POINT binary digits behind the point; 1 where either is unknown.
static __always_inline __u64 squared_ratio(__u64 rtt, __u64 reference)
{
	__u64 ratio = 1ULL << POINT;

	if (rtt && reference)
		ratio = (rtt << POINT) / reference;
	if (ratio > MAX_RATIO)
		ratio = MAX_RATIO;
	return ratio * ratio >> POINT;
}

// By how many segments a window grows for so many acknowledged ones, where it grows by `each` in a round trip: by one at most.
static __always_inline __u32 grown(struct growth *growth, __u32 window, __u32 acknowledged, __u64 each)
{
	__u64 more = window ? acknowledged * each / window : 0;

	if (more > 1ULL << POINT)
		more = 1ULL << POINT;
	more += growth->fraction;
	growth->fraction = more & ((1ULL << POINT) - 1);
	return more >> POINT;
}

#endif
