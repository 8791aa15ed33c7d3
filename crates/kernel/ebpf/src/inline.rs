//! Loads the program that hands packets of a bridge's port to a router in user space, and attaches it.

use std::os::fd::AsRawFd;

use libbpf_rs::{ErrorKind, Link, MapCore, MapFlags, Object};

use crate::error::Program;
use crate::{Error, built};

/// The program, as clang has built it.
static BUILT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/inline.bpf.o"));

/// What the program must know before it is loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InlineSettings {
    /// The length of the longest frame that the router can take, in bytes. Longer ones go to the bridge.
    pub max_frame: u32,
    /// How long the router may be silent, in nanoseconds. Then all frames go to the bridge.
    pub max_silence: u64,
    /// The Ethernet addresses of the bridge and of its ports, [at most so many](InlineProgram::MAX_OWN). Frames to them are
    /// for this machine.
    pub own: Vec<[u8; 6]>,
}

impl InlineSettings {
    /// As the program reads them.
    fn bytes(&self) -> Vec<u8> {
        let addresses = self.own.iter().take(InlineProgram::MAX_OWN).flatten().copied();
        let numbers =
            self.max_silence.to_ne_bytes().into_iter().chain(self.max_frame.to_ne_bytes());
        numbers.chain(addresses).collect()
    }
}

/// How frames lie in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    InPieces,
    InOnePiece,
}

impl Form {
    /// The name of its program.
    fn name(self) -> &'static str {
        match self {
            Form::InPieces => InlineProgram::NAMES[0],
            Form::InOnePiece => InlineProgram::NAMES[1],
        }
    }
}

/// The program at one device. It is there until this is dropped, and no longer than the process.
#[derive(Debug)]
pub struct InlineProgram {
    object: Object,
    form: Form,
    /// The program leaves the device when this is closed.
    link: Option<Link>,
}

impl InlineProgram {
    /// The names that the kernel lists for the program, one for each form of it (programs/inline.bpf.c).
    pub const NAMES: [&str; 2] = ["in_pieces", "in_one_piece"];

    /// The maximum number of receive queues of a device (`MAX_QUEUES` of programs/inline.bpf.c).
    pub const MAX_QUEUES: u32 = 64;

    /// The maximum number of own addresses (`OWN` of programs/inline.bpf.c).
    pub const MAX_OWN: usize = 16;

    /// Loads the program.
    ///
    /// # Errors
    /// If the machine lacks something.
    pub fn load(settings: &InlineSettings) -> Result<InlineProgram, Error> {
        // Kernels before 5.18 do not know the first form.
        InlineProgram::load_form(settings, Form::InPieces)
            .or_else(|_| InlineProgram::load_form(settings, Form::InOnePiece))
    }

    fn load_form(settings: &InlineSettings, form: Form) -> Result<InlineProgram, Error> {
        let mut opened = built::open(BUILT, Program::Inline)?;
        for mut program in opened.progs_mut() {
            let is_wanted = program.name() == form.name();
            program.set_autoload(is_wanted);
        }
        let bytes = settings.bytes();
        let mut constants = built::constants(&mut opened);
        let value = constants.initial_value_mut().expect("the settings are in what was built");
        value[..bytes.len()].copy_from_slice(&bytes);
        let object = opened.load().map_err(Program::Inline.at("loading it"))?;
        Ok(InlineProgram { object, form, link: None })
    }

    /// Hands the frames of a receive queue to an AF_XDP socket, which is bound to that queue.
    ///
    /// # Errors
    /// If the kernel refuses the socket.
    pub fn listen(&self, queue: u32, socket: &impl AsRawFd) -> Result<(), Error> {
        let sockets = built::map(&self.object, "sockets");
        let fd = socket.as_raw_fd().cast_unsigned();
        let done = sockets.update(&queue.to_ne_bytes(), &fd.to_ne_bytes(), MapFlags::ANY);
        done.map_err(Program::Inline.at("adding a socket"))
    }

    /// Attaches the program to the device with this number, by the driver if it supports XDP.
    ///
    /// # Errors
    /// If the kernel cannot, or another program is there.
    pub fn attach(&mut self, device: u32) -> Result<(), Error> {
        let program = built::program(&self.object, self.form.name());
        let link = program.attach_xdp(device.cast_signed());
        let refused = |error: libbpf_rs::Error| match error.kind() {
            ErrorKind::AlreadyExists => Error::XdpInUse,
            _ if format!("{error:#}").contains("os error 16") => Error::XdpInUse,
            _ => Program::Inline.at("attaching it to the device")(error),
        };
        self.link = Some(link.map_err(refused)?);
        Ok(())
    }

    /// Says that the router is alive at this time, in nanoseconds of the monotonic clock.
    pub fn is_alive(&self, at: u64) {
        let alive = built::map(&self.object, "alive");
        // If the kernel refuses this, the frames go to the bridge.
        let _ = alive.update(&0u32.to_ne_bytes(), &at.to_ne_bytes(), MapFlags::ANY);
    }

    /// The frames that were handed over; that went to the bridge for what they are; because they were too long; because the
    /// router was silent; and because no socket listens at their queue.
    pub fn frames(&self) -> [u64; 5] {
        let frames = built::map(&self.object, "frames");
        [0u32, 1, 2, 3, 4].map(|counter| {
            let by_cpu = frames.lookup_percpu(&counter.to_ne_bytes(), MapFlags::ANY);
            let by_cpu = by_cpu.ok().flatten().unwrap_or_default();
            let count =
                |bytes: &Vec<u8>| <[u8; 8]>::try_from(&bytes[..8]).map_or(0, u64::from_ne_bytes);
            by_cpu.iter().map(count).sum()
        })
    }
}
