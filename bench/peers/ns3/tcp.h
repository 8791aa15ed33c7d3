// TCP as both peers and the era preset "ns2-2002" have it, and what its senders count.

#pragma once

#include "cubic.h"
#include "options.h"

#include "ns3/boolean.h"
#include "ns3/callback.h"
#include "ns3/config.h"
#include "ns3/double.h"
#include "ns3/nstime.h"
#include "ns3/packet.h"
#include "ns3/tcp-congestion-ops.h"
#include "ns3/tcp-cubic.h"
#include "ns3/tcp-header.h"
#include "ns3/tcp-socket-base.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <map>

namespace peer {

constexpr uint32_t segment_bytes = 1000;
constexpr uint32_t packet_bytes = segment_bytes + 40;

// How often a retransmission timer fired and how often recovery began, over all senders.
struct Counts {
    static inline uint64_t timeouts = 0;
    static inline uint64_t fast_retransmits = 0;
};

// What a loss reduces.
struct Reduces {
    static inline bool pipe = true;
};

// A congestion control that counts.
template <typename Control>
class Counting : public Control {
  public:
    static ns3::TypeId GetTypeId() {
        static const auto id = ns3::TypeId("peer::Counting" + Name(Control::GetTypeId()))
                                   .SetParent<Control>()
                                   .template AddConstructor<Counting>();
        return id;
    }

    void CongestionStateSet(ns3::Ptr<ns3::TcpSocketState> state,
                            const ns3::TcpSocketState::TcpCongState_t next) override {
        Counts::timeouts += next == ns3::TcpSocketState::CA_LOSS;
        Counts::fast_retransmits += next == ns3::TcpSocketState::CA_RECOVERY;
        Control::CongestionStateSet(state, next);
    }

    // ns-3 reduces what it believes to be in the network (the pipe of RFC 6675), which leaves out
    // what was selectively acknowledged or is taken for lost: 4 segments when recovery begins.
    // RFC 5681 §3.1 and RFC 9438 §4.6 reduce all that is not acknowledged, without limited
    // transmit's segments.
    uint32_t GetSsThresh(ns3::Ptr<const ns3::TcpSocketState> state, uint32_t pipe) override {
        const uint32_t unacknowledged = state->m_highTxMark.Get() - state->m_lastAckedSeq;
        const uint32_t flight = std::min(unacknowledged, state->m_cWnd.Get());
        return Control::GetSsThresh(state, Reduces::pipe ? pipe : flight);
    }

    ns3::Ptr<ns3::TcpCongestionOps> Fork() override {
        return ns3::CopyObject<Counting>(this);
    }

  private:
    // Without its namespace.
    static std::string Name(ns3::TypeId id) {
        return id.GetName().substr(id.GetName().rfind(':') + 1);
    }
};

// To be applied before any socket exists.
struct TcpSettings {
    std::string tcp = "Sack1";        // or Newreno, as ns-2 calls them
    std::string congestion = "reno";  // or cubic, or cubic-rfc9438
    std::string halves = "pipe";      // or flight: what a loss reduces
    double window = 20000;       // packets
    double min_rto = 0.2;        // seconds
    uint32_t delayed_ack = 0;    // or 1: every second segment, 100 ms

    void AddTo(Options& options) {
        options.Add("tcp", "Sack1 or Newreno", tcp);
        options.Add("congestion", "reno, cubic (ns-3's) or cubic-rfc9438 (written here)",
                    congestion);
        options.Add("halves", "what a loss reduces: pipe, as ns-3 does, or flight, as RFC 5681",
                    halves);
        options.Add("window", "receive window in packets", window);
        options.Add("min_rto", "smallest retransmission timeout in s", min_rto);
        options.Add("delayed_ack", "1: an ACK for every second segment, or after 100 ms",
                    delayed_ack);
    }

    void Apply() const {
        using namespace ns3;
        if (tcp != "Newreno" && tcp != "Sack1") {
            Fail("tcp is Newreno or Sack1, not " + tcp);
        }
        if (halves != "pipe" && halves != "flight") {
            Fail("halves is pipe or flight, not " + halves);
        }
        Reduces::pipe = halves == "pipe";
        const auto set = [](const std::string& name, const AttributeValue& value) {
            Config::SetDefault("ns3::" + name, value);
        };
        // A send buffer as large as the receive window is never the limit.
        const UintegerValue buffer(static_cast<uint64_t>(window * segment_bytes));
        set("TcpSocket::SndBufSize", buffer);
        set("TcpSocket::RcvBufSize", buffer);
        set("TcpSocket::SegmentSize", UintegerValue(segment_bytes));
        set("TcpSocket::InitialCwnd", UintegerValue(2));
        set("TcpSocket::ConnTimeout", TimeValue(Seconds(3)));
        set("TcpSocket::ConnCount", UintegerValue(20));
        // Nobody answers a FIN whose acknowledgement was lost, with or without TIME-WAIT: without
        // an end to the attempts it would be sent for ever.
        set("TcpSocket::DataRetries", UintegerValue(12));
        set("TcpSocket::DelAckCount", UintegerValue(delayed_ack ? 2 : 1));
        set("TcpSocket::DelAckTimeout", TimeValue(MilliSeconds(100)));
        set("TcpSocket::TcpNoDelay", BooleanValue(true));
        set("TcpSocketBase::Sack", BooleanValue(tcp == "Sack1"));
        set("TcpSocketBase::Timestamp", BooleanValue(false));
        set("TcpSocketBase::WindowScaling", BooleanValue(true));
        set("TcpSocketBase::LimitedTransmit", BooleanValue(true));
        set("TcpSocketBase::MinRto", TimeValue(Seconds(min_rto)));
        set("TcpSocketBase::ClockGranularity", TimeValue(MilliSeconds(1)));
        set("TcpSocketBase::MaxSegLifetime", DoubleValue(0)); // no TIME-WAIT
        set("RttEstimator::InitialEstimation", TimeValue(Seconds(3)));
        // The scale of 0.4, the decrease to 0.7 and fast convergence are its defaults, as of RFC 9438.
        set("TcpCubic::HyStart", BooleanValue(false));
        set("TcpL4Protocol::SocketType", TypeIdValue(Control()));
        set("TcpL4Protocol::RecoveryType",
            TypeIdValue(TypeId::LookupByName("ns3::TcpClassicRecovery")));
    }

  private:
    ns3::TypeId Control() const {
        if (congestion == "cubic") {
            return Counting<ns3::TcpCubic>::GetTypeId();
        }
        if (congestion == "cubic-rfc9438") {
            return Counting<Cubic>::GetTypeId();
        }
        if (congestion != "reno") {
            Fail("congestion is reno, cubic or cubic-rfc9438, not " + congestion);
        }
        return Counting<ns3::TcpNewReno>::GetTypeId();
    }
};

// The form of a socket's trace "Tx".
using Transmitted = ns3::Callback<void, ns3::Ptr<const ns3::Packet>, const ns3::TcpHeader&,
                                  ns3::Ptr<const ns3::TcpSocketBase>>;

// Counts what senders transmit again, from what they transmit. FINs without data are left out.
class Retransmissions {
  public:
    // Forgets a sender: a new connection has its number.
    void Restart(uint32_t sender) { m_ends.erase(sender); }

    void Note(uint32_t sender, ns3::Ptr<const ns3::Packet> packet, const ns3::TcpHeader& header) {
        const bool syn = header.GetFlags() & ns3::TcpHeader::SYN;
        if (packet->GetSize() == 0 && !syn) {
            return;
        }
        const auto end = header.GetSequenceNumber() + packet->GetSize() + syn;
        const auto [known, first] = m_ends.try_emplace(sender, end);
        if (!first && end <= known->second) {
            m_packets++;
            m_handshakes += syn;
        }
        known->second = std::max(known->second, end);
    }

    uint64_t Packets() const { return m_packets; }

    // Timers that fired: those of data, and those of SYN and SYN-ACK.
    uint64_t Timeouts() const { return Counts::timeouts + m_handshakes; }

  private:
    std::map<uint32_t, ns3::SequenceNumber32> m_ends;
    uint64_t m_packets = 0;
    uint64_t m_handshakes = 0;
};

} // namespace peer
