//! Traces of whole runs, read by others: pcap-parser, tshark, tcptrace, capinfos.

mod capture;
mod output;
mod places;
#[cfg(target_os = "linux")]
mod rehearsed;
mod support;
mod tools;
