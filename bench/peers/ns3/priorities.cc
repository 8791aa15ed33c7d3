// Strict priorities over one line: a Poisson stream of datagrams for each band.
//
//   source ===bottleneck: one FIFO per band, the first band first=== sink
//
// Bands share the load equally; packets have 1040 bytes on the line. Prints one JSON object: for
// each band, first served first, what arrived, was forwarded and dropped, and the delay from source
// to sink.

#include "links.h"
#include "options.h"
#include "statistics.h"

#include "ns3/inet-socket-address.h"
#include "ns3/ipv4.h"
#include "ns3/seq-ts-header.h"
#include "ns3/udp-socket-factory.h"

#include <iostream>

using namespace ns3;
using namespace peer;

namespace {

constexpr uint32_t datagram_bytes = packet_bytes - 28; // without the headers of UDP and IP
constexpr uint16_t first_port = 1000;

struct Settings {
    double rho = 0.9;
    uint32_t bands = 8;
    uint32_t buffer = 50;
    double rate_mbps = 10;
    double delay_us = 1;
    double duration = 100;
    double warmup = 10;
    double drain = 5;

    void AddTo(Options& options);
};

void Settings::AddTo(Options& options) {
    options.Add("rho", "load of all bands together", rho);
    options.Add("bands", "how many priorities, 2 to 16", bands);
    options.Add("buffer", "packets that may wait in each band", buffer);
    options.Add("rate_mbps", "the line's rate", rate_mbps);
    options.Add("delay_us", "the line's delay", delay_us);
    options.Add("duration", "seconds of arrivals", duration);
    options.Add("warmup", "packets sent before are not counted", warmup);
    options.Add("drain", "seconds to forward what waits", drain);
}

// One band's stream, and what became of the packets sent after the warm-up.
struct Band {
    Ptr<Socket> source;
    Ptr<Socket> sink;
    Ptr<ExponentialRandomVariable> gaps;
    uint64_t sent = 0;
    std::vector<double> delays;
};

class Run {
  public:
    explicit Run(const Settings& settings);
    void WriteTo(Json& result) const;

  private:
    void InstallQueue(Ptr<NetDevice> device);
    void AddBand(uint32_t number, const InetSocketAddress& to);
    void ScheduleSending(uint32_t number);
    void Send(uint32_t number);
    void Receive(Ptr<Socket> socket);

    const Settings& m_settings;
    NodeContainer m_ends;
    std::vector<Band> m_bands;
};

Run::Run(const Settings& settings) : m_settings(settings), m_bands(settings.bands) {
    m_ends.Create(2);
    InstallStack();
    auto line = AddLink(m_ends, settings.rate_mbps, NanoSeconds(settings.delay_us * 1000),
                        FlowControl::on);
    InstallQueue(line.Get(0));
    AddNetwork(line);
    auto address = m_ends.Get(1)->GetObject<Ipv4>()->GetAddress(1, 0).GetLocal();
    for (uint32_t number = 0; number < settings.bands; number++) {
        AddBand(number, InetSocketAddress(address, first_port + number));
    }
}

void Run::InstallQueue(Ptr<NetDevice> device) {
    std::string identity; // a packet of priority i goes to band i
    for (uint32_t priority = 0; priority < 16; priority++) {
        identity += (priority ? " " : "") + std::to_string(std::min(priority, m_settings.bands - 1));
    }
    TrafficControlHelper helper;
    const auto root = helper.SetRootQueueDisc("ns3::PrioQueueDisc", "Priomap", StringValue(identity));
    const auto classes = helper.AddQueueDiscClasses(root, m_settings.bands, "ns3::QueueDiscClass");
    helper.AddChildQueueDiscs(root, classes, "ns3::FifoQueueDisc", "MaxSize",
                              QueueSizeValue(QueueSize(PACKETS, m_settings.buffer)));
    helper.Install(device);
    AskWhenFree(device);
}

void Run::AddBand(uint32_t number, const InetSocketAddress& to) {
    auto& band = m_bands[number];
    const auto udp = UdpSocketFactory::GetTypeId();
    band.sink = Socket::CreateSocket(m_ends.Get(1), udp);
    band.sink->Bind(InetSocketAddress(Ipv4Address::GetAny(), to.GetPort()));
    band.sink->SetRecvCallback(MakeCallback(&Run::Receive, this));
    band.source = Socket::CreateSocket(m_ends.Get(0), udp);
    band.source->Bind();
    band.source->Connect(to);
    band.source->SetPriority(number);
    band.gaps = RandomStream<ExponentialRandomVariable>(number + 1);
    ScheduleSending(number);
}

void Run::ScheduleSending(uint32_t number) {
    const double rate =
        m_settings.rho * m_settings.rate_mbps * 1e6 / (8 * packet_bytes * m_settings.bands);
    const Time gap = Seconds(m_bands[number].gaps->GetValue(1 / rate, 0));
    if (Simulator::Now() + gap < Seconds(m_settings.duration)) {
        Simulator::Schedule(gap, &Run::Send, this, number);
    }
}

void Run::Send(uint32_t number) {
    SeqTsHeader sent_at;
    auto packet = Create<Packet>(datagram_bytes - sent_at.GetSerializedSize());
    packet->AddHeader(sent_at);
    m_bands[number].source->Send(packet);
    m_bands[number].sent += Simulator::Now() >= Seconds(m_settings.warmup);
    ScheduleSending(number);
}

void Run::Receive(Ptr<Socket> socket) {
    Address local;
    socket->GetSockName(local);
    auto& band = m_bands[InetSocketAddress::ConvertFrom(local).GetPort() - first_port];
    while (auto packet = socket->Recv()) {
        SeqTsHeader header;
        packet->RemoveHeader(header);
        if (header.GetTs() >= Seconds(m_settings.warmup)) {
            band.delays.push_back((Simulator::Now() - header.GetTs()).GetSeconds());
        }
    }
}

void Run::WriteTo(Json& result) const {
    const double seconds = m_settings.duration - m_settings.warmup;
    Json bands;
    for (size_t number = 0; number < m_bands.size(); number++) {
        const auto& band = m_bands[number];
        const uint64_t forwarded = band.delays.size();
        bands.Object(std::to_string(number),
                     Json()
                         .Count("arrived", band.sent)
                         .Count("forwarded", forwarded)
                         .Count("dropped", band.sent - forwarded)
                         .Number("throughput_mbps", forwarded * packet_bytes * 8e-6 / seconds)
                         .Object("delay_s", Summary(band.delays)));
    }
    result.Object("bands", bands);
}

} // namespace

int main(int argc, char* argv[]) {
    Options options("Strict priorities over one line.");
    Settings settings;
    settings.AddTo(options);
    options.Parse(argc, argv);
    Run run(settings);
    Simulator::Stop(Seconds(settings.duration + settings.drain));
    Simulator::Run();
    auto result = options.Result();
    run.WriteTo(result);
    std::cout << result.Written() << '\n';
    return 0;
}
