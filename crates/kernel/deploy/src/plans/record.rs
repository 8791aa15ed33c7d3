//! The record of plans on a device: a file, since the kernel does not keep names of customers.
//!
//! It is beside the records of other deployments, in a folder that the machine empties when it starts, as the kernel forgets
//! classes then.

use serde_json::{Value, json};
use shortflow_files::{Dir, write};
use shortflow_plans::{CustomerQueue, Direction, Prefix};
use shortflow_units::Rate;

use super::classes::{Class, Kind};
use crate::device::index_of;
use crate::error::Error;
use crate::run_folder::{file_name, folders, own_folder};

/// How the name of its file ends.
const PLANS: &str = "plans";
/// The most bytes of it.
const MAX_BYTES: u64 = 64 << 20;
const VERSION: u64 = 1;

/// What was deployed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) name: String,
    pub(crate) direction: Direction,
    pub(crate) queue: CustomerQueue,
    /// Whether `clsact` was there before.
    pub(crate) has_found_place: bool,
    /// Whether the device has all of it; not so while it is changed.
    pub(crate) is_complete: bool,
    pub(crate) classes: Vec<Class>,
}

impl Record {
    pub(crate) fn save(&self, device: &str) -> Result<(), Error> {
        let failed =
            |source| Error::Machine { what: "the record of the plans cannot be written", source };
        let folder = own_folder(&folders())?;
        let index =
            index_of(device).ok_or_else(|| Error::Vanished { device: device.to_owned() })?;
        let name = file_name(&index.to_string(), PLANS).map_err(failed)?;
        write(&folder, name, 0o600, self.text().as_bytes()).map_err(failed)
    }

    /// That of a device; none where nothing is kept, or this user may not read it.
    pub(crate) fn read(device: &str) -> Option<Record> {
        let name = file_name(&index_of(device)?.to_string(), PLANS).ok()?;
        let folders = folders().into_iter().filter_map(|folder| Dir::open(&folder).ok());
        let mut texts = folders.filter_map(|folder| folder.read_text(&name, MAX_BYTES).ok());
        Record::parse(&texts.next()?)
    }

    /// Forgets that of a device.
    pub(crate) fn forget(device: &str) {
        let name = index_of(device).and_then(|index| file_name(&index.to_string(), PLANS).ok());
        for folder in folders().into_iter().filter_map(|folder| Dir::open(&folder).ok()) {
            // One that stays is of a device without our classes, and is not read.
            let _ = name.as_ref().map(|name| folder.remove_file(name));
        }
    }

    fn text(&self) -> String {
        let kind = |kind| match kind {
            Kind::Line => "line",
            Kind::Unknown => "unknown",
            Kind::Site => "site",
            Kind::Customer => "customer",
        };
        let class = |class: &Class| {
            let prefixes: Vec<String> = class.prefixes.iter().map(Prefix::to_string).collect();
            let (floor, ceiling) = (class.floor.bits_per_sec(), class.ceiling.bits_per_sec());
            json!([
                class.minor,
                class.parent,
                kind(class.kind),
                class.name,
                floor,
                ceiling,
                prefixes
            ])
        };
        let classes: Vec<Value> = self.classes.iter().map(class).collect();
        json!({
            "version": VERSION, "name": self.name, "direction": self.direction.name(),
            "queue": self.queue.name(),
            "has_found_place": self.has_found_place, "is_complete": self.is_complete, "classes": classes,
        })
        .to_string()
    }

    fn parse(text: &str) -> Option<Record> {
        let value: Value = serde_json::from_str(text).ok()?;
        if value["version"] != VERSION {
            return None;
        }
        let named = |direction: &Direction| value["direction"] == direction.name();
        Some(Record {
            name: value["name"].as_str()?.to_owned(),
            direction: Direction::ALL.into_iter().find(named)?,
            queue: CustomerQueue::ALL.into_iter().find(|queue| value["queue"] == queue.name())?,
            has_found_place: value["has_found_place"].as_bool()?,
            is_complete: value["is_complete"].as_bool()?,
            classes: value["classes"].as_array()?.iter().map(class).collect::<Option<_>>()?,
        })
    }
}

fn class(value: &Value) -> Option<Class> {
    let number = |at: usize| u16::try_from(value[at].as_u64()?).ok();
    let rate = |at: usize| Some(Rate::from_bits_per_sec(value[at].as_u64()?));
    let kind = match value[2].as_str()? {
        "line" => Kind::Line,
        "unknown" => Kind::Unknown,
        "site" => Kind::Site,
        "customer" => Kind::Customer,
        _ => return None,
    };
    let prefixes = value[6].as_array()?.iter().map(|prefix| prefix.as_str()?.parse().ok());
    Some(Class {
        minor: number(0)?,
        parent: number(1)?,
        kind,
        name: value[3].as_str()?.to_owned(),
        floor: rate(4)?,
        ceiling: rate(5)?,
        prefixes: prefixes.collect::<Option<_>>()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let class = |minor, kind, name: &str, prefixes: &[&str]| Class {
            minor,
            parent: minor - 1,
            kind,
            name: name.to_owned(),
            floor: Rate::from_bits_per_sec(8_000),
            ceiling: Rate::from_bits_per_sec(400_000_000_000),
            prefixes: prefixes.iter().map(|prefix| prefix.parse().unwrap()).collect(),
        };
        let record = Record {
            name: "a \"name\"\n".to_owned(),
            direction: Direction::Up,
            queue: CustomerQueue::Fifo,
            has_found_place: true,
            is_complete: false,
            classes: vec![
                class(1, Kind::Line, "", &[]),
                class(2, Kind::Unknown, "", &[]),
                class(3, Kind::Site, "tower", &[]),
                class(65_000, Kind::Customer, "Smith, J", &["192.0.2.0/24", "2001:db8::/56"]),
            ],
        };
        assert_eq!(Record::parse(&record.text()), Some(record.clone()));
        assert_eq!(Record::parse(&record.text().replace("\"version\":1", "\"version\":2")), None);
        assert_eq!(Record::parse("{"), None);
    }
}
