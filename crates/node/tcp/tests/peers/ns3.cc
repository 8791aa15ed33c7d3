// What an ns-3 sender of 1000-byte segments with SACK sends over a path of 100 ms there and back,
// when the given packets are lost: a line for each hundredth of a second, with the segments sent in
// it. Packet 0 on the path is the SYN; each later one with data counts, retransmissions too.
//
//   g++ ns3.cc -o ns3 -lns3-core -lns3-network -lns3-internet -lns3-applications \
//       -lns3-point-to-point -lns3-bridge -lns3-traffic-control -lns3-stats
//   ./ns3 SEGMENTS LOST...
//
// All timelines again:
//
//   grep ^ns-3 ns3.txt | while read -r _ _ case; do ./ns3 $case; done > new.txt
#include <cmath>
#include <cstdio>
#include <set>
#include <string>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"

using namespace ns3;

namespace {

// The TCP header of a packet on the link; what is left of the packet is its data.
TcpHeader TakeHeaders(Ptr<Packet> packet) {
    PppHeader ppp;
    Ipv4Header ip;
    TcpHeader tcp;
    packet->RemoveHeader(ppp);
    packet->RemoveHeader(ip);
    packet->RemoveHeader(tcp);
    return tcp;
}

class Losses : public ErrorModel {
  public:
    explicit Losses(std::set<uint32_t> lost) : lost(lost) {}

  private:
    bool DoCorrupt(Ptr<Packet> packet) override {
        Ptr<Packet> rest = packet->Copy();
        bool isSyn = TakeHeaders(rest).GetFlags() & TcpHeader::SYN;
        return (isSyn || rest->GetSize() > 0) && lost.count(counted++) > 0;
    }
    void DoReset() override {}

    std::set<uint32_t> lost;
    uint32_t counted = 0;
};

void Sent(Ptr<const Packet> packet) {
    static double last = -1;
    Ptr<Packet> rest = packet->Copy();
    TcpHeader tcp = TakeHeaders(rest);
    if (rest->GetSize() == 0) return;
    double at = std::floor(Simulator::Now().GetSeconds() * 100) / 100;
    if (at != last) std::printf("\n%.2f:", at);
    last = at;
    std::printf(" %u", tcp.GetSequenceNumber().GetValue() / 1000 + 1);
}

void MatchSettings() {
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1000));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(8));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(10000000));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(10000000));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(350)));
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpLinuxReno::GetTypeId()));
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType",
                       TypeIdValue(TcpClassicRecovery::GetTypeId()));
}

}  // namespace

int main(int argc, char** argv) {
    MatchSettings();
    std::printf("ns-3 SACK");
    for (int i = 1; i < argc; i++) std::printf(" %s", argv[i]);
    std::set<uint32_t> lost;
    for (int i = 2; i < argc; i++) lost.insert(std::stoi(argv[i]));

    NodeContainer nodes;
    nodes.Create(2);
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue("10Gbps"));
    link.SetChannelAttribute("Delay", StringValue("50ms"));
    link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1000p"));
    NetDeviceContainer devices = link.Install(nodes);
    InternetStackHelper().Install(nodes);
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    InetSocketAddress to(addresses.Assign(devices).GetAddress(1), 9);
    devices.Get(1)->SetAttribute("ReceiveErrorModel", PointerValue(CreateObject<Losses>(lost)));
    devices.Get(0)->TraceConnectWithoutContext("PhyTxBegin", MakeCallback(&Sent));

    PacketSinkHelper("ns3::TcpSocketFactory", to).Install(nodes.Get(1));
    BulkSendHelper bulk("ns3::TcpSocketFactory", to);
    uint32_t bytes = std::stoi(argv[1]) * 1000;
    bulk.SetAttribute("MaxBytes", UintegerValue(bytes));
    bulk.SetAttribute("SendSize", UintegerValue(bytes));
    bulk.Install(nodes.Get(0));
    Simulator::Stop(Seconds(20));
    Simulator::Run();
    std::printf("\n\n");
}
