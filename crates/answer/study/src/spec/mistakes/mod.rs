//! Finds errors in the files of a study, with their places, before anything is run.

mod cases;
pub(crate) mod checked;
mod checker;
mod document;
mod names;
mod settings;
mod subjects;

pub(crate) use checked::{check_shown, check_targets, read_calibration, read_claims, read_study};
pub(crate) use checker::Plans;
pub(crate) use document::{document, read};
pub(crate) use settings::at_their_places;
