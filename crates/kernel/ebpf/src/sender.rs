//! Loads the program that observes senders, and attaches it to devices.

use std::os::fd::AsFd;
use std::path::Path;

use libbpf_rs::{TC_EGRESS, TcHook};

use crate::error::Program;
use crate::{Error, Link, built};

/// The program, as clang has built it.
static BUILT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/sender.bpf.o"));

/// Its name there, by the header of the device's packets.
fn name(link: Link) -> &'static str {
    match link {
        Link::None => "sender",
        Link::Ethernet => "sender_on_ethernet",
    }
}

/// Where a kernel describes its types.
const TYPES: &str = "/sys/kernel/btf/vmlinux";

/// The program that writes a [`Record`](crate::Record) before each packet, loaded into the kernel.
#[derive(Debug)]
pub struct SenderProgram(libbpf_rs::Object);

impl SenderProgram {
    /// Loads the program.
    ///
    /// # Errors
    /// When the machine lacks something.
    pub fn load() -> Result<SenderProgram, Error> {
        if !Path::new(TYPES).exists() {
            return Err(Error::NoTypes(Program::Sender));
        }
        let loaded = built::open(BUILT, Program::Sender)?.load();
        loaded.map(SenderProgram).map_err(Program::Sender.at("loading it"))
    }

    /// Lets it see all that the device of this number sends, in the network namespace of the thread, for as long
    /// as the device is there. The record comes after the header of the link layer.
    ///
    /// # Errors
    /// When the kernel has no place for programs at devices.
    pub fn attach(&self, device: u32, link: Link) -> Result<(), Error> {
        let program = built::program(&self.0, name(link));
        let mut hook = TcHook::new(program.as_fd());
        hook.ifindex(device.cast_signed()).attach_point(TC_EGRESS).handle(1).priority(1);
        hook.create().map_err(Program::Sender.at("adding clsact to the device"))?;
        hook.attach().map_err(Program::Sender.at("attaching it to the device"))?;
        Ok(())
    }
}
