//! Durations of TCP connections in classes that know each flow: `struct times` of programs/classes.h.

#[cfg(feature = "ebpf")]
use libbpf_rs::{MapCore, MapFlags, MapHandle};
#[cfg(feature = "ebpf")]
use shortflow_elements::Aggregate;
use shortflow_units::{Bytes, Duration};

#[cfg(feature = "ebpf")]
use super::layout::Remembered;
#[cfg(feature = "ebpf")]
use crate::{Error, error::Program};

/// How long the connections of a class took that have sent about as much, from the SYN with which their flow was new to their
/// FIN or RST, as the device was given them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EdgeTimes {
    /// How many took at most as long as each of [`BOUNDS`](Self::BOUNDS), and longer than the one before; of the last nothing
    /// is the bound.
    pub parts: [u64; EdgeTimes::BOUNDS.len() + 1],
    /// The sum of all, in nanoseconds.
    pub sum: u64,
    /// How many were forgotten before their end: they gave way to others, were silent for too long, or another connection of
    /// the same addresses and ports began.
    pub unfinished: u64,
}

impl EdgeTimes {
    /// Up to how long connections are counted together.
    pub const BOUNDS: [Duration; 15] = [
        Duration::from_millis(1),
        Duration::from_millis(2),
        Duration::from_millis(5),
        Duration::from_millis(10),
        Duration::from_millis(20),
        Duration::from_millis(50),
        Duration::from_millis(100),
        Duration::from_millis(200),
        Duration::from_millis(500),
        Duration::from_secs(1),
        Duration::from_secs(2),
        Duration::from_secs(5),
        Duration::from_secs(10),
        Duration::from_secs(20),
        Duration::from_secs(60),
    ];

    /// Up to how many bytes connections have sent that are counted together, from the IP header on; of the last group nothing is
    /// the bound.
    pub const SIZES: [Bytes; 3] = [Bytes(10_000), Bytes(100_000), Bytes(1_000_000)];

    /// The names of the groups.
    pub const NAMES: [&str; 4] = ["0 to 10 KB", "10 to 100 KB", "100 KB to 1 MB", "over 1 MB"];

    /// How many have ended.
    pub fn count(&self) -> u64 {
        self.parts.iter().sum()
    }

    /// The smallest bound that this share did not exceed; `None` without such a bound, or if no connection has ended.
    pub fn within(&self, percent: u64) -> Option<Duration> {
        let wanted = u128::from(self.count()) * u128::from(percent);
        let mut so_far = 0;
        let at = self.parts.iter().position(|part| {
            so_far += u128::from(*part);
            so_far > 0 && so_far * 100 >= wanted
        });
        EdgeTimes::BOUNDS.get(at?).copied()
    }

    /// Adds what a processor has counted.
    #[cfg(feature = "ebpf")]
    fn add(&mut self, own: &[u8]) {
        let words = own.chunks_exact(8).map(|word| {
            u64::from_ne_bytes(word.try_into().expect("a chunk is as long as was asked for"))
        });
        let fields = self.parts.iter_mut().chain([&mut self.sum, &mut self.unfinished]);
        fields.zip(words).for_each(|(field, word)| *field += word);
    }
}

/// The connections of this number of classes, in groups by bytes sent; `None` for a class that does not know flows.
/// From the maps with these names.
#[cfg(feature = "ebpf")]
pub(super) fn read(
    [classes, times]: [&MapHandle; 2],
    count: usize,
) -> Result<Vec<Option<[EdgeTimes; 4]>>, Error> {
    let reading = Program::Edge.at("reading the durations of connections");
    let class = |class: usize| {
        let described = classes.lookup(&(class as u32).to_ne_bytes(), MapFlags::ANY);
        let described = described.map_err(&reading)?.unwrap_or_default();
        if Remembered::parse(&described).by != Some(Aggregate::Flow) {
            return Ok(None);
        }
        let mut groups = [EdgeTimes::default(); 4];
        for (size, group) in groups.iter_mut().enumerate() {
            let key = ((class * EdgeTimes::NAMES.len() + size) as u32).to_ne_bytes();
            let each = times.lookup_percpu(&key, MapFlags::ANY).map_err(&reading)?;
            each.unwrap_or_default().iter().for_each(|own| group.add(own));
        }
        Ok(Some(groups))
    };
    (0..count).map(class).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_of_100_took_at_most_the_bound_of_the_part_in_which_the_last_of_them_is() {
        let mut times = EdgeTimes::default();
        assert_eq!(times.within(95), None);
        times.parts[3] = 19;
        times.parts[7] = 1;
        assert_eq!(times.within(50), Some(Duration::from_millis(10)));
        assert_eq!(times.within(95), Some(Duration::from_millis(10)));
        assert_eq!(times.within(96), Some(Duration::from_millis(200)));
        times.parts[15] = 20;
        assert_eq!((times.count(), times.within(95)), (40, None));
    }
}
