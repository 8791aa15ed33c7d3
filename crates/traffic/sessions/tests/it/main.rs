//! Sessions over a network that does what a test says, when it says so.

mod ftp;
mod network;
mod telnet;
mod web;
