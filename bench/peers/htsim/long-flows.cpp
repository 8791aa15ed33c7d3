// Long flows over one bottleneck, as csg-htsim runs them: work H of bench/peers.
//
//   source[i] ── access ══ bottleneck ══ access ── sink[i], and acknowledgements the same way back
//
// `-links 3` has the three links each way that the other simulators have. `-links 1` has what its own
// examples have: the bottleneck and a pipe each way, and nothing else.
//
// Without SACK, without routing (every packet carries its route), an acknowledgement for every segment.
// Its nearest to RED is a queue that drops at random, with probability 0.1, above a threshold.

#include <cstdlib>
#include <iostream>
#include <list>
#include <map>
#include <string>

#include "eventlist.h"
#include "network.h"
#include "pipe.h"
#include "queue.h"
#include "randomqueue.h"
#include "tcp.h"

namespace {

std::map<std::string, double> options = {
    {"flows", 100},     {"rate_mbps", 1000}, {"access_mbps", 10000}, {"duration", 20},
    {"buffer", 2500},   {"drop_from", 500},  {"rtt_min_ms", 18},     {"rtt_max_ms", 22},
    {"rtt_steps", 5},   {"delay_ms", 5},     {"segment", 1040},      {"start_window", 1},
    {"seed", 1},        {"links", 3},
};

// Counts what leaves the bottleneck.
class Counter : public PacketSink {
  public:
    void receivePacket(Packet& packet) override {
        forwarded++;
        packet.sendOn();
    }
    const std::string& nodename() override { return name; }
    uint64_t forwarded = 0;

  private:
    std::string name = "counter";
};

double number(const std::string& name) { return options.at(name); }

void read(int count, char** words) {
    for (int i = 1; i + 1 < count; i += 2) {
        const std::string name = std::string(words[i]).substr(1);
        if (options.find(name) == options.end()) {
            std::cerr << "long-flows: no option -" << name << "\n";
            std::exit(2);
        }
        options[name] = std::atof(words[i + 1]);
    }
}

// A line and its propagation delay, at the end of a route.
void add_link(Route& route, Queue* queue, double delay_ms, EventList& events) {
    route.push_back(queue);
    route.push_back(new Pipe(timeFromMs(delay_ms), events));
}

Queue* line(double mbps, EventList& events) {
    return new Queue(speedFromMbps(mbps), memFromPkt(1000000), events, nullptr);
}

}  // namespace

int main(int count, char** words) {
    read(count, words);
    // Its TCP prints each timeout to standard output; ours is the last line there.
    const int flows = int(number("flows"));
    const bool access = number("links") == 3;
    const double delay = number("delay_ms");
    srand(unsigned(number("seed")));
    srandom(unsigned(number("seed")));
    Packet::set_packet_size(int(number("segment")));

    EventList& events = EventList::getTheEventList();
    events.setEndtime(timeFromSec(number("duration")));
    Counter counter;
    RandomQueue there(speedFromMbps(number("rate_mbps")), memFromPkt(number("buffer")), events, nullptr,
                      memFromPkt(number("buffer") - number("drop_from")));
    Queue* back = line(number("rate_mbps"), events);
    TcpRtxTimerScanner timers(timeFromMs(10), events);

    for (int flow = 0; flow < flows; flow++) {
        const int steps = int(number("rtt_steps"));
        const double rtt = number("rtt_min_ms") +
                           (number("rtt_max_ms") - number("rtt_min_ms")) * (flow % steps) / (steps - 1);
        const double aside = (rtt / 2 - delay) / 2;
        const double rate = number("access_mbps");
        auto* source = new TcpSrc(nullptr, nullptr, events);
        auto* sink = new TcpSink();
        auto *forth = new Route(), *home = new Route();
        if (access) add_link(*forth, line(rate, events), aside, events);
        forth->push_back(&there);
        forth->push_back(&counter);
        forth->push_back(new Pipe(timeFromMs(access ? delay : rtt / 2), events));
        if (access) {
            add_link(*forth, line(rate, events), aside, events);
            add_link(*home, line(rate, events), aside, events);
            add_link(*home, back, delay, events);
            add_link(*home, line(rate, events), aside, events);
        } else {
            home->push_back(new Pipe(timeFromMs(rtt / 2), events));
        }
        forth->push_back(sink);
        home->push_back(source);
        timers.registerTcp(*source);
        source->connect(*forth, *home, *sink, timeFromSec(drand() * number("start_window")));
    }
    while (events.doNextEvent()) {
    }
    std::cout << "\n{\"bottleneck\":{\"forwarded\":" << counter.forwarded << "}}" << std::endl;
}
