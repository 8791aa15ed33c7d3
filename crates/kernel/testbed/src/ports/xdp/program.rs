//! The program that passes a device's packets to an AF_XDP socket: five instructions, loaded by bpf(2).

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use nix::errno::Errno;
use nix::libc;

/// Commands, kinds and flags of linux/bpf.h and linux/if_link.h.
const BPF_MAP_CREATE: libc::c_int = 0;
const BPF_MAP_UPDATE_ELEM: libc::c_int = 2;
const BPF_PROG_LOAD: libc::c_int = 5;
const BPF_LINK_CREATE: libc::c_int = 28;
const BPF_MAP_TYPE_XSKMAP: u32 = 17;
const BPF_PROG_TYPE_XDP: u32 = 6;
const BPF_XDP: u32 = 37;
const XDP_FLAGS_SKB_MODE: u32 = 2;

/// Packets of a device go to a socket as long as this lives; then the kernel takes program and map away.
#[derive(Debug)]
pub(super) struct Redirection {
    _link: OwnedFd,
}

impl Redirection {
    /// Passes packets of the first queue of a device in the namespace of the thread to a socket.
    pub(super) fn new(device: u32, socket: RawFd) -> Result<Redirection, Errno> {
        let map = bpf(
            BPF_MAP_CREATE,
            &MapCreate { kind: BPF_MAP_TYPE_XSKMAP, key_size: 4, value_size: 4, entries: 1 },
        )?;
        let code = instructions(map.as_raw_fd());
        let program = bpf(
            BPF_PROG_LOAD,
            &ProgramLoad {
                kind: BPF_PROG_TYPE_XDP,
                instructions: code.len() as u32,
                code: code.as_ptr() as u64,
                license: c"MIT OR Apache-2.0".as_ptr() as u64,
                ..ProgramLoad::default()
            },
        )?;
        let (key, value) = (0_u32, socket as u32);
        let element = Element {
            map: map.as_raw_fd() as u32,
            padding: 0,
            key: &raw const key as u64,
            value: &raw const value as u64,
            flags: 0,
        };
        call(BPF_MAP_UPDATE_ELEM, &element)?;
        let link = bpf(
            BPF_LINK_CREATE,
            &LinkCreate {
                program: program.as_raw_fd() as u32,
                device,
                attach: BPF_XDP,
                flags: XDP_FLAGS_SKB_MODE,
            },
        )?;
        Ok(Redirection { _link: link })
    }
}

/// `return bpf_redirect_map(map, ctx->rx_queue_index, XDP_DROP)`, as RFC 9669 encodes it.
fn instructions(map: RawFd) -> [u64; 6] {
    /// `bpf_redirect_map`.
    const REDIRECT_MAP: u32 = 51;
    /// Where `xdp_md` has the number of the queue.
    const QUEUE: u16 = 16;
    const XDP_DROP: u32 = 1;
    let encode = |code: u8, to: u8, from: u8, offset: u16, number: u32| {
        let mut bytes = [code, from << 4 | to, 0, 0, 0, 0, 0, 0];
        bytes[2..4].copy_from_slice(&offset.to_ne_bytes());
        bytes[4..].copy_from_slice(&number.to_ne_bytes());
        u64::from_ne_bytes(bytes)
    };
    [
        encode(0x61, 2, 1, QUEUE, 0),        // r2 = *(u32 *)(r1 + 16)
        encode(0x18, 1, 1, 0, map as u32),   // r1 = the map of this descriptor,
        encode(0, 0, 0, 0, 0),               //      in two instructions
        encode(0xb7, 3, 0, 0, XDP_DROP),     // r3 = what is done where nobody listens
        encode(0x85, 0, 0, 0, REDIRECT_MAP), // r0 = redirect_map(r1, r2, r3)
        encode(0x95, 0, 0, 0, 0),            // return r0
    ]
}

/// The parts of `union bpf_attr` that are used; the kernel takes the rest for zero.
#[repr(C)]
struct MapCreate {
    kind: u32,
    key_size: u32,
    value_size: u32,
    entries: u32,
}

#[repr(C)]
#[derive(Default)]
struct ProgramLoad {
    kind: u32,
    instructions: u32,
    code: u64,
    license: u64,
    log_level: u32,
    log_size: u32,
    log: u64,
}

#[repr(C)]
struct Element {
    map: u32,
    padding: u32,
    key: u64,
    value: u64,
    flags: u64,
}

#[repr(C)]
struct LinkCreate {
    program: u32,
    device: u32,
    attach: u32,
    flags: u32,
}

/// A command that gives a descriptor.
#[allow(unsafe_code)]
fn bpf<T>(command: libc::c_int, attributes: &T) -> Result<OwnedFd, Errno> {
    let made = call(command, attributes)?;
    // SAFETY: the kernel has just opened the descriptor, and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(made) })
}

#[allow(unsafe_code)]
fn call<T>(command: libc::c_int, attributes: &T) -> Result<RawFd, Errno> {
    // SAFETY: the kernel reads as many bytes as the attributes have, and what they point to lives until it returns.
    let done =
        unsafe { libc::syscall(libc::SYS_bpf, command, &raw const *attributes, size_of::<T>()) };
    Errno::result(done).map(|made| made as RawFd)
}
