//! The delay of a path that carries nothing else.

use crate::model::{Line, Scenario};
use crate::workloads::Offer;

impl Scenario {
    /// The mean seconds that a workload's datagrams of mean size take over their idle path, one way. `None` over TCP.
    pub fn idle_delay(&self, workload: usize) -> Option<f64> {
        let (packets, delays) = self.idle_delays_of(workload)?;
        let all: f64 = packets.iter().sum();
        let weighted = packets.iter().zip(delays).map(|(packets, delay)| packets * delay);
        (all > 0.0).then(|| weighted.sum::<f64>() / all)
    }

    /// The same of each stream of datagrams, in the order of workloads and their streams.
    pub fn idle_delays(&self) -> Vec<f64> {
        let each = (0..self.workloads.len()).filter_map(|workload| self.idle_delays_of(workload));
        each.flat_map(|(_, delays)| delays).collect()
    }

    /// The packets per second of each stream of a workload, and what one of mean size takes over its idle path: at each line
    /// the time of the packet with its link layer, and the propagation.
    fn idle_delays_of(&self, workload: usize) -> Option<(Vec<f64>, Vec<f64>)> {
        let workload = &self.workloads[workload];
        let traffic = workload.kind.traffic();
        traffic.datagrams()?;
        let offers = traffic.offers(&workload.tcp)?;
        let pairs: Vec<_> = offers.iter().map(|offer| (offer.from, offer.to)).collect();
        let time = |(offer, way): (&Offer, &Vec<usize>)| {
            let size = offer.bytes / offer.packets;
            way.iter().map(|line| idle_time(self.line(*line), size)).sum()
        };
        let ways = self.ways(&pairs);
        let packets = offers.iter().map(|offer| offer.packets).collect();
        Some((packets, offers.iter().zip(&ways).map(time).collect()))
    }

    /// A line by its number: forward, then back, in the order of links.
    fn line(&self, number: usize) -> &Line {
        let link = &self.links[number / 2];
        if number.is_multiple_of(2) { &link.forward } else { &link.back }
    }
}

/// The seconds that a packet takes over an idle line, at its highest rate.
fn idle_time(line: &Line, size: f64) -> f64 {
    let bytes = line.link_layer.mean_wire_size(size);
    bytes / line.max_rate().bytes_per_sec() + line.delay.as_secs_f64()
}
