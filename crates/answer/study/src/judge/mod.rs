//! How a check is judged, and a claim by its checks: rules fixed before anything is run.
//!
//! A check compares a number with a [`Region`]: a ratio of two runs, of ours to a paper's figure, or a value. The
//! replicas give its [`Evidence`]; a [`Rule`](crate::spec::Rule) gives the region.
//!
//! | rule | the number | holds when it lies |
//! |---|---|---|
//! | `figure` | ours over the paper's | within 1/1.5 to 1.5 |
//! | `below`, `above` | ours over theirs | below 1, above 1 |
//! | `far-below` | ours over theirs | at or below 0.5 |
//! | `alike` | ours over theirs | within 0.9 to 1.1 |
//! | `no-worse`, `no-better` | ours over theirs | at or below 1.1, at or above 0.9 |
//! | `at-most`, `at-least` | ours | on the asserted side of the bound |
//! | `fair` | ours, Jain's index | at or above 0.95 |
//! | `distributions-alike` | the greatest distance of the two survival functions | at or below 0.1 |
//! | `minimum-within` | the points of a sweep, each over each | the least is inside the range |
//!
//! Replicas come in [looks](Looks). At each of K looks a check holds if the test that the number lies outside its
//! region is rejected at 5 %/K, and a claim holds if all its checks do; so a claim holds wrongly in at most 5 % of
//! cases. A claim fails if the test that all its numbers lie inside is rejected, by Holm's procedure over its checks
//! at 5 %/K; so it fails wrongly in at most 5 %. A wide interval never helps: it leaves a check unsettled. If a check
//! asks for the minimum of a sweep, points that a look has ruled out get no more replicas.
//!
//! The tests are Student's, so these error rates hold for roughly normal data; the table next to the judge's test
//! gives the excess for skewed data. Identical replicas have no spread, and count as exact however few they are.

mod case;
mod check;
mod distance;
mod evidence;
mod judged_by;
mod observation;
mod region;
mod sequence;
mod settle;
mod verdict;

pub use crate::spec::{ERROR, InvalidLooks, Looks, MAX_REPLICAS};
pub(crate) use case::Case;
pub(crate) use check::{Check, checks};
pub(crate) use evidence::ends;
pub use evidence::{Evidence, Shown};
pub(crate) use judged_by::judged_by;
pub(crate) use observation::{cases_of_observation, observe, want_observation};
pub use region::{Bound, Region, Tested};
pub use sequence::Sequence;
pub(crate) use settle::{Pending, Seen, Settled, settle};
pub use verdict::Verdict;
