//! Tests of pages, figures and tables over made-up runs.

mod figures;
mod pages;
mod synthetic;
mod tables;
