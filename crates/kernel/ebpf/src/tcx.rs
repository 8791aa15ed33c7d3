//! Programs of other owners that see a device's packets before any filter of `clsact` (tcx, kernel 6.6 and newer).

use std::collections::BTreeMap;

use libbpf_rs::query::ProgInfoIter;
use libbpf_sys::{
    BPF_TCX_EGRESS, BPF_TCX_INGRESS, bpf_prog_query_opts, bpf_prog_query_opts__bindgen_ty_1,
};

use crate::TcxProgram;
use crate::edge::Direction;

/// The most programs of one direction (`BPF_MPROG_MAX` of the kernel).
const MAX_PROGRAMS: usize = 64;

impl TcxProgram {
    /// The programs at the device with this number, in the network namespace of the thread, in the order in which
    /// packets reach them. Empty if the kernel has no tcx, or does not show it to this process.
    pub fn at(device: u32, direction: Direction) -> Vec<TcxProgram> {
        let found = query(device, direction);
        if found.is_empty() {
            return Vec::new();
        }
        let names: BTreeMap<u32, String> = ProgInfoIter::default()
            .map(|program| (program.id, program.name.to_string_lossy().into_owned()))
            .collect();
        let program = |(id, link): (u32, u32)| TcxProgram {
            id,
            name: names.get(&id).cloned().unwrap_or_default(),
            link: (link != 0).then_some(link),
            direction,
        };
        found.into_iter().map(program).collect()
    }
}

/// The numbers of programs, and of the links that hold them; zero where none does.
#[allow(unsafe_code)]
fn query(device: u32, direction: Direction) -> Vec<(u32, u32)> {
    let point = match direction {
        Direction::Ingress => BPF_TCX_INGRESS,
        Direction::Egress => BPF_TCX_EGRESS,
    };
    let (mut programs, mut links) = ([0u32; MAX_PROGRAMS], [0u32; MAX_PROGRAMS]);
    let mut options = bpf_prog_query_opts {
        sz: size_of::<bpf_prog_query_opts>() as _,
        prog_ids: programs.as_mut_ptr(),
        link_ids: links.as_mut_ptr(),
        __bindgen_anon_1: bpf_prog_query_opts__bindgen_ty_1 { count: MAX_PROGRAMS as u32 },
        ..Default::default()
    };
    // SAFETY: the options are of the size that they say, and both arrays have the room that they say; all outlive the call,
    // which keeps nothing of them.
    let ended =
        unsafe { libbpf_sys::bpf_prog_query_opts(device.cast_signed(), point, &raw mut options) };
    if ended != 0 {
        return Vec::new();
    }
    // SAFETY: both fields of the union are the same number.
    let count = unsafe { options.__bindgen_anon_1.count } as usize;
    programs.into_iter().zip(links).take(count).collect()
}
