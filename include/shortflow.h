/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Shortflow: the thresholds of a TCP connection, set by its application.
 *
 * A deployed policy whose role has `thresholds = "application"` marks packets by bytes sent. An application says where an object
 * starts in what its connection sends, such as one reply of several, and up to how many bytes of the object its packets have each
 * level. No privilege is needed. Without such a policy, setsockopt fails with ENOPROTOOPT, and nothing changes.
 *
 * The same numbers are in crates/kernel/ebpf/programs/objects.h.
 */
#ifndef SHORTFLOW_H
#define SHORTFLOW_H

#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

/* The level and the name of the socket option. */
#define SOL_SHORTFLOW 0x5346
#define SHORTFLOW_OBJECT 1

#define SHORTFLOW_VERSION 1
#define SHORTFLOW_MAX_THRESHOLDS 7

/* An object starts with the next byte that is written. Without this flag, the current object gets these thresholds. */
#define SHORTFLOW_STARTS 1

/* The value of the option. Fields that are not used are zero, or setsockopt fails with EINVAL. */
struct shortflow_object {
	uint16_t version; /* SHORTFLOW_VERSION */
	uint16_t flags;   /* SHORTFLOW_STARTS or 0 */
	uint32_t count;   /* of thresholds; 0: those of the policy */
	/*
	 * The first thresholds[0] bytes of the object have the policy's first level, those up to thresholds[1] the second, and so
	 * on; all others have the last level. They do not fall. A level whose threshold is 0, or that of the level before, is
	 * skipped.
	 */
	uint64_t thresholds[SHORTFLOW_MAX_THRESHOLDS];
};

static inline int shortflow_set(int socket, uint16_t flags, const uint64_t *thresholds, uint32_t count)
{
	struct shortflow_object object;

	memset(&object, 0, sizeof(object));
	object.version = SHORTFLOW_VERSION;
	object.flags = flags;
	object.count = count;
	/* More than there is room for are refused by the kernel. */
	if (count && count <= SHORTFLOW_MAX_THRESHOLDS)
		memcpy(object.thresholds, thresholds, count * sizeof(*thresholds));
	return setsockopt(socket, SOL_SHORTFLOW, SHORTFLOW_OBJECT, &object, sizeof(object));
}

/* Starts an object with the next byte that is written. 0, or -1 with errno. */
static inline int shortflow_start_object(int socket, const uint64_t *thresholds, uint32_t count)
{
	return shortflow_set(socket, SHORTFLOW_STARTS, thresholds, count);
}

/* Gives the current object other thresholds; before any object, the connection from its beginning. 0, or -1 with errno. */
static inline int shortflow_set_thresholds(int socket, const uint64_t *thresholds, uint32_t count)
{
	return shortflow_set(socket, 0, thresholds, count);
}

#endif
