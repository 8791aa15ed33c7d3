//! A profile at a source host: a token bucket that packets wait for.

use shortflow_elements::meter::TokenBucketSettings;
use shortflow_elements::queue::{AggregateShaperParams, AggregateShaperSettings};
use shortflow_elements::scheduler::{SourceParams, SourceSettings};
use shortflow_elements::sharing::Sharing;

use crate::band::FULL;

/// A token bucket that packets of a line wait for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Profile {
    /// Bytes per second, and bytes.
    pub(crate) rate: f64,
    pub(crate) depth: f64,
    /// Which packets wait for it.
    pub(crate) of: Taken,
    /// Whether connections have parts of it.
    pub(crate) has_parts: bool,
}

/// Packets that take tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Taken {
    All,
    /// Those of a level.
    Level(usize),
}

impl Profile {
    /// That of an aggregate of connections; else in words what has no closed form.
    pub(crate) fn of_aggregate(params: &AggregateShaperParams) -> Result<Profile, String> {
        let AggregateShaperSettings {
            profile,
            sharing,
            // Packets that are held up have no closed form, so that it does not matter whose they are, when they go and
            // where they wait; where long flows wait, the line says.
            connections: _,
            limit: _,
            timer: _,
            order: _,
            fresh: _,
            triggers: _,
            place: _,
        } = params.settings();
        if profile.peak().is_some() {
            return Err("an aggregate-shaper with a peak rate".to_owned());
        }
        if (profile.max_packet().0 as f64) < FULL {
            return Err("an aggregate-shaper that drops full packets".to_owned());
        }
        Ok(Profile {
            rate: profile.rate().bytes_per_sec(),
            depth: profile.depth().0 as f64,
            of: Taken::All,
            has_parts: sharing != Sharing::Common,
        })
    }

    /// Those of HIGH and MED of a source host. LOW waits for no tokens.
    pub(crate) fn of_scheduler(params: &SourceParams) -> Vec<Profile> {
        let SourceSettings {
            high,
            medium,
            // The room is that of the line, the code points are its levels.
            limits: _,
            code_points: _,
            // Packets that are held up, and hosts whose line is busy, have no closed form.
            remark_after: _,
            classifier: _,
            rules: _,
            otherwise: _,
        } = params.settings();
        let both = [high, medium].into_iter().enumerate();
        both.map(|(level, bucket)| {
            let TokenBucketSettings { rate, burst } = bucket.settings();
            Profile {
                rate: rate.bytes_per_sec(),
                depth: burst.0 as f64,
                of: Taken::Level(level),
                has_parts: false,
            }
        })
        .collect()
    }
}
