//! Traces of whole runs, read by others: pcap-parser, tshark, tcptrace, capinfos.

mod capture;
mod places;
mod support;
mod tools;
