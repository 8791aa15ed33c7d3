// Statistics of queues, and summaries of times.

#pragma once

#include "json.h"

#include "ns3/node.h"
#include "ns3/point-to-point-net-device.h"
#include "ns3/queue-disc.h"
#include "ns3/queue.h"
#include "ns3/simulator.h"
#include "ns3/traffic-control-layer.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <numeric>

namespace peer {

// Packets forwarded and dropped by a queue, and the mean number that wait.
class QueueStatistics {
  public:
    explicit QueueStatistics(ns3::Ptr<ns3::QueueDisc> disc)
        : m_forwarded([disc] { return disc->GetStats().nTotalDequeuedPackets; }),
          m_dropped([disc] { return disc->GetStats().nTotalDroppedPackets; }) {
        Follow(disc);
    }

    explicit QueueStatistics(ns3::Ptr<ns3::Queue<ns3::Packet>> queue)
        : m_forwarded([queue] { return queue->GetTotalReceivedPackets() - queue->GetNPackets(); }),
          m_dropped([queue] { return queue->GetTotalDroppedPackets(); }) {
        Follow(queue);
    }

    // Those of the queue in front of a device: its queue disc if it has one.
    static std::unique_ptr<QueueStatistics> Of(ns3::Ptr<ns3::NetDevice> device) {
        auto control = device->GetNode()->GetObject<ns3::TrafficControlLayer>();
        if (auto disc = control->GetRootQueueDiscOnDevice(device)) {
            return std::make_unique<QueueStatistics>(disc);
        }
        auto line = ns3::DynamicCast<ns3::PointToPointNetDevice>(device);
        return std::make_unique<QueueStatistics>(line->GetQueue());
    }

    // Forgets what happened so far (end of a warm-up).
    void Restart() {
        Area();
        m_area = 0;
        m_since = ns3::Simulator::Now();
        m_forwarded_before = m_forwarded();
        m_dropped_before = m_dropped();
    }

    Json Written() {
        const double elapsed = (ns3::Simulator::Now() - m_since).GetSeconds();
        return Json()
            .Count("forwarded", m_forwarded() - m_forwarded_before)
            .Count("dropped", m_dropped() - m_dropped_before)
            .Number("mean_queue", elapsed > 0 ? Area() / elapsed : 0);
    }

  private:
    using Counter = std::function<uint64_t()>;

    void Follow(ns3::Ptr<ns3::Object> queue) {
        queue->TraceConnectWithoutContext(
            "PacketsInQueue", ns3::MakeCallback(&QueueStatistics::LengthChanged, this));
    }

    void LengthChanged(uint32_t, uint32_t length) {
        Area();
        m_length = length;
    }

    // Packets times seconds until now.
    double Area() {
        m_area += m_length * (ns3::Simulator::Now() - m_changed).GetSeconds();
        m_changed = ns3::Simulator::Now();
        return m_area;
    }

    Counter m_forwarded;
    Counter m_dropped;
    uint64_t m_forwarded_before = 0;
    uint64_t m_dropped_before = 0;
    uint32_t m_length = 0;
    double m_area = 0;
    ns3::Time m_changed;
    ns3::Time m_since;
};

inline double Sum(const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0);
}

// Count, mean and percentiles (nearest rank) of a list of seconds.
inline Json Summary(std::vector<double> values) {
    Json json;
    json.Count("n", values.size());
    if (values.empty()) {
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
