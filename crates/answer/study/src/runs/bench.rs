//! The engine that runs replicas, and the folder that keeps them.

use std::sync::atomic::AtomicBool;

use shortflow_measure::results::Folder;
use shortflow_run::{Engine, Progress};

use super::cache::Cache;
use crate::error::Error;
use crate::options::Options;

/// What runs replicas, and where they are kept.
pub(crate) struct Bench<'a> {
    pub(crate) engine: &'a dyn Engine,
    pub(crate) cache: Cache,
    /// Threads; 0 is one per core.
    pub(crate) threads: usize,
    pub(crate) stop: &'a AtomicBool,
    pub(crate) progress: &'a dyn Progress,
    /// Replicas that were run or found.
    pub(crate) finished: usize,
    /// Replicas that were kept from before and could not be used.
    pub(crate) stale: usize,
}

impl<'a> Bench<'a> {
    /// With the engine, and the folder of the options.
    ///
    /// # Errors
    /// When the folder cannot be created.
    pub(crate) fn new(
        engine: &'a dyn Engine,
        options: &Options<'_>,
        stop: &'a AtomicBool,
        progress: &'a dyn Progress,
    ) -> Result<Bench<'a>, Error> {
        let cache = Cache::open(Folder::create(options.folder)?, engine.identity());
        let threads = options.threads;
        Ok(Bench { engine, cache, threads, stop, progress, finished: 0, stale: 0 })
    }
}
