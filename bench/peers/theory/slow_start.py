"""The time of a transfer without loss: its timeline, computed packet by packet.

    client -- 1 Gbit/s, 1 µs -- R1 == bottleneck == R2 -- 1 Gbit/s, 1 µs -- server

The packets are a SYN, a SYN-ACK, and at once an acknowledgement and a request of one segment. The server sends the
reply in slow start (RFC 5681 §3.1: one segment more for each acknowledgement of new data). Nothing is
lost and there is no other traffic, so every instant is a whole number of nanoseconds, computed by addition.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from command import run

HEADERS = 40  # bytes, on every packet
ACCESS_MBPS = 1000
ACCESS_NS = 1_000


class Way:
    """The three links of one direction; packets arrive in the order in which they leave."""

    def __init__(self, bottleneck_mbps: int, bottleneck_ns: int) -> None:
        access = (ACCESS_MBPS, ACCESS_NS)
        self.links = (access, (bottleneck_mbps, bottleneck_ns), access)
        self.free_at = [0, 0, 0]

    def arrival(self, leaves: int, payload: int) -> int:
        """When a packet that leaves at an instant has crossed all links."""
        now = leaves
        for index, (mbps, delay) in enumerate(self.links):
            transmission = (payload + HEADERS) * 8 * 1000 // mbps
            self.free_at[index] = max(now, self.free_at[index]) + transmission
            now = self.free_at[index] + delay
        return now


def completion_times(
    packets: Sequence[int],
    initial_window: int,
    segments_per_ack: int,
    delay_ms: int,
    bottleneck_mbps: int = 10,
    ack_timeout_ms: int = 100,
    mss: int = 1000,
) -> dict[str, float]:
    """Seconds from the SYN to the last byte of replies of `packets` packets each."""
    figures = {}
    for count in packets:
        there = Way(bottleneck_mbps, delay_ms * 1_000_000)
        back = Way(bottleneck_mbps, delay_ms * 1_000_000)
        reply = Reply(count, initial_window, segments_per_ack, ack_timeout_ms * 1_000_000, mss)
        done = reply.ends(handshake_and_request(there, back, mss), there, back)
        figures[f"packets.{count}.mean"] = done / 1e9
    return figures


def handshake_and_request(there: Way, back: Way, mss: int) -> int:
    """When the server has received the request."""
    syn_ack = back.arrival(there.arrival(0, 0), 0)
    there.arrival(syn_ack, 0)  # the acknowledgement goes first; the request comes behind it
    return there.arrival(syn_ack, mss)


@dataclass(frozen=True)
class Reply:
    """Segments from server to client, and how they are acknowledged."""

    segments: int
    initial_window: int
    segments_per_ack: int
    ack_timeout: int  # in ns; then what has come is acknowledged anyway (RFC 5681 §4.2)
    mss: int

    def ends(self, start: int, there: Way, back: Way) -> int:
        """When the client has the last segment."""
        window = self.initial_window
        arrivals = [back.arrival(start, self.mss) for _ in range(min(window, self.segments))]
        acknowledged = 0
        # The list grows while it is gone through: acknowledgements let more segments go.
        for come, now in enumerate(arrivals, start=1):
            leaves = now
            if come - acknowledged < self.segments_per_ack:
                leaves = arrivals[acknowledged] + self.ack_timeout
                if come < len(arrivals) and arrivals[come] < leaves:
                    continue
            acknowledged = come
            window += 1
            at_server = there.arrival(leaves, 0)
            while len(arrivals) < min(acknowledged + window, self.segments):
                arrivals.append(back.arrival(at_server, self.mss))
        return arrivals[-1]


if __name__ == "__main__":
    run(completion_times)
