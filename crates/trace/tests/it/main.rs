//! Traces of whole runs, read by others: pcap-parser, tshark, tcptrace, capinfos.

mod capture;
mod output;
mod places;
mod support;
mod tools;
