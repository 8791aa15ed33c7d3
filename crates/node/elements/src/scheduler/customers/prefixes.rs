//! The longest prefix of an address.

use rustc_hash::FxHashMap;
use shortflow_packet::{Address, Prefix};

/// Owners by prefix. Looks up an address once for each length that occurs, longest first.
#[derive(Debug, Clone, Default)]
pub(super) struct Prefixes {
    /// The owners of the prefixes of one version and length, by the first address; longest first.
    lengths: Vec<(Prefix, FxHashMap<Address, u32>)>,
}

impl Prefixes {
    /// Gives `prefix` to `owner`. Returns the owner that it already has.
    pub(super) fn insert(&mut self, prefix: Prefix, owner: u32) -> Option<u32> {
        let same =
            |other: &Prefix| (other.is_v4(), other.length()) == (prefix.is_v4(), prefix.length());
        let at = self.lengths.iter().position(|(other, _)| same(other)).unwrap_or_else(|| {
            let at = self.lengths.partition_point(|(other, _)| other.length() > prefix.length());
            self.lengths.insert(at, (prefix, FxHashMap::default()));
            at
        });
        let owners = &mut self.lengths[at].1;
        match owners.get(&prefix.network()) {
            Some(&before) => Some(before),
            None => {
                owners.insert(prefix.network(), owner);
                None
            }
        }
    }

    /// The owner of the longest prefix that contains `address`.
    #[inline]
    pub(super) fn owner(&self, address: Address) -> Option<u32> {
        let of_version = |prefix: &Prefix| prefix.is_v4() == address.as_v4().is_some();
        let of_length = |(prefix, owners): &(Prefix, FxHashMap<Address, u32>)| {
            let network = of_version(prefix).then(|| prefix.network_of(address))?;
            owners.get(&network).copied()
        };
        self.lengths.iter().find_map(of_length)
    }
}
