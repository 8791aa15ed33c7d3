// Long one-way TCP flows over one bottleneck (works A and B of the comparison).
//
//   source_i --- R1 ===bottleneck=== R2 --- sink_i
//
// Flow i has the (i mod rtt_steps)-th of the propagation round trips that run from rtt_min to
// rtt_max in equal steps; its two access links share what the bottleneck's delay leaves of it.
// Prints one JSON object, as ns2/long-flows.tcl does.

#include "links.h"
#include "options.h"
#include "statistics.h"
#include "tcp.h"

#include "ns3/inet-socket-address.h"
#include "ns3/ipv4.h"
#include "ns3/packet-sink.h"
#include "ns3/simulator.h"
#include "ns3/tcp-socket-factory.h"
#include "ns3/uinteger.h"

#include <iostream>

using namespace ns3;
using namespace peer;

namespace {

struct Settings {
    uint32_t flows = 20;
    double rate_mbps = 100;
    double delay_ms = 5;
    double access_mbps = 1000;
    double rtt_min_ms = 20;
    double rtt_max_ms = 200;
    uint32_t rtt_steps = 10;
    double duration = 60;
    double warmup = 0;
    double start_spread = 1;
    std::string pcap;
    TcpSettings tcp;
    QueueSettings queue;

    void AddTo(Options& options);
    double RoundTripMs(uint32_t flow) const;
};

void Settings::AddTo(Options& options) {
    options.Add("flows", "how many flows", flows);
    options.Add("rate_mbps", "the bottleneck's rate", rate_mbps);
    options.Add("delay_ms", "the bottleneck's delay", delay_ms);
    options.Add("access_mbps", "the other links' rate", access_mbps);
    options.Add("rtt_min_ms", "shortest round trip", rtt_min_ms);
    options.Add("rtt_max_ms", "longest round trip", rtt_max_ms);
    options.Add("rtt_steps", "how many round trips there are", rtt_steps);
    options.Add("duration", "seconds to simulate", duration);
    options.Add("warmup", "seconds that are not counted", warmup);
    options.Add("start_spread", "flows start within so many seconds", start_spread);
    options.Add("pcap", "prefix of packet captures at the bottleneck", pcap);
    tcp.AddTo(options);
    queue.AddTo(options);
}

double Settings::RoundTripMs(uint32_t flow) const {
    if (rtt_steps < 2) {
        return rtt_min_ms;
    }
    return rtt_min_ms + (rtt_max_ms - rtt_min_ms) / (rtt_steps - 1) * (flow % rtt_steps);
}

// One run: the topology, the flows, and what was counted when the warm-up ended.
class Run {
  public:
    explicit Run(const Settings& settings);
    void WriteTo(Json& result);

  private:
    void AddFlow(uint32_t flow, double start);
    void Start(uint32_t flow, const Address& to);
    static void Fill(Ptr<Socket> socket, uint32_t free);
    void EndWarmup();
    std::vector<double> Goodputs() const;
    Json ByRoundTrip(const std::vector<double>& goodputs) const;

    struct Counters {
        uint64_t timeouts;
        uint64_t fast_retransmits;
        uint64_t retransmitted;
        std::vector<uint64_t> received;
    };

    Counters Now() const;

    const Settings& m_settings;
    NodeContainer m_sources;
    NodeContainer m_sinks;
    NodeContainer m_routers;
    std::vector<Ptr<PacketSink>> m_receivers;
    Retransmissions m_retransmissions;
    std::unique_ptr<QueueStatistics> m_bottleneck;
    Counters m_base;
};

Run::Run(const Settings& settings)
    : m_settings(settings) {
    m_sources.Create(settings.flows);
    m_sinks.Create(settings.flows);
    m_routers.Create(2);
    InstallStack();
    auto line = AddBottleneck(m_routers, settings.rate_mbps,
                              MicroSeconds(settings.delay_ms * 1000), settings.queue);
    AddNetwork(line);
    Capture(line, settings.pcap);
    m_bottleneck = QueueStatistics::Of(line.Get(0));
    auto starts = RandomStream<UniformRandomVariable>(1);
    for (uint32_t flow = 0; flow < settings.flows; flow++) {
        AddFlow(flow, starts->GetValue(0, settings.start_spread));
    }
    m_base = Now();
    if (settings.warmup > 0) {
        Simulator::Schedule(Seconds(settings.warmup), &Run::EndWarmup, this);
    }
}

void Run::AddFlow(uint32_t flow, double start) {
    const double access_ms = (m_settings.RoundTripMs(flow) / 2 - m_settings.delay_ms) / 2;
    if (access_ms < 0) {
        Fail("the round trip of flow " + std::to_string(flow) + " is shorter than the bottleneck's");
    }
    const Time delay = MicroSeconds(access_ms * 1000);
    auto source = m_sources.Get(flow);
    auto sink = m_sinks.Get(flow);
    AddNetwork(AddLink({source, m_routers.Get(0)}, m_settings.access_mbps, delay));
    AddNetwork(AddLink({m_routers.Get(1), sink}, m_settings.access_mbps, delay));

    const auto tcp = TcpSocketFactory::GetTypeId();
    const InetSocketAddress to(sink->GetObject<Ipv4>()->GetAddress(1, 0).GetLocal(), 80);
    auto receiver = CreateObject<PacketSink>();
    receiver->SetAttribute("Protocol", TypeIdValue(tcp));
    receiver->SetAttribute("Local", AddressValue(to));
    sink->AddApplication(receiver);
    m_receivers.push_back(receiver);
    Simulator::Schedule(Seconds(start), &Run::Start, this, flow, Address(to));
}

void Run::Start(uint32_t flow, const Address& to) {
    auto socket = Socket::CreateSocket(m_sources.Get(flow), TcpSocketFactory::GetTypeId());
    Transmitted sent([this, flow](Ptr<const Packet> packet, const TcpHeader& header,
                                  Ptr<const TcpSocketBase>) {
        m_retransmissions.Note(flow, packet, header);
    });
    socket->TraceConnectWithoutContext("Tx", sent);
    socket->SetSendCallback(MakeCallback(&Run::Fill));
    socket->Bind();
    socket->Connect(to);
}

// Data without end: as much as the send buffer takes, in pieces that keep its list short.
void Run::Fill(Ptr<Socket> socket, uint32_t) {
    constexpr uint32_t piece = 100 * segment_bytes;
    while (socket->GetTxAvailable() >= piece) {
        socket->Send(Create<Packet>(piece));
    }
}

Run::Counters Run::Now() const {
    Counters now{m_retransmissions.Timeouts(),
                 Counts::fast_retransmits,
                 m_retransmissions.Packets(),
                 {}};
    for (const auto& receiver : m_receivers) {
        now.received.push_back(receiver->GetTotalRx());
    }
    return now;
}

void Run::EndWarmup() {
    m_bottleneck->Restart();
    m_base = Now();
}

std::vector<double> Run::Goodputs() const {
    std::vector<double> mbps;
    for (uint32_t flow = 0; flow < m_settings.flows; flow++) {
        const double bits = 8.0 * (m_receivers[flow]->GetTotalRx() - m_base.received[flow]);
        mbps.push_back(bits / 1e6 / (m_settings.duration - m_settings.warmup));
    }
    return mbps;
}

Json Run::ByRoundTrip(const std::vector<double>& goodputs) const {
    std::map<double, std::vector<double>> groups;
    for (uint32_t flow = 0; flow < m_settings.flows; flow++) {
        groups[m_settings.RoundTripMs(flow)].push_back(goodputs[flow]);
    }
    Json json;
    for (const auto& [round_trip, group] : groups) {
        char name[32];
        std::snprintf(name, sizeof name, "%g", round_trip);
        json.Number(name, Sum(group) / group.size());
    }
    return json;
}

double Jain(const std::vector<double>& values) {
    double squares = 0;
    for (double value : values) {
        squares += value * value;
    }
    const double sum = Sum(values);
    return squares > 0 ? sum * sum / (values.size() * squares) : 1;
}

void Run::WriteTo(Json& result) {
    const auto now = Now();
    const auto goodputs = Goodputs();
    result.Object("bottleneck", m_bottleneck->Written())
        .Count("timeouts", now.timeouts - m_base.timeouts)
        .Count("fast_retransmits", now.fast_retransmits - m_base.fast_retransmits)
        .Count("retransmitted_packets", now.retransmitted - m_base.retransmitted)
        .Number("goodput_mbps", Sum(goodputs))
        .Number("jain_fairness", Jain(goodputs))
        .Object("mean_flow_goodput_mbps_by_rtt_ms", ByRoundTrip(goodputs))
        .Numbers("flow_goodput_mbps", goodputs);
}

} // namespace

int main(int argc, char* argv[]) {
    Options options("Long one-way TCP flows over one bottleneck.");
    Settings settings;
    settings.AddTo(options);
    options.Parse(argc, argv);
    settings.tcp.Apply();
    Run run(settings);
    Simulator::Stop(Seconds(settings.duration));
    Simulator::Run();
    auto result = options.Result();
    run.WriteTo(result);
    std::cout << result.Written() << '\n';
    return 0;
}
