//! Tests of pages, figures and tables over made-up runs.

mod bounds;
mod engines;
mod figures;
mod pages;
mod ranking;
mod synthetic;
mod tables;
