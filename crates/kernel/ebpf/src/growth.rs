//! A congestion control that the kernel keeps while a handle is open.

use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use libbpf_rs::{Link, MapCore, Object};

use crate::error::Program;
use crate::{Error, built};

/// The program, as clang has built it.
static BUILT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/growth.bpf.o"));

/// What it is called there.
const BUILT_AS: &str = "aggregate_fair";
/// The offset of the name in `struct tcp_congestion_ops` of programs/kernel.h, behind five functions, and its size in
/// bytes, the last of which is zero.
const NAME: usize = 5 * 8;
const NAME_BYTES: usize = 16;

/// Aggregate-fair growth of the window (Mehra, Tewari & Kandlur 1999, §5) as a congestion control of this kernel, which
/// sockets choose by [its name](AggregateFair::name): by rtt²/rtt_av² segments in a round trip, where rtt_av is the mean over
/// the connections of the socket's network namespace that grow so. It is there until the last who has it, and the last
/// connection that uses it, are gone, and no longer than the process.
#[derive(Debug)]
pub struct AggregateFair {
    /// It goes when this is closed.
    _link: Link,
    _object: Object,
}

impl AggregateFair {
    /// What sockets of any process choose it by. A kernel has one of each name, so this process's has the process in it.
    pub fn name() -> &'static str {
        static NAME: OnceLock<String> = OnceLock::new();
        NAME.get_or_init(|| format!("sf_fair_{:x}", std::process::id()))
    }

    /// Lets the kernel have it; what this process lets it have already, where it does.
    ///
    /// # Errors
    /// When the machine lacks something.
    pub fn register() -> Result<Arc<AggregateFair>, Error> {
        static HELD: Mutex<Weak<AggregateFair>> = Mutex::new(Weak::new());
        let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(there) = held.upgrade() {
            return Ok(there);
        }
        let new = Arc::new(AggregateFair::load()?);
        *held = Arc::downgrade(&new);
        Ok(new)
    }

    fn load() -> Result<AggregateFair, Error> {
        let mut opened = built::open(BUILT, Program::Growth)?;
        let mut control = built::open_map(&mut opened, BUILT_AS);
        let value = control.initial_value_mut();
        let name = &mut value.expect("the control is in what was built")[NAME..][..NAME_BYTES];
        name.fill(0);
        let chosen = AggregateFair::name().as_bytes();
        let length = chosen.len().min(NAME_BYTES - 1);
        name[..length].copy_from_slice(&chosen[..length]);
        let mut object = opened.load().map_err(Program::Growth.at("loading it"))?;
        let link = {
            let mut control = object.maps_mut().find(|map| map.name() == BUILT_AS);
            let control = control.as_mut().expect("the control is in what was built");
            control.attach_struct_ops().map_err(Program::Growth.at("registering it"))?
        };
        Ok(AggregateFair { _link: link, _object: object })
    }
}
