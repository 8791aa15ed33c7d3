//! The status line of the network.

use shortflow_rehearse::{Monitor, NetworkSnapshot, PortSnapshot, WatchedPort};
use shortflow_units::Duration;

/// The time of which the line tells: since the glance before the last, so that it is never short, not even when a key
/// has the line drawn at once.
#[derive(Debug)]
pub(crate) struct Window {
    from: NetworkSnapshot,
    last: NetworkSnapshot,
}

/// The minimum interval of two updates.
const MIN_INTERVAL: Duration = Duration::from_millis(450);

impl Window {
    /// From now on.
    pub(crate) fn new(monitor: &Monitor) -> Window {
        Window { from: monitor.last(), last: monitor.last() }
    }

    /// What is to be shown of it, in at most `width` columns.
    pub(crate) fn line(&mut self, monitor: &Monitor, hint: &str, width: usize) -> String {
        let now = monitor.last();
        if self.last.ports.is_empty() {
            // Nothing had been seen yet.
            (self.from, self.last) = (now.clone(), now.clone());
        }
        let line = line(monitor, &self.from, &now, hint, width);
        if now.at >= self.last.at + MIN_INTERVAL {
            self.from = std::mem::replace(&mut self.last, now);
        }
        line
    }
}

/// The status over the time between two updates, in at most `width` columns: the policy, then each port as far as it
/// fits, then the delay from host to host, then `hint`. A port shows the delay of a packet that arrives now, and the
/// number of waiting packets.
fn line(
    monitor: &Monitor,
    before: &NetworkSnapshot,
    now: &NetworkSnapshot,
    hint: &str,
    width: usize,
) -> String {
    let time = now.at.since(before.at.min(now.at));
    let delay = match now.delivered - before.delivered {
        0 => "delay –".to_owned(),
        count => {
            let took = now.took.saturating_sub(before.took);
            format!("delay {}", millis(took.as_secs_f64() / count as f64))
        }
    };
    let mut parts = vec![monitor.policy().to_owned(), delay];
    let columns = |parts: &[String]| parts.join(SEPARATOR).chars().count();
    let stands = before.ports.iter().zip(&now.ports);
    let ports = monitor.ports().iter().zip(stands);
    let mut ports = ports.map(|(port, (before, now))| of_port(port, before, now, time));
    // The first port comes before the hint, the hint before all other ports.
    parts.splice(1..1, ports.next());
    if !hint.is_empty() && columns(&parts) + SEPARATOR.len() + hint.chars().count() <= width {
        parts.push(hint.to_owned());
    }
    for (place, port) in (2..).zip(ports) {
        if columns(&parts) + SEPARATOR.len() + port.chars().count() > width {
            break;
        }
        parts.insert(place, port);
    }
    parts.join(SEPARATOR).chars().take(width).collect()
}

/// Between two parts.
const SEPARATOR: &str = "   ";

fn of_port(
    port: &WatchedPort,
    before: &PortSnapshot,
    now: &PortSnapshot,
    time: Duration,
) -> String {
    // Where counting began anew, as at the end of the warm-up, all of it is since then.
    let grown = |before: u64, now: u64| if now >= before { now - before } else { now };
    let arrived = grown(before.arrived, now.arrived);
    let dropped = grown(before.dropped, now.dropped);
    let busy = grown(before.busy.nanos(), now.busy.nanos());
    let share = |part: u64, of: u64| if of == 0 { 0.0 } else { 100.0 * part as f64 / of as f64 };
    let wait = 8.0 * now.queue.bytes.0 as f64 / port.rate.bits_per_sec() as f64;
    format!(
        "{} {}, {} pkt, loss {:.1} %, {:.0} % used",
        port.name,
        millis(wait),
        now.queue.packets,
        share(dropped, arrived).min(100.0),
        share(busy, time.nanos()).min(100.0)
    )
}

fn millis(seconds: f64) -> String {
    format!("{:.0} ms", 1000.0 * seconds)
}

#[cfg(test)]
mod tests {
    use shortflow_scenario::{Overrides, from_texts};
    use shortflow_units::{Bytes, Instant};

    use super::*;

    fn monitor() -> Monitor {
        let text = r#"
            duration = "1 s"
            hosts = { client = {}, server = {} }
            links.line = { between = ["client", "server"], rate = "8 Mbit/s", delay = "1 ms" }
            workloads.file.bulk = { from = "server", to = "client" }
        "#;
        let loaded = from_texts(&[("s.toml", text)], &Overrides::default()).unwrap();
        Monitor::new(vec![("Plain".to_owned(), loaded.points()[0].scenario.clone())])
    }

    fn snapshot(millis: u64, port: PortSnapshot, delivered: u64) -> NetworkSnapshot {
        let at = Instant::START + Duration::from_millis(millis);
        let took = Duration::from_millis(30 * delivered);
        NetworkSnapshot { at, ports: vec![PortSnapshot::default(), port], delivered, took }
    }

    fn port(arrived: u64, dropped: u64, busy: u64) -> PortSnapshot {
        let mut port = PortSnapshot { arrived, dropped, ..PortSnapshot::default() };
        port.busy = Duration::from_millis(busy);
        port
    }

    #[test]
    fn what_changed_is_told_port_by_port_as_far_as_there_is_room() {
        let before = snapshot(1000, port(100, 10, 900), 50);
        let mut now = snapshot(1500, port(300, 20, 1300), 60);
        now.ports[1].queue.packets = 24;
        now.ports[1].queue.bytes = Bytes(24_000);
        let message = "server->client 24 ms, 24 pkt, loss 5.0 %, 80 % used";
        let wide = line(&monitor(), &before, &now, "q quit", 200);
        assert_eq!(
            wide,
            format!(
                "Plain   client->server 0 ms, 0 pkt, loss 0.0 %, 0 % used   {message}   delay 30 ms   q quit"
            )
        );
        let narrow = line(&monitor(), &before, &now, "q quit", 100);
        let first = "Plain   client->server 0 ms, 0 pkt, loss 0.0 %, 0 % used   delay 30 ms";
        assert_eq!(narrow, format!("{first}   q quit"));
        assert_eq!(
            line(&monitor(), &before, &now, "q quit", 72),
            first,
            "a port is more than a hint"
        );
        assert_eq!(line(&monitor(), &before, &now, "q quit", 10).chars().count(), 10);
    }

    #[test]
    fn counters_that_began_anew_and_times_without_packets_do_no_harm() {
        let before = snapshot(1000, port(100, 10, 900), 50);
        let now = snapshot(1500, port(20, 1, 250), 50);
        let message = line(&monitor(), &before, &now, "", 200);
        assert!(message.contains("loss 5.0 %, 50 % used   delay –"), "{message}");
        let twice = line(&monitor(), &now, &now, "", 200);
        assert!(twice.contains("loss 0.0 %, 0 % used"), "{twice}");
    }
}
