// What all programs here share: options, TCP settings, links and their queues, statistics, JSON.

#pragma once

#include "ns3/command-line.h"
#include "ns3/data-rate.h"
#include "ns3/net-device-container.h"
#include "ns3/node-container.h"
#include "ns3/nstime.h"
#include "ns3/random-variable-stream.h"
#include "ns3/tcp-congestion-ops.h"
#include "ns3/tcp-socket-base.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace peer
{

// A JSON object, written member by member in the order given.
class Json
{
  public:
    Json& Text(const std::string& name, const std::string& value);
    Json& Count(const std::string& name, uint64_t value);
    Json& Number(const std::string& name, double value);
    Json& Numbers(const std::string& name, const std::vector<double>& values);
    Json& Object(const std::string& name, const Json& value);
    std::string Written() const;

  private:
    Json& Raw(const std::string& name, const std::string& value);
    std::string m_members;
};

// The options of a program: read from the command line, and repeated in its output.
class Options
{
  public:
    explicit Options(const std::string& usage);
    void Add(const std::string& name, const std::string& help, double& value);
    void Add(const std::string& name, const std::string& help, uint32_t& value);
    void Add(const std::string& name, const std::string& help, std::string& value);
    // Reads them. The seed chooses a substream of ns-3's generator.
    void Parse(int argc, char* argv[]);
    // What every output begins with: the simulator and the options of this run.
    Json Result() const;

    uint32_t seed = 1;

  private:
    ns3::CommandLine m_command_line;
    std::vector<std::function<void(Json&)>> m_written;
};

// A fault of the user's: says so and leaves.
[[noreturn]] void Fail(const std::string& message);

// TCP as both peers and the era preset "ns2-2002" have it. To be applied before any socket exists.
struct TcpSettings
{
    std::string tcp = "Newreno"; // or Sack1, as ns-2 calls them
    double window = 20000;       // packets
    double min_rto = 0.2;        // seconds
    uint32_t delayed_ack = 0;    // or 1: every second segment, 100 ms

    void AddTo(Options& options);
    void Apply() const;
};

constexpr uint32_t segment_bytes = 1000;
constexpr uint32_t header_bytes = 40;
constexpr uint32_t packet_bytes = segment_bytes + header_bytes;

// NewReno that counts how often a retransmission timer fired and how often recovery began.
class CountingNewReno : public ns3::TcpNewReno
{
  public:
    static ns3::TypeId GetTypeId();
    void CongestionStateSet(ns3::Ptr<ns3::TcpSocketState> state,
                            const ns3::TcpSocketState::TcpCongState_t next) override;
    ns3::Ptr<ns3::TcpCongestionOps> Fork() override;

    static uint64_t timeouts;
    static uint64_t fast_retransmits;
};

// Counts what senders transmit again, from what they transmit. FINs without data are left out.
class Retransmissions
{
  public:
    // Forgets a sender: a new connection has its number.
    void Restart(uint32_t sender);
    // To be bound to the trace "Tx" of a socket.
    void Sent(uint32_t sender, ns3::Ptr<const ns3::Packet> packet, const ns3::TcpHeader& header);

    uint64_t packets = 0;
    uint64_t handshakes = 0; // those that are a SYN or SYN-ACK: each by a timer of its own

  private:
    std::map<uint32_t, ns3::SequenceNumber32> m_end;
};

// The parameters of the queue into a bottleneck.
struct QueueSettings
{
    std::string queue = "DropTail"; // or RED
    uint32_t buffer = 1000;         // packets that wait
    double min_threshold = 5;
    double max_threshold = 60;
    double max_probability = 0.2;
    double weight = 0.002;
    uint32_t gentle = 0;
    uint32_t wait = 0;
    uint32_t mean_packet = packet_bytes;

    void AddTo(Options& options);
};

// Statistics of a queue: packets forwarded and dropped, and the mean number that wait.
class QueueStatistics
{
  public:
    using Counter = std::function<uint64_t()>;
    // A queue or queue disc: both trace "PacketsInQueue".
    QueueStatistics(ns3::Ptr<ns3::Object> queue, Counter forwarded, Counter dropped);
    // Forgets what happened so far (end of a warm-up).
    void Restart();
    Json Written();

  private:
    void LengthChanged(uint32_t before, uint32_t after);
    double Area();

    Counter m_forwarded;
    Counter m_dropped;
    uint64_t m_forwarded_before = 0;
    uint64_t m_dropped_before = 0;
    uint32_t m_length = 0;
    double m_area = 0;
    ns3::Time m_changed;
    ns3::Time m_since;
};

// A link between two nodes whose queues hold any number of packets. Its devices, in that order.
ns3::NetDeviceContainer AddLink(ns3::NodeContainer ends, double mbps, ns3::Time delay);

// A link whose first end sends through the queue that the settings describe and whose second end
// sends through a DropTail queue of the same buffer. The rate is that of packets without PPP's two
// bytes: full packets take the time that they take where there is no such header.
ns3::NetDeviceContainer AddBottleneck(ns3::NodeContainer ends, double mbps, ns3::Time delay,
                                      const QueueSettings& settings);

// Writes what passes the ends of a link into PREFIX-NODE-DEVICE.pcap; nothing if there is no prefix.
void Capture(const ns3::NetDeviceContainer& link, const std::string& prefix);

// The statistics of the queue in front of a device: its queue disc if it has one.
QueueStatistics* Watch(ns3::Ptr<ns3::NetDevice> device);

// Makes the queue disc of a device the only queue: the device asks for a packet when its line has
// become free. Otherwise the device would hold one packet that the disc does not count.
void AskWhenFree(ns3::Ptr<ns3::NetDevice> device);

// The rate that a line needs to have for packets to go as fast as without PPP's header.
ns3::DataRate LineRate(double mbps);

// Gives each link a network of its own, and hosts and routers their routes.
class Network
{
  public:
    static void InstallStack();
    static void Address(const ns3::NetDeviceContainer& link);
};

// Count, mean and percentiles (nearest rank) of a list of seconds.
Json Summary(std::vector<double> values);

double Sum(const std::vector<double>& values);

// A stream of random numbers for one purpose.
template <typename Variable>
ns3::Ptr<Variable>
RandomStream(int64_t purpose)
{
    auto variable = ns3::CreateObject<Variable>();
    variable->SetStream(purpose);
    return variable;
}

} // namespace peer
