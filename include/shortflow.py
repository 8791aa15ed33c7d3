# SPDX-License-Identifier: MIT OR Apache-2.0
"""Shortflow: the thresholds of a TCP connection, set by its application.

A deployed policy whose role has `thresholds = "application"` marks packets by bytes sent. An application says where an
object starts in what its connection sends, such as one reply of several, and up to how many bytes of the object its
packets have each level. No privilege is needed. Copy this file beside the application; shortflow.h has the same for C.
"""

import socket
import struct

SOL_SHORTFLOW = 0x5346
SHORTFLOW_OBJECT = 1

VERSION = 1
STARTS = 1
MAX_THRESHOLDS = 7
# More than any object has: `start_object(connection, [ALL])` gives the whole object the first level.
ALL = 2**64 - 1

_VALUE = struct.Struct("=HHI7Q")


def _set(connection: socket.socket, flags: int, thresholds) -> None:
    thresholds = list(thresholds)
    if len(thresholds) > MAX_THRESHOLDS:
        raise ValueError(f"at most {MAX_THRESHOLDS} thresholds; found {len(thresholds)}")
    padded = thresholds + [0] * (MAX_THRESHOLDS - len(thresholds))
    value = _VALUE.pack(VERSION, flags, len(thresholds), *padded)
    connection.setsockopt(SOL_SHORTFLOW, SHORTFLOW_OBJECT, value)


def start_object(connection: socket.socket, thresholds=()) -> None:
    """Starts an object with the next byte that is written.

    Its first thresholds[0] bytes have the policy's first level, those up to thresholds[1] the second, and so on; all
    others have the last level. Without thresholds, those of the policy apply. OSError (ENOPROTOOPT) where no policy
    takes them.
    """
    _set(connection, STARTS, thresholds)


def set_thresholds(connection: socket.socket, thresholds=()) -> None:
    """Gives the current object other thresholds; before any object, the connection from its beginning."""
    _set(connection, 0, thresholds)


def current_object(connection: socket.socket) -> tuple[bool, list[int]]:
    """Whether an object was started, and its thresholds."""
    value = connection.getsockopt(SOL_SHORTFLOW, SHORTFLOW_OBJECT, _VALUE.size)
    _, flags, count, *thresholds = _VALUE.unpack(value)
    return bool(flags & STARTS), thresholds[:count]
