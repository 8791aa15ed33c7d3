//! The results, as text and as JSON.

use std::fmt::Write as _;

use serde_json::{Value, json};
use shortflow_packet::Dscp;
use shortflow_text::columns;
use shortflow_units::{Bytes, Rate};

use crate::class::Class;
use crate::class_separation::{ClassDelays, NEAR, RelativeDelay};
use crate::code_points::Arrival;
use crate::gain::{DeviceRate, Gain, Period};

/// The results of a [`Plan`](crate::Plan).
#[derive(Debug, Clone, PartialEq)]
pub struct Findings {
    /// With which code points packets arrived.
    pub code_points: Vec<Arrival>,
    /// The probed classes, with the delays of their probes beside long flows.
    pub classes: Vec<(Class, ClassDelays)>,
    /// The index of the long flows' class among `classes`.
    pub load: Option<usize>,
    /// The classes that no probe reaches.
    pub unreached: Vec<String>,
    /// Short transfers beside long flows.
    pub transfers: Option<Period>,
    /// The comparison with one queue in place of the policy.
    pub gain: Option<Gain>,
    /// The rate of the line, if known.
    pub rate: Option<Rate>,
    /// The most that the class of the long flows may send, if known.
    pub ceiling: Option<Rate>,
    /// The size of a short transfer.
    pub size: Bytes,
    /// The number of long flows.
    pub flows: usize,
}

impl Findings {
    /// Whether the policy does its job: code points survive, each class waits for a different time than the load,
    /// and short transfers do not become slower.
    pub fn holds(&self) -> bool {
        let survive = self.code_points.iter().all(Arrival::survives);
        let delays = self.classes.iter().enumerate().all(|(at, (_, delays))| {
            Some(at) == self.load
                || matches!(delays.verdict(), RelativeDelay::Faster | RelativeDelay::Slower)
        });
        let gains =
            self.gain.as_ref().and_then(|gain| gain.ratio).is_none_or(|[_, low, _]| low <= 1.0);
        survive && delays && gains
    }

    /// The results as text for a terminal.
    pub fn text(&self) -> String {
        let mut text = self.code_points_text();
        if !self.classes.is_empty() {
            text += &self.classes_text();
        }
        text += &self.transfers_text();
        text
    }

    fn code_points_text(&self) -> String {
        let list = |code_points: &[Dscp]| match code_points {
            [] => "-".to_owned(),
            some => some.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
        };
        let head = ["code point", "at the peer", "back here", "", "lost"].map(str::to_owned);
        let row = |arrival: &Arrival| {
            let verdict = match (arrival.there.is_empty(), arrival.survives()) {
                (true, _) => "no answer",
                (_, true) => "survives",
                (_, false) => "changed",
            };
            let lost = arrival.sent - arrival.back;
            vec![
                arrival.written.to_string(),
                list(&arrival.there),
                list(&arrival.here),
                verdict.to_owned(),
                format!("{lost} of {}", arrival.sent),
            ]
        };
        let rows: Vec<_> =
            std::iter::once(head.to_vec()).chain(self.code_points.iter().map(row)).collect();
        let mut text = format!("Code points, without load\n{}", columns(&rows, 4));
        if self.code_points.iter().any(|arrival| !arrival.survives()) {
            text += "  A device before the peer changes code points: queues behind it do not see \
                yours.\n";
        }
        text
    }

    fn classes_text(&self) -> String {
        let head = [
            "class",
            "probed by",
            "idle",
            "median",
            "p95",
            "lost",
            "grade",
            "ratio to the load",
            "",
        ]
        .map(str::to_owned);
        let row = |(at, (class, delays)): (usize, &(Class, ClassDelays))| {
            let verdict = match delays.verdict() {
                _ if Some(at) == self.load => "the load",
                RelativeDelay::Faster => "waits less",
                RelativeDelay::Slower => "waits more",
                RelativeDelay::Alike => "waits as long as bulk",
                RelativeDelay::Unknown => "too few probes returned",
            };
            vec![
                class.name.clone(),
                class.probed_by(),
                seconds(delays.idle),
                seconds(delays.median),
                seconds(delays.p95),
                format!("{:.1} %", 100.0 * delays.loss),
                delays.grade().map_or_else(|| "-".to_owned(), |grade| grade.to_string()),
                delays.ratio.map_or_else(String::new, ratio),
                verdict.to_owned(),
            ]
        };
        let rows = self.classes.iter().enumerate().map(row);
        let rows: Vec<_> = std::iter::once(head.to_vec()).chain(rows).collect();
        let mut text =
            format!("\nClasses, round trip during {}\n{}", self.long_flows(), columns(&rows, 2));
        text += "  The grade says what the load adds to the mean round trip: A+ below 5 ms, A below 30, B below 60, \
            C below 200,\n  D below 400, else F.\n";
        if self.waits_for_pieces() {
            text += "  Packets served first wait for segments of up to 64 KB, which this machine \
                or its network card combines:\n  disable that with `ethtool -K DEVICE tso off gso \
                off gro off`, on this device and on those through which packets arrive.\n";
        }
        for class in &self.unreached {
            let _ = writeln!(text, "  {class}: not measured, since no probe reaches this class");
        }
        text
    }

    /// Whether classes that come first wait now and then about as long as one piece of many segments takes on the line.
    fn waits_for_pieces(&self) -> bool {
        const GSO_BITS: f64 = 65_536.0 * 8.0;
        let Some(rate) = self.rate else { return false };
        self.classes.iter().any(|(_, delays)| {
            let spread = delays.p95.zip(delays.min).map_or(0.0, |(p95, min)| p95 - min);
            delays.verdict() == RelativeDelay::Faster
                && spread > 0.5 * GSO_BITS / rate.bits_per_sec() as f64
        })
    }

    fn long_flows(&self) -> String {
        match self.flows {
            1 => "1 long flow".to_owned(),
            flows => format!("{flows} long flows"),
        }
    }

    fn transfers_text(&self) -> String {
        let mut text = String::new();
        if let Some(period) = &self.transfers {
            let times = &period.transfers.times;
            let _ = write!(
                text,
                "\nShort transfers of {} during {}\n  of {} transfers half took at most {}, 95 % \
                    at most {}; long flows together {:.2} Mbit/s\n",
                self.size,
                self.long_flows(),
                times.len(),
                seconds(period.median()),
                seconds(crate::class_separation::quantile(times, 0.95)),
                period.long_flows / 1e6,
            );
        }
        if let Some(gain) = &self.gain {
            text += &self.gain_text(gain);
        }
        if let Some(elsewhere) = self.queue_elsewhere() {
            text += &elsewhere.text(self.flows);
        }
        text
    }

    /// Where packets wait, if it is not at the device: long flows did not fill it, or no class waits less than they do
    /// while less arrives than the device may send.
    fn queue_elsewhere(&self) -> Option<QueueElsewhere> {
        let with_policy = self.gain.as_ref().map(|gain| gain.device);
        let DeviceRate { sent, resent } =
            with_policy.unwrap_or_else(|| self.transfers.as_ref()?.device)?;
        let ceiling = self.ceiling?.bits_per_sec() as f64;
        // What is sent again was lost behind the device.
        let arrived = sent - resent;
        let is_filled = sent >= FILLED * ceiling;
        let is_elsewhere = !is_filled || (self.waits_alike() && arrived < ceiling);
        let rate = rounded_down(BELOW * arrived);
        is_elsewhere.then_some(QueueElsewhere { sent, arrived, ceiling, is_filled, rate })
    }

    /// Whether each class waits about as long as that of the long flows.
    fn waits_alike(&self) -> bool {
        let mut others =
            self.classes.iter().enumerate().filter(|(at, _)| Some(*at) != self.load).peekable();
        others.peek().is_some()
            && others.all(|(_, (_, delays))| {
                delays.ratio.is_some_and(|[mean, ..]| (NEAR..=1.0 / NEAR).contains(&mean))
            })
    }

    fn gain_text(&self, gain: &Gain) -> String {
        let head = ["", "median", "p95", "not complete", "long flows"].map(str::to_owned);
        let row = |at: usize, name: &str| {
            vec![
                name.to_owned(),
                seconds(gain.medians[at]),
                seconds(gain.p95[at]),
                gain.failed[at].to_string(),
                format!("{:.2} Mbit/s", gain.long_flows[at] / 1e6),
            ]
        };
        let rows = [head.to_vec(), row(0, "with the policy"), row(1, "with one queue")];
        let verdict = match gain.ratio {
            Some(all @ [_, low, high]) => format!(
                "  With the policy a transfer takes {} times as long: {}.\n",
                ratio(all),
                match () {
                    () if high < 1.0 => "faster",
                    () if low > 1.0 => "slower",
                    () => "the difference is within chance",
                }
            ),
            None => "  Too few pairs for an interval.\n".to_owned(),
        };
        format!(
            "\nShort transfers of {} during {}, alternating\n{}{verdict}",
            self.size,
            self.long_flows(),
            columns(&rows, 1)
        )
    }

    /// The results as JSON.
    pub fn json(&self) -> Value {
        let names = |code_points: &[Dscp]| -> Vec<String> {
            code_points.iter().map(ToString::to_string).collect()
        };
        let arrival = |arrival: &Arrival| {
            json!({
                "written": arrival.written.to_string(), "there": names(&arrival.there),
                "back": names(&arrival.here), "sent": arrival.sent, "answered": arrival.back,
                "survives": arrival.survives(),
            })
        };
        let class = |(at, (class, delays)): (usize, &(Class, ClassDelays))| {
            json!({
                "class": class.name, "probed_by": class.probed_by(), "median_s": delays.median,
                "p95_s": delays.p95, "loss": delays.loss, "ratio": delays.ratio,
                "idle_mean_s": delays.idle, "mean_s": delays.mean, "added_s": delays.added(),
                "grade": delays.grade().map(|grade| grade.to_string()),
                "is_of_load": Some(at) == self.load,
            })
        };
        let classes: Vec<Value> = self.classes.iter().enumerate().map(class).collect();
        let transfers = self.transfers.as_ref().map(|period| {
            json!({
                "median_s": period.median(), "complete": period.transfers.times.len(),
                "failed": period.transfers.failed, "long_flows_bit_per_s": period.long_flows,
                "device_bit_per_s": period.device.map(|device| device.sent),
            })
        });
        let gain = self.gain.as_ref().map(|gain| {
            json!({
                "median_s": gain.medians, "p95_s": gain.p95, "failed": gain.failed,
                "long_flows_bit_per_s": gain.long_flows, "ratio": gain.ratio,
                "device_bit_per_s": gain.device.map(|device| device.sent),
            })
        });
        json!({
            "code_points": self.code_points.iter().map(arrival).collect::<Vec<_>>(),
            "classes": classes, "unreached": self.unreached, "transfers": transfers, "gain": gain,
            "ceiling_bit_per_s": self.ceiling.map(Rate::bits_per_sec),
            "suggested_rate_bit_per_s": self.queue_elsewhere().map(|one| one.rate.bits_per_sec()),
            "transfer_bytes": self.size.0, "long_flows": self.flows, "holds": self.holds(),
        })
    }
}

/// The part of its rate from which on a device counts as filled: short transfers and timers leave pauses.
const FILLED: f64 = 0.85;
/// The part of a line's rate that keeps the queue in front of it.
const BELOW: f64 = 0.95;

/// A queue behind the device, at a slower line.
struct QueueElsewhere {
    /// What the device sent, in bits per second.
    sent: f64,
    /// The same without what was sent again.
    arrived: f64,
    /// What it may send.
    ceiling: f64,
    /// Whether the long flows filled the device.
    is_filled: bool,
    /// The rate that lets packets wait at the device.
    rate: Rate,
}

impl QueueElsewhere {
    fn text(&self, flows: usize) -> String {
        let QueueElsewhere { sent, arrived, ceiling, is_filled, rate } = self;
        let [sent, arrived, ceiling] = [sent, arrived, ceiling].map(|rate| rate / 1e6);
        let remedy = format!(
            "Set a rate just below that line's: `shortflow reload` with `--rate '{rate}'`."
        );
        if *is_filled {
            return format!(
                "\n{arrived:.1} Mbit/s arrived meanwhile, of the {ceiling:.1} that the device may send, and each class \
                 waits as long as bulk: packets wait\n  elsewhere, at a slower line behind the device.\n  {remedy}\n"
            );
        }
        format!(
            "\nThe device sent {sent:.1} Mbit/s meanwhile, of the {ceiling:.1} that it may send: packets wait elsewhere, at a \
             slower line behind it.\n  {remedy} If nothing there is slower, let more flows fill the line: `--flows {}`.\n",
            4 * flows
        )
    }
}

/// A rate of two digits.
fn rounded_down(bits_per_sec: f64) -> Rate {
    let step = 10f64.powf(bits_per_sec.max(1.0).log10().floor() - 1.0).max(1.0);
    Rate::from_bits_per_sec(((bits_per_sec / step).floor() * step) as u64)
}

/// `0.31 (0.28 to 0.35)`.
fn ratio([mean, low, high]: [f64; 3]) -> String {
    let digits = |value: f64| if value < 0.1 { 3 } else { 2 };
    format!("{mean:.*} ({low:.*} to {high:.*})", digits(mean), digits(low), digits(high))
}

/// Milliseconds with three digits, or seconds.
fn seconds(value: Option<f64>) -> String {
    match value {
        None => "-".to_owned(),
        Some(value) if value < 0.01 => format!("{:.2} ms", 1e3 * value),
        Some(value) if value < 0.1 => format!("{:.1} ms", 1e3 * value),
        Some(value) if value < 1.0 => format!("{:.0} ms", 1e3 * value),
        Some(value) => format!("{value:.2} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::class::Way;
    use crate::transfers::Transfers;

    /// Findings at a device of 9 Mbit/s, where a class waits `ratio` times as long as the load.
    fn findings(ratio: f64, sent: f64, resent: f64) -> Findings {
        let class = |name: &str, ratio: Option<f64>| {
            let class = Class { name: name.to_owned(), code_point: Dscp::EF, way: Way::Datagram };
            let ratio = ratio.map(|ratio| [ratio, 0.98 * ratio, 0.999 * ratio]);
            let delays = ClassDelays {
                idle: Some(0.02),
                mean: Some(0.045),
                min: None,
                median: None,
                p95: None,
                loss: 0.0,
                ratio,
            };
            (class, delays)
        };
        Findings {
            code_points: Vec::new(),
            classes: vec![class("calls", Some(ratio)), class("rest", None)],
            load: Some(1),
            unreached: Vec::new(),
            transfers: Some(Period {
                transfers: Transfers { times: Vec::new(), failed: 0 },
                long_flows: sent,
                device: Some(DeviceRate { sent, resent }),
            }),
            gain: None,
            rate: None,
            ceiling: Some(Rate::from_bits_per_sec(9_000_000)),
            size: Bytes(20_000),
            flows: 4,
        }
    }

    #[test]
    fn a_line_a_little_slower_than_the_device_is_named_where_no_class_waits_less() {
        let suggested = |ratio, sent, resent| {
            findings(ratio, sent, resent).json()["suggested_rate_bit_per_s"].as_u64()
        };
        // 8.0 Mbit/s arrive: 95 % of them.
        assert_eq!(suggested(0.98, 8.4e6, 0.4e6), Some(7_600_000));
        assert_eq!(suggested(0.12, 8.4e6, 0.4e6), None, "the queue is at the device");
        assert_eq!(suggested(0.98, 9.1e6, 0.0), None, "all that the device may send arrives");
        assert_eq!(suggested(0.12, 4.0e6, 0.0), Some(3_800_000), "the device is not filled");
        let text = findings(0.98, 8.4e6, 0.4e6).text();
        assert!(text.contains("8.0 Mbit/s arrived meanwhile, of the 9.0"), "{text}");
        assert!(text.contains("`--rate '7.6 Mbit/s'`"), "{text}");
    }
}
