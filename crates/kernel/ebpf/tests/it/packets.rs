//! Packets of all kinds: plain ones, cut ones, and such as nobody should send.

use shortflow_units::Rng;

/// Draws packets of Ethernet; of flows that last, half of them.
pub(crate) struct Packets {
    rng: Rng,
    /// Packets that came not long ago.
    recent: Vec<Vec<u8>>,
}

/// How many flows last at the same time.
const RECENT: u64 = 32;

/// Kinds of extension headers, and one that is none.
const EXTENSIONS: [u8; 10] = [0, 43, 44, 51, 60, 135, 139, 140, 253, 59];

impl Packets {
    pub(crate) fn new(seed: u64) -> Packets {
        Packets { rng: Rng::stream(seed, "packets"), recent: vec![Vec::new(); RECENT as usize] }
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.rng.below(bound)
    }

    fn byte(&mut self) -> u8 {
        self.below(256) as u8
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    fn pick<T: Copy>(&mut self, among: &[T]) -> T {
        among[self.below(among.len() as u64) as usize]
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.byte()).collect()
    }

    /// Some packet: of 16 one has bytes changed at random, and another one is cut short.
    pub(crate) fn any(&mut self) -> Vec<u8> {
        let place = self.below(RECENT) as usize;
        if !self.recent[place].is_empty() && self.one_in(2) {
            return self.recent[place].clone();
        }
        let packet = self.changed();
        // A kernel gives no packet to a program by hand whose header of IP is not there.
        let min = match packet[12..14] {
            [0x08, 0x00] => 34,
            [0x86, 0xdd] => 54,
            _ => 15,
        };
        if packet.len() < min {
            return self.any();
        }
        if self.one_in(4) {
            self.recent[place].clone_from(&packet);
        }
        packet
    }

    fn changed(&mut self) -> Vec<u8> {
        let mut packet = self.whole();
        if self.one_in(16) {
            for _ in 0..=self.below(4) {
                let at = 12 + self.below(packet.len() as u64 - 12) as usize;
                packet[at] = self.byte();
            }
        }
        if self.one_in(16) {
            packet.truncate(14 + self.below(packet.len() as u64 - 14) as usize);
        }
        packet
    }

    fn whole(&mut self) -> Vec<u8> {
        let mut packet = self.bytes(12);
        // Addresses of hosts: what is sent to groups is no other packet.
        packet[0] = 0x02;
        if self.one_in(8) {
            for _ in 0..=self.below(3) {
                let kind = self.pick(&[[0x81, 0x00], [0x88, 0xa8], [0x91, 0x00]]);
                packet.extend(kind);
                packet.extend(self.bytes(2));
            }
        }
        match self.below(16) {
            0 => packet.extend([0x08, 0x06, 0, 1, 8, 0, 6, 4, 0, 1]),
            1..8 => {
                packet.extend([0x86, 0xdd]);
                packet.extend(self.ipv6());
            }
            _ => {
                packet.extend([0x08, 0x00]);
                packet.extend(self.ipv4());
            }
        }
        packet
    }

    fn ipv4(&mut self) -> Vec<u8> {
        let words = if self.one_in(8) { self.below(16) as u8 } else { 5 };
        let (protocol, payload) = self.payload(4);
        let length = 4 * usize::from(words.max(5)) + payload.len();
        let fragment: u16 = if self.one_in(8) { self.below(0x4000) as u16 } else { 0x4000 };
        let mut header = vec![0x40 | words, self.byte()];
        header.extend((length as u16).to_be_bytes());
        header.extend(self.bytes(2));
        header.extend(fragment.to_be_bytes());
        header.extend([64, protocol, 0, 0]);
        for _ in 0..2 {
            header.extend([10, self.below(2) as u8, 0, self.below(8) as u8]);
        }
        header.resize(4 * usize::from(words.max(5)), 1);
        let sum = checksum(&header);
        header[10..12].copy_from_slice(&sum.to_be_bytes());
        header.extend(payload);
        header
    }

    fn ipv6(&mut self) -> Vec<u8> {
        let (next, payload) = self.payload(6);
        let mut header = vec![0x60 | self.below(16) as u8, self.byte(), self.byte(), self.byte()];
        header.extend((payload.len() as u16).to_be_bytes());
        header.extend([next, 64]);
        for _ in 0..2 {
            header.extend([0xfd, self.below(2) as u8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
            header.push(self.below(8) as u8);
        }
        header.extend(payload);
        header
    }

    /// What follows the header of IP, and its protocol: with extension headers now and then, and up to 1400 bytes.
    fn payload(&mut self, version: u8) -> (u8, Vec<u8>) {
        let protocol = self.pick(&[6, 6, 6, 17, 17, 1, 58, 50, 132, 33, 136, 59]);
        let mut transport = Vec::new();
        for _ in 0..2 {
            let port: u16 = self.pick(&[80, 443, 22, 5004, 50_000]);
            transport.extend((port + self.below(3) as u16).to_be_bytes());
        }
        transport.extend(self.bytes(8));
        transport.extend([0x50, 0x10]);
        let rest = if self.one_in(2) { 0 } else { self.below(1386) as usize };
        transport.resize(14 + 6 + rest, 0);
        let (mut next, mut all) = (protocol, transport);
        let longest = self.pick(&[1, 1, 1, 3, 3, 3, 3, 11]);
        let chain = self.below(longest);
        for _ in 0..chain {
            let kind = if version == 4 { 51 } else { self.pick(&EXTENSIONS) };
            let units = self.below(3) as u8;
            let length = match kind {
                44 => 8,
                51 => (usize::from(units) + 2) * 4,
                _ => (usize::from(units) + 1) * 8,
            };
            let mut header = vec![next, units, 0, u8::from(self.one_in(2))];
            if kind == 44 && self.one_in(2) {
                header[2..4].copy_from_slice(&self.below(1 << 16).to_be_bytes()[6..]);
            }
            header.resize(length, 0);
            header.extend(all);
            (next, all) = (kind, header);
        }
        (next, all)
    }
}

pub(crate) fn checksum(header: &[u8]) -> u16 {
    let words = header.chunks(2).map(|two| u32::from(u16::from_be_bytes([two[0], two[1]])));
    let sum: u32 = words.sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    !((sum & 0xffff) + (sum >> 16)) as u16
}
