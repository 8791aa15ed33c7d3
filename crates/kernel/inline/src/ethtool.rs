//! Features of a device that hide packets from XDP, which are off while the router runs; and its queues.

use nix::errno::Errno;
use nix::libc;

/// `ETHTOOL_GFLAGS` and `ETHTOOL_SFLAGS` of linux/ethtool.h.
const GET_FLAGS: u32 = 0x25;
const SET_FLAGS: u32 = 0x26;

/// Flags of linux/ethtool.h: the device takes VLAN tags out of frames, and joins segments.
const RX_VLAN: u32 = 1 << 8;
const LRO: u32 = 1 << 15;

/// `ETHTOOL_GGRO` and `ETHTOOL_SGRO`: the kernel joins segments.
const GET_GRO: u32 = 0x2b;
const SET_GRO: u32 = 0x2c;

/// `ETHTOOL_GCHANNELS`.
const GET_CHANNELS: u32 = 0x3c;

/// `SIOCETHTOOL` of linux/sockios.h.
const SIOCETHTOOL: libc::c_ulong = 0x8946;

/// The features of a device as they were. They are restored when this is dropped.
#[derive(Debug)]
pub(crate) struct Offloads {
    /// The number of the device, which keeps it when it is renamed.
    device: u32,
    /// What has changed: the command that sets it, and the value before.
    before: Vec<(u32, u32)>,
}

impl Offloads {
    /// Switches off what hides packets. What a device does not have is off already.
    pub(crate) fn off(device: u32) -> Offloads {
        let mut offloads = Offloads { device, before: Vec::new() };
        offloads.clear(GET_FLAGS, SET_FLAGS, RX_VLAN | LRO);
        offloads.clear(GET_GRO, SET_GRO, 1);
        offloads
    }

    fn clear(&mut self, get: u32, set: u32, bits: u32) {
        let Some(name) = name_of(self.device) else { return };
        let Ok(before) = ask_value(&name, get, 0) else { return };
        if before & bits != 0 && ask_value(&name, set, before & !bits).is_ok() {
            self.before.push((set, before));
        }
    }
}

impl Drop for Offloads {
    fn drop(&mut self) {
        // A device that has gone needs nothing.
        let Some(name) = name_of(self.device) else { return };
        for (set, before) in self.before.drain(..) {
            let _ = ask_value(&name, set, before);
        }
    }
}

/// `ethtool_value` of linux/ethtool.h.
#[repr(C)]
struct Value {
    command: u32,
    data: u32,
}

/// `ethtool_channels` of linux/ethtool.h.
#[repr(C)]
#[derive(Default)]
struct Channels {
    command: u32,
    /// Receive, transmit, other and combined queues: the maximum of each, then how many are in use.
    max: [u32; 4],
    used: [u32; 4],
}

/// The number of receive queues in use; one if the device does not report it.
pub(crate) fn receive_queues(device: &str) -> u32 {
    let mut channels = Channels { command: GET_CHANNELS, ..Channels::default() };
    match ask(device, &mut channels) {
        Ok(()) => (channels.used[0] + channels.used[3]).max(1),
        Err(_) => 1,
    }
}

fn name_of(device: u32) -> Option<String> {
    let found = nix::net::if_::if_indextoname(device).ok()?;
    Some(found.to_string_lossy().into_owned())
}

fn ask_value(device: &str, command: u32, data: u32) -> Result<u32, Errno> {
    let mut value = Value { command, data };
    ask(device, &mut value)?;
    Ok(value.data)
}

/// Gives the kernel a request, which it may change.
#[allow(unsafe_code)]
fn ask<T>(device: &str, value: &mut T) -> Result<(), Errno> {
    let socket = std::net::UdpSocket::bind("127.0.0.1:0")
        .or_else(|_| std::net::UdpSocket::bind("0.0.0.0:0"))
        .map_err(|_| Errno::ENOTSOCK)?;
    // SAFETY: all zeros are an `ifreq`: an empty name, and a union of plain numbers.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (place, byte) in request.ifr_name.iter_mut().take(libc::IFNAMSIZ - 1).zip(device.bytes()) {
        *place = byte as libc::c_char;
    }
    request.ifr_ifru.ifru_data = std::ptr::from_mut(value).cast();
    let socket = std::os::fd::AsRawFd::as_raw_fd(&socket);
    // SAFETY: the descriptor is open, and the request and the value that it points to live until the kernel returns. The
    // kernel reads and writes no more than the structure of the command, which `T` is.
    let done = unsafe { libc::ioctl(socket, SIOCETHTOOL as _, &raw mut request) };
    Errno::result(done).map(|_| ())
}
