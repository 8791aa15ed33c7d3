//! The delay of a path that carries nothing else.

use crate::model::Scenario;

impl Scenario {
    /// The mean seconds that a workload's datagrams of mean size take over their idle path, one way: at each line the time of
    /// the packet with its link layer, and the propagation. `None` over TCP.
    pub fn idle_delay(&self, workload: usize) -> Option<f64> {
        let workload = &self.workloads[workload];
        let traffic = workload.kind.traffic();
        traffic.datagrams()?;
        let offers = traffic.offers(&workload.tcp)?;
        let pairs: Vec<_> = offers.iter().map(|offer| (offer.from, offer.to)).collect();
        let packets: f64 = offers.iter().map(|offer| offer.packets).sum();
        let of_all: f64 = offers
            .iter()
            .zip(self.ways(&pairs))
            .filter(|(offer, _)| offer.packets > 0.0)
            .map(|(offer, way)| {
                let size = offer.bytes / offer.packets;
                offer.packets * way.iter().map(|line| self.idle_time(*line, size)).sum::<f64>()
            })
            .sum();
        (packets > 0.0).then(|| of_all / packets)
    }

    /// The seconds that a packet takes over an idle line: forward, then back, in the order of links.
    fn idle_time(&self, line: usize, size: f64) -> f64 {
        let link = &self.links[line / 2];
        let line = if line.is_multiple_of(2) { &link.forward } else { &link.back };
        line.link_layer.mean_wire_size(size) / line.rate.bytes_per_sec() + line.delay.as_secs_f64()
    }
}
