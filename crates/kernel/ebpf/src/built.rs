//! What clang has built: opened, and its parts by their names.

use libbpf_rs::{
    Map, MapCore, MapHandle, Object, ObjectBuilder, OpenMapMut, OpenObject, ProgramMut,
};

use crate::Error;
use crate::error::Program;

/// Opens what was built for a program. Nothing is loaded yet.
pub(crate) fn open(built: &[u8], of: Program) -> Result<OpenObject, Error> {
    // What libbpf has to say is in its errors; it prints the rest on its own account.
    libbpf_rs::set_print(None);
    ObjectBuilder::default().open_memory(built).map_err(of.at("opening it"))
}

/// A map before it is loaded.
pub(crate) fn open_map<'o>(opened: &'o mut OpenObject, name: &str) -> OpenMapMut<'o> {
    opened.maps_mut().find(|map| map.name() == name).expect("the map is in what was built")
}

/// The constants of the programs, before they are loaded.
pub(crate) fn constants(opened: &mut OpenObject) -> OpenMapMut<'_> {
    let mut maps = opened.maps_mut();
    let is_constants = |map: &OpenMapMut<'_>| map.name().to_string_lossy().ends_with(CONSTANTS);
    maps.find(is_constants).expect("the constants are in what was built")
}

/// How the name of the map with the constants ends.
pub(crate) const CONSTANTS: &str = ".rodata";

/// A loaded program.
pub(crate) fn program<'o>(object: &'o Object, name: &str) -> ProgramMut<'o> {
    let program = object.progs_mut().find(|program| program.name() == name);
    program.expect("the program is in what was built")
}

/// A loaded map.
pub(crate) fn map<'o>(object: &'o Object, name: &str) -> Map<'o> {
    object.maps().find(|map| map.name() == name).expect("the map is in what was built")
}

/// A handle of a loaded map, which outlives the object.
pub(crate) fn handle(object: &Object, name: &str, of: Program) -> Result<MapHandle, Error> {
    MapHandle::try_from(&map(object, name)).map_err(of.at("finding its maps"))
}
