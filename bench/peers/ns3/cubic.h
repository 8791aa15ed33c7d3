// CUBIC as RFC 9438 has it, for ns-3's TCP.

#pragma once

#include "ns3/nstime.h"
#include "ns3/simulator.h"
#include "ns3/tcp-congestion-ops.h"
#include "ns3/tcp-socket-state.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace peer {

// With fast convergence and the Reno-friendly region. Slow start is that of RFC 5681: a segment for
// each acknowledgement. For senders that always have data: silence (§5.8) counts as time of growth.
class Cubic : public ns3::TcpCongestionOps {
  public:
    using State = ns3::TcpSocketState;

    static ns3::TypeId GetTypeId() {
        static const auto id = ns3::TypeId("peer::Cubic")
                                   .SetParent<ns3::TcpCongestionOps>()
                                   .AddConstructor<Cubic>();
        return id;
    }

    std::string GetName() const override { return "Cubic"; }

    // RFC 6298 §2.3.
    void PktsAcked(ns3::Ptr<State>, uint32_t, const ns3::Time& rtt) override {
        const double sample = rtt.GetSeconds();
        m_rtt = m_rtt > 0 ? m_rtt + (sample - m_rtt) / 8 : sample;
    }

    void IncreaseWindow(ns3::Ptr<State> state, uint32_t acknowledged) override {
        const double mss = state->m_segmentSize;
        if (state->m_cWnd != static_cast<uint32_t>(m_window * mss)) {
            m_window = state->m_cWnd / mss; // recovery or a timeout has set it
        }
        // ns-3 passes the acknowledgement that ends recovery with all that recovery brought: the
        // window is ssthresh after it (RFC 6582 §3.2, RFC 6675 §5), and avoidance begins there.
        if (std::exchange(m_ends_recovery, false)) {
            return;
        }
        if (state->m_cWnd < state->m_ssThresh) {
            m_window += std::min<uint32_t>(acknowledged, 1);
        } else {
            AvoidCongestion(acknowledged);
        }
        state->m_cWnd = static_cast<uint32_t>(m_window * mss);
    }

    uint32_t GetSsThresh(ns3::Ptr<const State> state, uint32_t flight) override {
        m_avoids = false;
        m_prior = 1.0 * state->m_cWnd / state->m_segmentSize;
        // §4.7, fast convergence.
        m_plateau = m_prior < m_plateau ? m_prior * (1 + decrease) / 2 : m_prior;
        // §4.6. Whole segments are in flight; the window's fraction is not.
        const uint32_t segments = flight / state->m_segmentSize;
        return std::max(segments * decrease, 2.0) * state->m_segmentSize;
    }

    // ns-3 tells of a timeout when it has asked for the threshold.
    void CongestionStateSet(ns3::Ptr<State> state, const State::TcpCongState_t next) override {
        m_ends_recovery = state->m_congState == State::CA_RECOVERY && next == State::CA_OPEN;
        if (next == State::CA_LOSS) {
            m_avoids = false;
            m_plateau = 0; // §4.8: the first stage after it has its plateau where it begins
        }
    }

    ns3::Ptr<ns3::TcpCongestionOps> Fork() override { return ns3::CopyObject<Cubic>(this); }

  private:
    static constexpr double scale = 0.4;                                       // C
    static constexpr double decrease = 0.7;                                    // β
    static constexpr double reno_increase = 3 * (1 - decrease) / (1 + decrease); // α

    // §4.2: where a stage of congestion avoidance begins.
    void BeginStage(double now) {
        m_avoids = true;
        m_began = now;
        m_plateau = std::max(m_plateau, m_window);
        m_until_plateau = std::cbrt((m_plateau - m_window) / scale);
        m_reno = m_window;
    }

    // W_cubic, so many seconds after the stage began.
    double Curve(double after) const {
        const double from_plateau = after - m_until_plateau;
        return scale * from_plateau * from_plateau * from_plateau + m_plateau;
    }

    void AvoidCongestion(double acknowledged) {
        const double now = ns3::Simulator::Now().GetSeconds();
        if (!m_avoids) {
            BeginStage(now);
        }
        const double after = now - m_began;
        // §4.3.
        m_reno += (m_reno < m_prior ? reno_increase : 1) * acknowledged / m_window;
        if (Curve(after) < m_reno) {
            m_window = std::max(m_window, m_reno);
            return;
        }
        // §4.4 and §4.5; an acknowledgement of two segments counts as two.
        const double target = std::clamp(Curve(after + m_rtt), m_window, 1.5 * m_window);
        m_window = std::min(m_window + acknowledged * (target - m_window) / m_window, target);
    }

    // Windows are in segments, as in the RFC, and times in seconds.
    double m_window = 0;        // cwnd, with the fraction that ns-3's bytes lack
    double m_rtt = 0;           // smoothed
    double m_plateau = 0;       // W_max; zero after a timeout
    double m_prior = 0;         // cwnd_prior
    double m_reno = 0;          // W_est
    double m_began = 0;         // the stage under way
    double m_until_plateau = 0; // K
    bool m_avoids = false;      // whether a stage is under way
    bool m_ends_recovery = false;
};

} // namespace peer
