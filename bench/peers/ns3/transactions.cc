// Request/reply transfers between one client and one server (work S of the comparison).
//
//   client --- R1 ===bottleneck=== R2 --- server
//
// Transfers arrive as a Poisson process whose replies load the bottleneck by `rho`; the queue
// towards the client is RED or DropTail. Each transfer is a connection of its own, which the client
// opens, and the server closes after its reply. Prints one JSON object, as ns2/transactions.tcl does.

#include "links.h"
#include "options.h"
#include "statistics.h"
#include "tcp.h"

#include "ns3/inet-socket-address.h"
#include "ns3/ipv4.h"
#include "ns3/simulator.h"
#include "ns3/tcp-header.h"
#include "ns3/tcp-socket-factory.h"

#include <array>
#include <iostream>
#include <memory>

using namespace ns3;
using namespace peer;

namespace {

// Replies of 61 .. 90439 bytes, as packets; equally likely (Casetti & Mellia 2005, Table 2).
constexpr std::array<uint32_t, 10> reply_sizes{1, 1, 1, 2, 3, 5, 7, 11, 20, 91};
constexpr uint16_t server_port = 80;

struct Settings {
    double rho = 0.8;
    double rate_mbps = 10;
    double delay_ms = 20;
    double access_mbps = 1000;
    double access_delay_us = 1;
    double duration = 100;
    double drain = 60;
    std::string pcap;
    TcpSettings tcp;
    QueueSettings queue;

    Settings();
    void AddTo(Options& options);
    double TransfersPerSecond() const;
};

Settings::Settings() {
    queue.queue = "RED";
    queue.buffer = 200;
}

void Settings::AddTo(Options& options) {
    options.Add("rho", "load of the replies", rho);
    options.Add("rate_mbps", "the bottleneck's rate", rate_mbps);
    options.Add("delay_ms", "the bottleneck's delay", delay_ms);
    options.Add("access_mbps", "the other links' rate", access_mbps);
    options.Add("access_delay_us", "the other links' delay", access_delay_us);
    options.Add("duration", "seconds of arrivals", duration);
    options.Add("drain", "seconds to finish what has begun", drain);
    options.Add("pcap", "prefix of packet captures at the bottleneck", pcap);
    tcp.AddTo(options);
    queue.AddTo(options);
}

double Settings::TransfersPerSecond() const {
    double packets = 0;
    for (uint32_t size : reply_sizes) {
        packets += static_cast<double>(size) / reply_sizes.size();
    }
    return rho * rate_mbps * 1e6 / (packets * packet_bytes * 8);
}

// A transfer under way.
struct Transfer {
    uint32_t reply; // packets
    double start;
    uint32_t awaited_request = segment_bytes;
    uint32_t awaited_reply;
};

// One run: both hosts, the arrivals, and what was counted.
class Run {
  public:
    explicit Run(const Settings& settings);
    void WriteTo(Json& result);

  private:
    void Listen();
    void ScheduleArrival();
    void Arrive();
    void Connected(Ptr<Socket> socket);
    void Accepted(Ptr<Socket> socket, const Address& from);
    void ReplyArrives(Ptr<Socket> socket);
    void RequestArrives(Ptr<Socket> socket);
    void EndArrivals();
    Json Transfers() const;
    Json Queues();
    Transmitted Sent(uint32_t side);

    const Settings& m_settings;
    NodeContainer m_nodes; // client, R1, R2, server
    Address m_server;
    Ptr<ExponentialRandomVariable> m_gaps = RandomStream<ExponentialRandomVariable>(1);
    Ptr<UniformRandomVariable> m_sizes = RandomStream<UniformRandomVariable>(2);
    std::unique_ptr<QueueStatistics> m_to_client;
    std::unique_ptr<QueueStatistics> m_to_server;
    std::map<uint16_t, Transfer> m_transfers; // by the client's port
    std::map<uint32_t, std::vector<double>> m_completion_times;
    std::vector<double> m_handshake_times;
    Retransmissions m_retransmissions;
    uint64_t m_started = 0;
    uint64_t m_completed = 0;
    uint64_t m_open_when_arrivals_end = 0;
    Json m_during_arrivals;
};

Run::Run(const Settings& settings)
    : m_settings(settings) {
    m_nodes.Create(4);
    InstallStack();
    const Time access = MicroSeconds(settings.access_delay_us);
    // From R2, whose queue is the one under test.
    auto line = AddBottleneck({m_nodes.Get(2), m_nodes.Get(1)}, settings.rate_mbps,
                              MicroSeconds(settings.delay_ms * 1000), settings.queue);
    AddNetwork(line);
    Capture(line, settings.pcap);
    AddNetwork(AddLink({m_nodes.Get(0), m_nodes.Get(1)}, settings.access_mbps, access));
    AddNetwork(AddLink({m_nodes.Get(2), m_nodes.Get(3)}, settings.access_mbps, access));
    m_to_client = QueueStatistics::Of(line.Get(0));
    m_to_server = QueueStatistics::Of(line.Get(1));
    Listen();
    ScheduleArrival();
    Simulator::Schedule(Seconds(settings.duration), &Run::EndArrivals, this);
}

void Run::Listen() {
    auto server = m_nodes.Get(3);
    m_server = InetSocketAddress(server->GetObject<Ipv4>()->GetAddress(1, 0).GetLocal(), server_port);
    auto listener = Socket::CreateSocket(server, TcpSocketFactory::GetTypeId());
    listener->Bind(m_server);
    listener->Listen();
    listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                MakeCallback(&Run::Accepted, this));
    // Connections inherit the trace.
    listener->TraceConnectWithoutContext("Tx", Sent(1));
}

// Counts retransmissions by the client's port and the side that sends.
Transmitted Run::Sent(uint32_t side) {
    return Transmitted([this, side](Ptr<const Packet> packet, const TcpHeader& header,
                                Ptr<const TcpSocketBase>) {
        const uint32_t port = side ? header.GetDestinationPort() : header.GetSourcePort();
        m_retransmissions.Note(2 * port + side, packet, header);
    });
}

void Run::ScheduleArrival() {
    const Time gap = Seconds(m_gaps->GetValue(1 / m_settings.TransfersPerSecond(), 0));
    if (Simulator::Now() + gap < Seconds(m_settings.duration)) {
        Simulator::Schedule(gap, &Run::Arrive, this);
    }
}

void Run::Arrive() {
    const uint32_t reply = reply_sizes[m_sizes->GetInteger(0, reply_sizes.size() - 1)];
    auto socket = Socket::CreateSocket(m_nodes.Get(0), TcpSocketFactory::GetTypeId());
    socket->Bind();
    Address local;
    socket->GetSockName(local);
    const uint16_t port = InetSocketAddress::ConvertFrom(local).GetPort();
    m_transfers[port] = {reply, Simulator::Now().GetSeconds(), segment_bytes, reply * segment_bytes};
    m_retransmissions.Restart(2 * port);
    m_retransmissions.Restart(2 * port + 1);
    m_started++;
    socket->TraceConnectWithoutContext("Tx", Sent(0));
    socket->SetConnectCallback(MakeCallback(&Run::Connected, this),
                               MakeNullCallback<void, Ptr<Socket>>());
    socket->SetRecvCallback(MakeCallback(&Run::ReplyArrives, this));
    // The server has closed: so does the client.
    socket->SetCloseCallbacks(Callback<void, Ptr<Socket>>([](Ptr<Socket> end) { end->Close(); }),
                              MakeNullCallback<void, Ptr<Socket>>());
    socket->Connect(m_server);
    ScheduleArrival();
}

uint16_t
ClientPort(const Address& address) {
    return InetSocketAddress::ConvertFrom(address).GetPort();
}

Address OwnAddress(Ptr<Socket> socket) {
    Address address;
    socket->GetSockName(address);
    return address;
}

Address PeerAddress(Ptr<Socket> socket) {
    Address address;
    socket->GetPeerName(address);
    return address;
}

uint32_t
Read(Ptr<Socket> socket) {
    uint32_t bytes = 0;
    while (auto packet = socket->Recv()) {
        bytes += packet->GetSize();
    }
    return bytes;
}

void Run::Connected(Ptr<Socket> socket) {
    const auto& transfer = m_transfers.at(ClientPort(OwnAddress(socket)));
    m_handshake_times.push_back(Simulator::Now().GetSeconds() - transfer.start);
    socket->Send(Create<Packet>(segment_bytes));
}

void Run::Accepted(Ptr<Socket> socket, const Address&) {
    socket->SetRecvCallback(MakeCallback(&Run::RequestArrives, this));
}

void Run::RequestArrives(Ptr<Socket> socket) {
    auto& transfer = m_transfers.at(ClientPort(PeerAddress(socket)));
    const uint32_t bytes = Read(socket);
    transfer.awaited_request -= bytes;
    if (bytes > 0 && transfer.awaited_request == 0) {
        socket->Send(Create<Packet>(transfer.reply * segment_bytes));
        socket->Close();
    }
}

void Run::ReplyArrives(Ptr<Socket> socket) {
    auto& transfer = m_transfers.at(ClientPort(OwnAddress(socket)));
    const uint32_t bytes = Read(socket);
    transfer.awaited_reply -= bytes;
    if (bytes > 0 && transfer.awaited_reply == 0) {
        m_completion_times[transfer.reply].push_back(Simulator::Now().GetSeconds() - transfer.start);
        m_completed++;
    }
}

// The counts of the queues when arrivals end: the drain is another regime.
void Run::EndArrivals() {
    m_during_arrivals = Queues();
    m_open_when_arrivals_end = m_started - m_completed;
}

Json Run::Queues() {
    return Json()
        .Object("to_client", m_to_client->Written())
        .Object("to_server", m_to_server->Written());
}

Json Run::Transfers() const {
    Json by_size;
    std::vector<double> all;
    for (const auto& [size, times] : m_completion_times) {
        by_size.Object(std::to_string(size), Summary(times));
        all.insert(all.end(), times.begin(), times.end());
    }
    return Json()
        .Count("started", m_started)
        .Count("completed", m_completed)
        .Count("open", m_started - m_completed)
        .Object("handshake_s", Summary(m_handshake_times))
        .Object("completion_s", Summary(all))
        .Object("completion_by_packets_s", by_size);
}

void Run::WriteTo(Json& result) {
    result.Object("transfers", Transfers())
        .Count("open_when_arrivals_end", m_open_when_arrivals_end)
        .Object("tcp",
                Json()
                    .Count("timeouts", m_retransmissions.Timeouts())
                    .Count("retransmitted_packets", m_retransmissions.Packets()))
        .Object("during_arrivals", m_during_arrivals)
        .Object("with_drain", Queues());
}

} // namespace

int main(int argc, char* argv[]) {
    Options options("Request/reply transfers over one bottleneck.");
    Settings settings;
    settings.AddTo(options);
    options.Parse(argc, argv);
    settings.tcp.Apply();
    Run run(settings);
    Simulator::Stop(Seconds(settings.duration + settings.drain));
    Simulator::Run();
    auto result = options.Result();
    run.WriteTo(result);
    std::cout << result.Written() << '\n';
    return 0;
}
