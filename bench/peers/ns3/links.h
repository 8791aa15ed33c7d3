// Nodes, links, and the queue in front of the bottleneck.

#pragma once

#include "tcp.h"

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
#include "ns3/simulator.h"
#include "ns3/string.h"
#include "ns3/traffic-control-helper.h"
#include "ns3/traffic-control-layer.h"

#include <cmath>

namespace peer {

// The rate a line must have for full packets to take the time that they take without PPP's header.
inline ns3::DataRate LineRate(double mbps) {
    constexpr double ppp_bytes = 2;
    return ns3::DataRate(std::llround(mbps * 1e6 * (packet_bytes + ppp_bytes) / packet_bytes));
}

// Whether the queue disc of a device is told when the device can take another packet.
enum class FlowControl { off, on };

// A link between two nodes whose queues hold any number of packets. Its devices, in that order.
inline ns3::NetDeviceContainer AddLink(ns3::NodeContainer ends, double mbps, ns3::Time delay,
                                       FlowControl flow_control = FlowControl::off) {
    ns3::PointToPointHelper link;
    if (flow_control == FlowControl::off) {
        link.DisableFlowControl();
    }
    link.SetDeviceAttribute("DataRate", ns3::DataRateValue(LineRate(mbps)));
    link.SetChannelAttribute("Delay", ns3::TimeValue(delay));
    link.SetQueue("ns3::DropTailQueue", "MaxSize", ns3::StringValue("100000p"));
    return link.Install(ends);
}

// Makes the queue disc of a device the only queue: the device asks for a packet when its line has
// become free. Otherwise it would hold one packet more, which the disc does not see.
inline void AskWhenFree(ns3::Ptr<ns3::NetDevice> device) {
    using Traced = ns3::Callback<void, ns3::Ptr<const ns3::Packet>>;
    auto queue = device->GetObject<ns3::NetDeviceQueueInterface>()->GetTxQueue(0);
    Traced begins([queue](ns3::Ptr<const ns3::Packet>) { queue->Stop(); });
    // Not from inside the device, which has not yet noted that its line is free.
    Traced ends([queue](ns3::Ptr<const ns3::Packet>) {
        ns3::Simulator::ScheduleNow(&ns3::NetDeviceQueue::Wake, queue);
    });
    device->TraceConnectWithoutContext("PhyTxBegin", begins);
    device->TraceConnectWithoutContext("PhyTxEnd", ends);
}

// The parameters of the queue into a bottleneck.
struct QueueSettings {
    std::string queue = "DropTail"; // or RED
    uint32_t buffer = 1000;         // packets that wait
    double min_threshold = 5;
    double max_threshold = 60;
    double max_probability = 0.2;
    double weight = 0.002;
    uint32_t gentle = 0;
    uint32_t wait = 0;
    uint32_t mean_packet = packet_bytes;

    void AddTo(Options& options) {
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

    void InstallRed(ns3::Ptr<ns3::NetDevice> device, double mbps) const {
        using namespace ns3;
        TrafficControlHelper helper;
        helper.SetRootQueueDisc("ns3::RedQueueDisc",
                                "MaxSize", QueueSizeValue(QueueSize(PACKETS, buffer)),
                                "MinTh", DoubleValue(min_threshold),
                                "MaxTh", DoubleValue(max_threshold),
                                "LInterm", DoubleValue(1 / max_probability),
                                "QW", DoubleValue(weight),
                                "Gentle", BooleanValue(gentle),
                                "Wait", BooleanValue(wait),
                                "MeanPktSize", UintegerValue(mean_packet),
                                "LinkBandwidth", DataRateValue(DataRate(std::llround(mbps * 1e6))));
        helper.Install(device);
        AskWhenFree(device);
    }
};

// A link whose first end sends through the queue that the settings describe, and whose second end
// sends through a DropTail queue of the same buffer.
inline ns3::NetDeviceContainer AddBottleneck(ns3::NodeContainer ends, double mbps, ns3::Time delay,
                                             const QueueSettings& settings) {
    const bool red = settings.queue == "RED";
    if (!red && settings.queue != "DropTail") {
        Fail("queue is DropTail or RED, not " + settings.queue);
    }
    auto devices = AddLink(ends, mbps, delay, red ? FlowControl::on : FlowControl::off);
    const auto set_buffer = [&](uint32_t end) {
        auto line = ns3::DynamicCast<ns3::PointToPointNetDevice>(devices.Get(end));
        line->GetQueue()->SetMaxSize(ns3::QueueSize(ns3::PACKETS, settings.buffer));
    };
    set_buffer(1);
    if (red) {
        settings.InstallRed(devices.Get(0), mbps);
    } else {
        set_buffer(0);
    }
    return devices;
}

// Writes what passes the ends of a link into PREFIX-NODE-DEVICE.pcap; nothing without a prefix.
inline void Capture(const ns3::NetDeviceContainer& link, const std::string& prefix) {
    if (!prefix.empty()) {
        ns3::PointToPointHelper().EnablePcap(prefix, link);
    }
}

// Gives every node IP and TCP. To be called when all nodes exist.
inline void InstallStack() {
    ns3::Ipv4NixVectorHelper routing;
    ns3::InternetStackHelper stack;
    stack.SetRoutingHelper(routing);
    stack.SetIpv6StackInstall(false);
    stack.InstallAll();
}

// Makes a link a network of its own.
inline void AddNetwork(const ns3::NetDeviceContainer& link) {
    static ns3::Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.252");
    addresses.Assign(link);
    addresses.NewNetwork();
    // The assignment puts a queue disc of its own choice where there is none.
    for (auto device = link.Begin(); device != link.End(); ++device) {
        auto control = (*device)->GetNode()->GetObject<ns3::TrafficControlLayer>();
        auto disc = control->GetRootQueueDiscOnDevice(*device);
        if (disc && disc->GetInstanceTypeId().GetName() == "ns3::FqCoDelQueueDisc") {
            ns3::TrafficControlHelper().Uninstall(*device);
        }
    }
}

} // namespace peer
