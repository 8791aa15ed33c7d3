// What applications have said of their connections by the socket option of include/shortflow.h: where objects begin in what a
// connection sends, and up to how many bytes of an object its packets have each level (Noureddine & Tobagi 2002, section 6.1.2).

#ifndef SHORTFLOW_OBJECTS_H
#define SHORTFLOW_OBJECTS_H

#include "kernel.h"

#include <bpf/bpf_helpers.h>

// As include/shortflow.h has them.
#define SOL_SHORTFLOW 0x5346
#define SHORTFLOW_OBJECT 1
#define SHORTFLOW_VERSION 1
#define SHORTFLOW_STARTS 1
#define MAX_THRESHOLDS 7

// The newest objects of a connection that are known; a power of 2.
#define OBJECTS 16

// The value of the option.
struct value {
	__u16 version, flags;
	__u32 count;
	__u64 thresholds[MAX_THRESHOLDS];
};

// An object: the byte of the connection with which it begins, and its value.
struct object {
	__u64 from;
	struct value value;
};

struct objects {
	// How many there were; they stand at their numbers, in turn.
	__u32 many, unused;
	// The address of the socket, while the option is set: the verifier lets a program read it, but not the socket itself.
	__u64 socket;
	struct object each[OBJECTS];
};

// One map is for all devices and for all cgroups: it is that of the option where the program for packets is loaded.
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC | BPF_F_CLONE);
	__type(key, int);
	__type(value, struct objects);
} objects SEC(".maps");

static __always_inline struct object *object_before(struct objects *all, __u32 back)
{
	return &all->each[(all->many - 1 - back) & (OBJECTS - 1)];
}

#endif
