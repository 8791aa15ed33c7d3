#include "common.h"

#include "ns3/boolean.h"
#include "ns3/config.h"
#include "ns3/double.h"
#include "ns3/drop-tail-queue.h"
#include "ns3/fifo-queue-disc.h"
#include "ns3/internet-stack-helper.h"
#include "ns3/ipv4-address-helper.h"
#include "ns3/ipv4-nix-vector-helper.h"
#include "ns3/net-device-queue-interface.h"
#include "ns3/point-to-point-helper.h"
#include "ns3/point-to-point-net-device.h"
#include "ns3/queue-disc.h"
#include "ns3/queue-size.h"
#include "ns3/rng-seed-manager.h"
#include "ns3/simulator.h"
#include "ns3/string.h"
#include "ns3/tcp-header.h"
#include "ns3/tcp-l4-protocol.h"
#include "ns3/traffic-control-helper.h"
#include "ns3/traffic-control-layer.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>

using namespace ns3;

namespace peer
{

// ---- JSON and options

namespace
{

std::string
Quoted(const std::string& text)
{
    return '"' + text + '"';
}

std::string
Decimal(double value)
{
    char text[32];
    std::snprintf(text, sizeof text, "%.9g", value);
    return text;
}

} // namespace

Json&
Json::Raw(const std::string& name, const std::string& value)
{
    m_members += (m_members.empty() ? "" : ", ") + Quoted(name) + ": " + value;
    return *this;
}

Json&
Json::Text(const std::string& name, const std::string& value)
{
    return Raw(name, Quoted(value));
}

Json&
Json::Count(const std::string& name, uint64_t value)
{
    return Raw(name, std::to_string(value));
}

Json&
Json::Number(const std::string& name, double value)
{
    return Raw(name, Decimal(value));
}

Json&
Json::Numbers(const std::string& name, const std::vector<double>& values)
{
    std::string list;
    for (double value : values)
    {
        list += (list.empty() ? "" : ", ") + Decimal(value);
    }
    return Raw(name, '[' + list + ']');
}

Json&
Json::Object(const std::string& name, const Json& value)
{
    return Raw(name, value.Written());
}

std::string
Json::Written() const
{
    return '{' + m_members + '}';
}

void
Fail(const std::string& message)
{
    std::cerr << "error: " << message << '\n';
    std::exit(2);
}

Options::Options(const std::string& usage)
{
    m_command_line.Usage(usage);
    Add("seed", "which substream of the random numbers", seed);
}

void
Options::Add(const std::string& name, const std::string& help, double& value)
{
    m_command_line.AddValue(name, help, value);
    m_written.push_back([name, &value](Json& json) { json.Number(name, value); });
}

void
Options::Add(const std::string& name, const std::string& help, uint32_t& value)
{
    m_command_line.AddValue(name, help, value);
    m_written.push_back([name, &value](Json& json) { json.Count(name, value); });
}

void
Options::Add(const std::string& name, const std::string& help, std::string& value)
{
    m_command_line.AddValue(name, help, value);
    m_written.push_back([name, &value](Json& json) { json.Text(name, value); });
}

void
Options::Parse(int argc, char* argv[])
{
    m_command_line.Parse(argc, argv);
    RngSeedManager::SetRun(seed);
}

Json
Options::Result() const
{
    Json parameters;
    for (const auto& write : m_written)
    {
        write(parameters);
    }
    return Json().Text("simulator", "ns-" NS3_VERSION).Object("parameters", parameters);
}

// ---- TCP

void
TcpSettings::AddTo(Options& options)
{
    options.Add("tcp", "Newreno or Sack1", tcp);
    options.Add("window", "receive window in packets", window);
    options.Add("min_rto", "smallest retransmission timeout in s", min_rto);
    options.Add("delayed_ack", "1: an ACK for every second segment, or after 100 ms", delayed_ack);
}

void
TcpSettings::Apply() const
{
    if (tcp != "Newreno" && tcp != "Sack1")
    {
        Fail("tcp is Newreno or Sack1, not " + tcp);
    }
    // A send buffer as large as the receive window is never the limit.
    const auto buffer = UintegerValue(static_cast<uint64_t>(window * segment_bytes));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(segment_bytes));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", buffer);
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", buffer);
    Config::SetDefault("ns3::TcpSocket::ConnTimeout", TimeValue(Seconds(3)));
    Config::SetDefault("ns3::TcpSocket::ConnCount", UintegerValue(20));
    // Nobody answers a FIN whose acknowledgement was lost, with or without TIME-WAIT: without an
    // end to the attempts it would be sent for ever.
    Config::SetDefault("ns3::TcpSocket::DataRetries", UintegerValue(12));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(delayed_ack ? 2 : 1));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(MilliSeconds(100)));
    Config::SetDefault("ns3::TcpSocket::TcpNoDelay", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(tcp == "Sack1"));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::WindowScaling", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::LimitedTransmit", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(Seconds(min_rto)));
    Config::SetDefault("ns3::TcpSocketBase::ClockGranularity", TimeValue(MilliSeconds(10)));
    Config::SetDefault("ns3::TcpSocketBase::MaxSegLifetime", DoubleValue(0)); // no TIME-WAIT
    Config::SetDefault("ns3::RttEstimator::InitialEstimation", TimeValue(Seconds(3)));
    Config::SetDefault("ns3::TcpL4Protocol::SocketType",
                       TypeIdValue(CountingNewReno::GetTypeId()));
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType",
                       TypeIdValue(TypeId::LookupByName("ns3::TcpClassicRecovery")));
}

NS_OBJECT_ENSURE_REGISTERED(CountingNewReno);

uint64_t CountingNewReno::timeouts = 0;
uint64_t CountingNewReno::fast_retransmits = 0;

TypeId
CountingNewReno::GetTypeId()
{
    static const TypeId id = TypeId("peer::CountingNewReno")
                                 .SetParent<TcpNewReno>()
                                 .AddConstructor<CountingNewReno>();
    return id;
}

void
CountingNewReno::CongestionStateSet(Ptr<TcpSocketState> state,
                                    const TcpSocketState::TcpCongState_t next)
{
    timeouts += next == TcpSocketState::CA_LOSS;
    fast_retransmits += next == TcpSocketState::CA_RECOVERY;
    TcpNewReno::CongestionStateSet(state, next);
}

Ptr<TcpCongestionOps>
CountingNewReno::Fork()
{
    return CopyObject<CountingNewReno>(this);
}

void
Retransmissions::Restart(uint32_t sender)
{
    m_end.erase(sender);
}

void
Retransmissions::Sent(uint32_t sender, Ptr<const Packet> packet, const TcpHeader& header)
{
    const bool syn = header.GetFlags() & TcpHeader::SYN;
    if (packet->GetSize() == 0 && !syn)
    {
        return; // an acknowledgement or a FIN alone
    }
    const auto end = header.GetSequenceNumber() + packet->GetSize() + syn;
    const auto [known, first] = m_end.try_emplace(sender, end);
    if (!first && end <= known->second)
    {
        packets++;
        handshakes += syn;
    }
    known->second = std::max(known->second, end);
}

// ---- Links and queues

void
QueueSettings::AddTo(Options& options)
{
    options.Add("queue", "DropTail or RED", queue);
    options.Add("buffer", "packets that may wait", buffer);
    options.Add("min_threshold", "RED: lower threshold in packets", min_threshold);
    options.Add("max_threshold", "RED: upper threshold in packets", max_threshold);
    options.Add("max_probability", "RED: greatest probability", max_probability);
    options.Add("weight", "RED: weight of the average", weight);
    options.Add("gentle", "RED: 1 for gentle", gentle);
    options.Add("wait", "RED: 1 to space drops between 1/p and 2/p packets", wait);
    options.Add("mean_packet", "RED: bytes of a packet while the queue is idle", mean_packet);
}

DataRate
LineRate(double mbps)
{
    constexpr double ppp_bytes = 2;
    return DataRate(std::llround(mbps * 1e6 * (packet_bytes + ppp_bytes) / packet_bytes));
}

namespace
{

NetDeviceContainer
Connect(NodeContainer ends, double mbps, Time delay, bool flow_control)
{
    PointToPointHelper link;
    if (!flow_control)
    {
        link.DisableFlowControl();
    }
    link.SetDeviceAttribute("DataRate", DataRateValue(LineRate(mbps)));
    link.SetChannelAttribute("Delay", TimeValue(delay));
    link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("100000p"));
    return link.Install(ends);
}

void
InstallRed(Ptr<NetDevice> device, double mbps, const QueueSettings& settings)
{
    TrafficControlHelper helper;
    helper.SetRootQueueDisc("ns3::RedQueueDisc",
                            "MaxSize", QueueSizeValue(QueueSize(PACKETS, settings.buffer)),
                            "MinTh", DoubleValue(settings.min_threshold),
                            "MaxTh", DoubleValue(settings.max_threshold),
                            "LInterm", DoubleValue(1 / settings.max_probability),
                            "QW", DoubleValue(settings.weight),
                            "Gentle", BooleanValue(settings.gentle),
                            "Wait", BooleanValue(settings.wait),
                            "MeanPktSize", UintegerValue(settings.mean_packet),
                            "LinkBandwidth", DataRateValue(DataRate(std::llround(mbps * 1e6))));
    helper.Install(device);
    AskWhenFree(device);
}

void
SetBuffer(Ptr<NetDevice> device, uint32_t packets)
{
    auto line = DynamicCast<PointToPointNetDevice>(device);
    line->GetQueue()->SetMaxSize(QueueSize(PACKETS, packets));
}

} // namespace

NetDeviceContainer
AddLink(NodeContainer ends, double mbps, Time delay)
{
    return Connect(ends, mbps, delay, false);
}

NetDeviceContainer
AddBottleneck(NodeContainer ends, double mbps, Time delay, const QueueSettings& settings)
{
    const bool red = settings.queue == "RED";
    if (!red && settings.queue != "DropTail")
    {
        Fail("queue is DropTail or RED, not " + settings.queue);
    }
    auto devices = Connect(ends, mbps, delay, red);
    SetBuffer(devices.Get(1), settings.buffer);
    if (red)
    {
        InstallRed(devices.Get(0), mbps, settings);
    }
    else
    {
        SetBuffer(devices.Get(0), settings.buffer);
    }
    return devices;
}

void
Capture(const NetDeviceContainer& link, const std::string& prefix)
{
    if (!prefix.empty())
    {
        PointToPointHelper().EnablePcap(prefix, link);
    }
}

void
AskWhenFree(Ptr<NetDevice> device)
{
    auto queue = device->GetObject<NetDeviceQueueInterface>()->GetTxQueue(0);
    auto begun = [queue](Ptr<const Packet>) { queue->Stop(); };
    // Not from inside the device, which has not yet noted that its line is free.
    auto ended = [queue](Ptr<const Packet>) { Simulator::ScheduleNow(&NetDeviceQueue::Wake, queue); };
    device->TraceConnectWithoutContext("PhyTxBegin", Callback<void, Ptr<const Packet>>(begun));
    device->TraceConnectWithoutContext("PhyTxEnd", Callback<void, Ptr<const Packet>>(ended));
}

QueueStatistics*
Watch(Ptr<NetDevice> device)
{
    auto control = device->GetNode()->GetObject<TrafficControlLayer>();
    auto disc = control ? control->GetRootQueueDiscOnDevice(device) : nullptr;
    if (disc)
    {
        return new QueueStatistics(
            disc,
            [disc] { return disc->GetStats().nTotalDequeuedPackets; },
            [disc] { return disc->GetStats().nTotalDroppedPackets; });
    }
    auto queue = DynamicCast<PointToPointNetDevice>(device)->GetQueue();
    return new QueueStatistics(
        queue,
        [queue] { return queue->GetTotalReceivedPackets() - queue->GetNPackets(); },
        [queue] { return queue->GetTotalDroppedPackets(); });
}

void
Network::InstallStack()
{
    Ipv4NixVectorHelper routing;
    InternetStackHelper stack;
    stack.SetRoutingHelper(routing);
    stack.SetIpv6StackInstall(false);
    stack.InstallAll();
}

void
Network::Address(const NetDeviceContainer& link)
{
    static Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.252");
    addresses.Assign(link);
    addresses.NewNetwork();
    // What the assignment puts in front of a device that has no queue disc of its own.
    TrafficControlHelper helper;
    for (auto device = link.Begin(); device != link.End(); ++device)
    {
        auto control = (*device)->GetNode()->GetObject<TrafficControlLayer>();
        auto disc = control->GetRootQueueDiscOnDevice(*device);
        if (disc && disc->GetInstanceTypeId().GetName() == "ns3::FqCoDelQueueDisc")
        {
            helper.Uninstall(*device);
        }
    }
}

QueueStatistics::QueueStatistics(Ptr<Object> queue, Counter forwarded, Counter dropped)
    : m_forwarded(std::move(forwarded)),
      m_dropped(std::move(dropped))
{
    queue->TraceConnectWithoutContext("PacketsInQueue",
                                      MakeCallback(&QueueStatistics::LengthChanged, this));
}

void
QueueStatistics::LengthChanged(uint32_t, uint32_t after)
{
    Area();
    m_length = after;
}

double
QueueStatistics::Area()
{
    m_area += m_length * (Simulator::Now() - m_changed).GetSeconds();
    m_changed = Simulator::Now();
    return m_area;
}

void
QueueStatistics::Restart()
{
    Area();
    m_area = 0;
    m_since = Simulator::Now();
    m_forwarded_before = m_forwarded();
    m_dropped_before = m_dropped();
}

Json
QueueStatistics::Written()
{
    const double elapsed = (Simulator::Now() - m_since).GetSeconds();
    return Json()
        .Count("forwarded", m_forwarded() - m_forwarded_before)
        .Count("dropped", m_dropped() - m_dropped_before)
        .Number("mean_queue", elapsed > 0 ? Area() / elapsed : 0);
}

// ---- Summaries

double
Sum(const std::vector<double>& values)
{
    double sum = 0;
    for (double value : values)
    {
        sum += value;
    }
    return sum;
}

Json
Summary(std::vector<double> values)
{
    Json json;
    json.Count("n", values.size());
    if (values.empty())
    {
        return json;
    }
    std::sort(values.begin(), values.end());
    const auto quantile = [&values](double fraction) {
        const auto rank = static_cast<size_t>(std::ceil(fraction * values.size()));
        return values[std::max<size_t>(rank, 1) - 1];
    };
    return json.Number("mean", Sum(values) / values.size())
        .Number("median", quantile(0.5))
        .Number("p95", quantile(0.95))
        .Number("p99", quantile(0.99));
}

} // namespace peer
