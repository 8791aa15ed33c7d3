// The measured load of admitted streams (Jamin, Danzig, Shenker & Zhang 1997, section III):
// crates/node/elements/src/marker/admission/load.rs. Loads are in tokens per sample, and one that is above what may be admitted is
// as good as the next above it: so all fit in 64 bits.

#ifndef SHORTFLOW_ADMISSION_H
#define SHORTFLOW_ADMISSION_H

#include "kernel.h"

#include "buckets.h"
#include "classes.h"
#include "packet.h"
#include "table.h"

// What was answered to a stream.
enum { ADMITTED, REFUSED };

static __always_inline __u64 most_load(const struct class *class)
{
	return class->target + 1;
}

static __always_inline void begin_window(const struct class *class, struct measured *load)
{
	load->highest = 0;
	load->left = class->samples;
}

static __always_inline void end_window(const struct class *class, struct measured *load)
{
	load->estimate = load->highest;
	begin_window(class, load);
}

// Ends the samples that are over. All but the first of them are empty, and no more of these count than two windows have, after
// which nothing is left.
static __always_inline void advance(const struct class *class, struct measured *load, __u64 now)
{
	__u64 over, empty;

	if (now < load->sample_ends)
		return;
	over = 1 + (now - load->sample_ends) / class->window;
	empty = over - 1 < 2ULL * class->samples ? over - 1 : 2ULL * class->samples;
	load->sample_ends += over * class->window;
	if (load->current > load->highest)
		load->highest = load->current;
	if (load->current > load->estimate)
		load->estimate = load->current;
	load->current = 0;
	if (!--load->left)
		end_window(class, load);
	for (int windows = 0; windows < 2 && empty >= load->left; windows++) {
		empty -= load->left;
		end_window(class, load);
	}
	load->left -= empty;
}

// Whether a stream of the declared peak rate is admitted (equation 1).
static __always_inline int ask(const struct class *class, struct measured *load)
{
	if (load->estimate + class->declared > class->target)
		return 0;
	load->estimate += class->declared;
	begin_window(class, load);
	return 1;
}

static __always_inline __u32 color_of_stream(const struct class *class, struct table *table, const struct name *name,
					     const struct packet *packet, struct seen *seen, __u64 now, __u64 loaded_at)
{
	struct measured *load = &table->load;
	__u64 tokens = packet->size * PER_BYTE;

	if (!load->left) {
		load->left = class->samples;
		load->sample_ends = loaded_at + class->window;
	}
	advance(class, load, now);
	see(table, &class->accounts, name, seen);
	if (seen->is_new) {
		// A new stream goes on with the bucket of one that was not refused.
		if (!seen->has_displaced || seen->displaced == REFUSED) {
			seen->tally->at[0] = 0;
			seen->tally->held[0] = class->depth[0];
		}
		seen->entry->value = ask(class, load) ? ADMITTED : REFUSED;
	}
	if (seen->entry->value == REFUSED)
		return RED;
	if (class->depth[0]) {
		fill(&seen->tally->held[0], class->depth[0],
		     earned(class->rate[0], elapsed_since(&seen->tally->at[0], now), class->filling[0], class->most[0]));
		if (!try_take(&seen->tally->held[0], tokens))
			return YELLOW;
	}
	load->current = tokens < most_load(class) - load->current ? load->current + tokens : most_load(class);
	return GREEN;
}

#endif
