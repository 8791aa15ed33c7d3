//! Tables of simulated runs, compared with their files and with hand computations.

mod bench;
mod columns;
mod formats;
mod rows;
