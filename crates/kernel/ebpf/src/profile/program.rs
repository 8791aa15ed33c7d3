//! Loads the programs of a profile, finds them again, and takes them away.

use std::fs;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use libbpf_rs::query::MapInfoIter;
use libbpf_rs::{
    Iter, IterOpts, MapCore, MapFlags, MapHandle, MapType, Object, OpenMapMut, OpenObject,
    Program as Loaded,
};

use super::layout::name_bytes;
use super::{TcpFilter, TcpHook, TcpParts, TcpSettings, TcpState, TcpWalk};
use crate::Error;
use crate::built;
use crate::cgroup;
use crate::error::Program;

/// The programs, as clang has built them.
static BUILT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/profile.bpf.o"));

/// The maps that a profile consists of, the congestion control first.
const MAPS: [&str; 5] = ["profile_control", "settings", "profile", "round_trips", "formers"];
const CONTROL: usize = 0;
const SETTINGS: usize = 1;
const PROFILE: usize = 2;
/// The constants that say which connections are meant.
const FILTER: &str = ".rodata.filter";

/// The offset of the name in `struct tcp_congestion_ops` of programs/kernel.h, behind five functions.
const NAME: usize = 5 * 8;

/// The state of a control that the kernel has registered (`BPF_STRUCT_OPS_STATE_INUSE`).
const IN_USE: u32 = 1;

/// Where a kernel describes its types.
const TYPES: &str = "/sys/kernel/btf/vmlinux";
/// The congestion control of connections that choose nothing else.
const USUAL: &str = "/proc/sys/net/ipv4/tcp_congestion_control";
/// The network namespace of the thread.
const NAMESPACE: &str = "/proc/thread-self/ns/net";

/// A profile in the kernel, and which connections it is for. It stays in the kernel when this is dropped.
#[derive(Debug)]
pub struct TcpProfile {
    name: String,
    filter: TcpFilter,
    /// In the order of [`MAPS`].
    maps: Vec<MapHandle>,
    hooks: [Option<u32>; TcpHook::ALL.len()],
}

impl TcpProfile {
    /// Gives the kernel a congestion control of this name for the connections of the thread's network namespace. Nothing has
    /// it yet.
    ///
    /// # Errors
    /// When the machine lacks something, or a control of this name is there.
    pub fn install(
        name: &str,
        filter: &TcpFilter,
        settings: &TcpSettings,
    ) -> Result<TcpProfile, Error> {
        if !Path::new(TYPES).exists() {
            return Err(Error::NoTypes(Program::Profile));
        }
        let mut opened = open(name, filter)?;
        only(&mut opened, |program| program.starts_with("profile_"));
        let mut control = opened.maps_mut().find(|map| map.name() == MAPS[CONTROL]);
        let value = control.as_mut().and_then(OpenMapMut::initial_value_mut);
        let value = value.expect("the control is in what was built");
        value[NAME..][..16].copy_from_slice(&name_bytes(name));
        let mut object = load(opened)?;
        let maps = MAPS.iter().map(|name| handle(&object, name)).collect::<Result<Vec<_>, _>>()?;
        let profile =
            TcpProfile { name: name.to_owned(), filter: filter.clone(), maps, hooks: [None; _] };
        profile.change(settings)?;
        let mut control = object.maps_mut().find(|map| map.name() == MAPS[CONTROL]);
        let control = control.as_mut().expect("the control is in what was built");
        let mut link =
            control.attach_struct_ops().map_err(Program::Profile.at("registering it"))?;
        // It stays when the process ends.
        link.disconnect();
        Ok(profile)
    }

    /// The one that is in the kernel in these parts; `None` where the kernel does not have them any more.
    ///
    /// # Errors
    /// When the kernel does not let the process look.
    pub fn find(
        name: &str,
        filter: &TcpFilter,
        parts: &TcpParts,
    ) -> Result<Option<TcpProfile>, Error> {
        let mut maps = Vec::new();
        for (id, expected) in parts.maps.iter().zip(MAPS) {
            let found = MapHandle::from_map_id(*id);
            match found {
                Ok(map) if map.name() == expected => maps.push(map),
                // A number that was given out again.
                Ok(_) => return Ok(None),
                Err(error) if error.kind() == libbpf_rs::ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(Program::Profile.at("finding it")(error)),
            }
        }
        let (name, filter) = (name.to_owned(), filter.clone());
        Ok(Some(TcpProfile { name, filter, maps, hooks: parts.hooks }))
    }

    /// The number of a congestion control of this name that sockets can choose, whoever left it there.
    pub fn left_over(name: &str) -> Option<u32> {
        let controls = MapInfoIter::default()
            .filter(|map| map.ty == MapType::StructOps && map.name == MAPS[CONTROL]);
        let wanted = name_bytes(name);
        controls.map(|map| map.id).find(|id| {
            let value =
                MapHandle::from_map_id(*id).and_then(|map| map.lookup(&[0; 4], MapFlags::ANY));
            let value = value.ok().flatten().unwrap_or_default();
            // Behind the count of references, whether sockets can choose it.
            let is_registered = value.get(4..8) == Some(&IN_USE.to_ne_bytes());
            is_registered && value.windows(wanted.len()).any(|window| window == wanted)
        })
    }

    /// Takes away the control that [`TcpProfile::left_over`] has found. Connections that have it keep it until they close.
    ///
    /// # Errors
    /// When the kernel does not let it go.
    pub fn remove_left_over(id: u32) -> Result<(), Error> {
        let removed = MapHandle::from_map_id(id).and_then(|map| map.delete(&[0; 4]));
        removed.map_err(Program::Profile.at("removing it"))
    }

    /// Its parts, by which [`TcpProfile::find`] finds it.
    ///
    /// # Errors
    /// When the kernel does not say their numbers.
    pub fn parts(&self) -> Result<TcpParts, Error> {
        let mut ids = [0; MAPS.len()];
        for (id, map) in ids.iter_mut().zip(&self.maps) {
            *id = map.info().map_err(Program::Profile.at("naming its parts"))?.info.id;
        }
        Ok(TcpParts { maps: ids, hooks: self.hooks })
    }

    /// Attaches the program of this hook to the processes of this cgroup and of those below it. It replaces the one that is
    /// there, in one step.
    ///
    /// # Errors
    /// When the kernel does not take the program there.
    pub fn attach(&mut self, hook: TcpHook, cgroup: BorrowedFd<'_>) -> Result<(), Error> {
        let (name, kind) = named_hook(hook);
        let object = self.load_only(name)?;
        let program = object.progs().find(|program| program.name() == name);
        let program = program.expect("the program is in what was built");
        let done = match self.attached(hook, cgroup)?.first() {
            Some(before) => cgroup::replace(*before, program.as_fd(), cgroup, kind),
            None => cgroup::attach(program.as_fd(), cgroup, kind),
        };
        done.map_err(|error| Program::Profile.at("attaching it to the cgroup")(error.into()))?;
        let id = Loaded::id_from_fd(program.as_fd());
        self.hooks[hook as usize] = Some(id.map_err(Program::Profile.at("naming its parts"))?);
        Ok(())
    }

    /// Detaches the programs of this hook from a cgroup, also those of a command that was killed.
    ///
    /// # Errors
    /// When the kernel does not let a program go.
    pub fn detach(&self, hook: TcpHook, cgroup: BorrowedFd<'_>) -> Result<(), Error> {
        for id in self.attached(hook, cgroup)? {
            cgroup::detach(id, cgroup, named_hook(hook).1).map_err(|error| {
                Program::Profile.at("detaching it from the cgroup")(error.into())
            })?;
        }
        Ok(())
    }

    /// Whether the program of this hook is at the cgroup: another one of the same name has none.
    pub fn is_attached(&self, hook: TcpHook, cgroup: BorrowedFd<'_>) -> bool {
        let id = self.hooks[hook as usize];
        let there = || cgroup::programs_at(cgroup, named_hook(hook).1).unwrap_or_default();
        id.is_some_and(|id| there().contains(&id))
    }

    /// The programs of this hook and profile at a cgroup.
    fn attached(&self, hook: TcpHook, cgroup: BorrowedFd<'_>) -> Result<Vec<u32>, Error> {
        let (name, kind) = named_hook(hook);
        let failed =
            |error: std::io::Error| Program::Profile.at("finding it at the cgroup")(error.into());
        cgroup::programs_with_map(cgroup, kind, name, self.parts()?.maps[SETTINGS]).map_err(failed)
    }

    /// Is for other connections from now on. Programs that are attached select as before, until [`attach`](Self::attach)
    /// replaces them.
    pub fn select(&mut self, filter: &TcpFilter) {
        self.filter = filter.clone();
    }

    /// Gives it to live connections.
    ///
    /// # Errors
    /// When the kernel does not let the process walk over its connections.
    pub fn take_over(&self) -> Result<TcpWalk, Error> {
        self.walk("take_over")
    }

    /// Gives connections back the congestion control that they had.
    ///
    /// # Errors
    /// When the kernel does not let the process walk over its connections.
    pub fn give_back(&self) -> Result<TcpWalk, Error> {
        self.walk("give_back")
    }

    /// Gives connections that it is not for back the congestion control that they had.
    ///
    /// # Errors
    /// When the kernel does not let the process walk over its connections.
    pub fn give_back_others(&self) -> Result<TcpWalk, Error> {
        self.walk("give_back_others")
    }

    /// Takes the congestion control away: no connection can get it any more.
    ///
    /// # Errors
    /// When the kernel does not let it go.
    pub fn unregister(self) -> Result<(), Error> {
        self.maps[CONTROL].delete(&[0; 4]).map_err(Program::Profile.at("removing it"))
    }

    /// Has another profile from now on. Connections stay, with their tokens.
    ///
    /// # Errors
    /// When the kernel does not take it.
    pub fn change(&self, settings: &TcpSettings) -> Result<(), Error> {
        let written = self.maps[SETTINGS].update(&[0; 4], &settings.packed(), MapFlags::ANY);
        written.map_err(Program::Profile.at("writing its settings"))
    }

    /// What it counts.
    ///
    /// # Errors
    /// When the kernel does not say.
    pub fn state(&self) -> Result<TcpState, Error> {
        let read = self.maps[PROFILE].lookup(&[0; 4], MapFlags::ANY);
        let read = read.map_err(Program::Profile.at("reading its state"))?;
        Ok(TcpState::read(&read.expect("an array has its first element")))
    }

    fn walk(&self, program: &str) -> Result<TcpWalk, Error> {
        let object = self.load_only(program)?;
        let mut walked = Vec::new();
        let link = built::program(&object, program).attach_iter_with_opts(IterOpts::None);
        let link = link.map_err(Program::Profile.at("attaching its walk"))?;
        let mut walk = Iter::new(&link).map_err(Program::Profile.at("starting its walk"))?;
        walk.read_to_end(&mut walked)
            .map_err(|error| Program::Profile.at("walking over connections")(error.into()))?;
        let count = |what| walked.iter().filter(|byte| **byte == what).count();
        Ok(TcpWalk { changed: count(b'+'), refused: count(b'-'), unfit: count(b'!') })
    }

    /// One of the programs, with the maps that are in the kernel.
    fn load_only(&self, program: &str) -> Result<Object, Error> {
        let mut opened = open(&self.name, &self.filter)?;
        only(&mut opened, |other| other == program);
        for (name, map) in MAPS.iter().zip(&self.maps) {
            let mut wanted = opened.maps_mut().find(|map| map.name() == *name);
            let wanted = wanted.as_mut().expect("the map is in what was built");
            let done = match *name == MAPS[CONTROL] {
                true => wanted.set_autocreate(false),
                false => wanted.reuse_fd(map.as_fd()),
            };
            done.map_err(Program::Profile.at("finding its maps"))?;
        }
        load(opened)
    }
}

fn open(name: &str, filter: &TcpFilter) -> Result<OpenObject, Error> {
    let mut opened = built::open(BUILT, Program::Profile)?;
    let usual = fs::read_to_string(USUAL).unwrap_or_default();
    let usual = if usual.trim().is_empty() { "reno" } else { usual.trim() };
    let packed = filter.packed(namespace(), name, usual);
    let mut constants = built::open_map(&mut opened, FILTER);
    constants.initial_value_mut().expect("the filter is in what was built")[..packed.len()]
        .copy_from_slice(&packed);
    Ok(opened)
}

/// The number of the thread's network namespace, which is that of its file.
fn namespace() -> u32 {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(NAMESPACE).map_or(0, |file| file.ino() as u32)
}

fn load(opened: OpenObject) -> Result<Object, Error> {
    opened.load().map_err(Program::Profile.at("loading it"))
}

/// Loads only the programs of some names.
fn only(opened: &mut OpenObject, is_wanted: impl Fn(&str) -> bool) {
    for mut program in opened.progs_mut() {
        let name = program.name().to_string_lossy().into_owned();
        program.set_autoload(is_wanted(&name));
    }
}

/// The program of a hook, and the kind of event of a cgroup to which it is attached.
fn named_hook(hook: TcpHook) -> (&'static str, u32) {
    match hook {
        TcpHook::Established => ("select_new", libbpf_sys::BPF_CGROUP_SOCK_OPS),
        TcpHook::Sent => ("stop_unpaid", libbpf_sys::BPF_CGROUP_INET_EGRESS),
    }
}

fn handle(object: &Object, name: &str) -> Result<MapHandle, Error> {
    built::handle(object, name, Program::Profile)
}
