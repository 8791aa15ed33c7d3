//! How a deployment stands.

use serde_json::{Value, json};

use crate::device::names;
use crate::error::Error;
use crate::memo::Memo;
use crate::observe::{Observed, Queue, Root};
use crate::tc::Tc;

/// How a device stands.
#[derive(Debug, Clone)]
pub struct DeviceStatus {
    /// Its name.
    pub device: String,
    /// What is deployed; none where it was begun and not finished.
    pub memo: Option<Memo>,
    /// The classes, those served first before others.
    pub classes: Vec<ClassStatus>,
    /// Packets of an earlier policy that still wait.
    pub left_over: u64,
}

/// What a class has done.
#[derive(Debug, Clone)]
pub struct ClassStatus {
    /// Which packets it is for.
    pub name: String,
    /// Its queue.
    pub queue: Queue,
}

impl DeviceStatus {
    /// How `device` stands; none where nothing is deployed.
    ///
    /// # Errors
    /// When the device is not there, or tc cannot be run or read.
    pub fn of(device: &str) -> Result<Option<DeviceStatus>, Error> {
        let observed = Tc::new(device).observe()?;
        Ok((observed.root == Root::Ours).then(|| DeviceStatus::from(device, &observed)))
    }

    /// How all devices stand on which something is deployed.
    ///
    /// # Errors
    /// When tc or ip cannot be run or read.
    pub fn all() -> Result<Vec<DeviceStatus>, Error> {
        let mut all = Vec::new();
        for device in names()? {
            match DeviceStatus::of(&device) {
                Ok(status) => all.extend(status),
                // It went away after it was named.
                Err(Error::Vanished { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(all)
    }

    fn from(device: &str, observed: &Observed) -> DeviceStatus {
        let named = observed.memo.iter().flat_map(|memo| &memo.queues);
        let named = named.map(|(handle, name)| (name.clone(), observed.queue(*handle)));
        let neighbours = ("ARP, neighbour discovery".to_owned(), observed.neighbours());
        let other = ("not told apart".to_owned(), observed.other());
        let classes = named.chain([neighbours, other]).filter_map(|(name, queue)| {
            let queue = queue?.clone();
            Some(ClassStatus { name, queue })
        });
        let old = observed.live().map(|live| observed.classes_of(live.other()));
        DeviceStatus {
            device: device.to_owned(),
            memo: observed.memo.clone(),
            classes: classes.collect(),
            left_over: old.into_iter().flatten().map(|(_, waiting)| waiting).sum(),
        }
    }

    /// As a person reads it.
    pub fn text(&self) -> String {
        let mut text = match &self.memo {
            Some(Memo { policy, role, rate, .. }) => {
                format!("{}: policy {policy:?}, role {role}, {rate}\n", self.device)
            }
            None => format!(
                "{}: a deployment was begun and not finished; packets flow unsorted\n  finish it with `shortflow \
                 reload`, or take it away with `shortflow undeploy`\n",
                self.device
            ),
        };
        let head = ["class", "queue", "packets", "bytes", "dropped", "marked", "waiting"];
        let rows = self.classes.iter().map(|ClassStatus { name, queue }| {
            let counts = [queue.packets, queue.bytes, queue.drops, queue.marks, queue.waiting];
            let texts = [name.clone(), queue.kind.clone()].into_iter();
            texts.chain(counts.map(|count| count.to_string())).collect::<Vec<_>>()
        });
        let rows: Vec<Vec<String>> =
            std::iter::once(head.map(str::to_owned).to_vec()).chain(rows).collect();
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
        let widths: Vec<usize> = (0..head.len()).map(|column| width(column).unwrap_or(0)).collect();
        for row in &rows {
            let cells =
                row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| match column {
                    0 | 1 => format!("{cell:<width$}"),
                    _ => format!("{cell:>width$}"),
                });
            let line = cells.collect::<Vec<_>>().join("  ");
            text += &format!("  {}\n", line.trim_end());
        }
        if self.left_over > 0 {
            text += &format!("  {} packets of the policy before still wait\n", self.left_over);
        }
        text
    }

    /// As a program reads it.
    pub fn json(&self) -> Value {
        let class = |ClassStatus { name, queue }: &ClassStatus| {
            json!({
                "class": name, "handle": format!("{:x}:", queue.handle), "queue": queue.kind,
                "packets": queue.packets, "bytes": queue.bytes, "dropped": queue.drops,
                "marked": queue.marks, "waiting": queue.waiting, "waiting_bytes": queue.waiting_bytes,
            })
        };
        let memo = self.memo.as_ref();
        json!({
            "device": self.device, "complete": memo.is_some(),
            "policy": memo.map(|memo| &memo.policy), "role": memo.map(|memo| &memo.role),
            "rate_bit_per_s": memo.map(|memo| memo.rate.bits_per_sec()),
            "classes": self.classes.iter().map(class).collect::<Vec<_>>(),
            "left_over": self.left_over,
        })
    }
}
