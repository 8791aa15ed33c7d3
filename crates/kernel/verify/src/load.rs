//! Long flows to the peer, as load during measurements.

use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use nix::libc;
use shortflow_packet::Dscp;

use crate::datagrams::POLL_INTERVAL;
use crate::error::Error;
use crate::peer::{FLOW, is_patience};
use crate::probes::connect;

/// How long a connection may take to begin, when the line is full already.
const START_TIMEOUT: Duration = Duration::from_secs(5);

/// Flows that send as fast as they can, until this is dropped.
#[derive(Debug)]
pub(crate) struct Load {
    stop: Arc<AtomicBool>,
    sent: Arc<AtomicU64>,
    flows: Vec<JoinHandle<()>>,
    connections: Vec<TcpStream>,
}

impl Load {
    /// Starts this number of flows, which are not marked.
    ///
    /// # Errors
    /// When the peer does not take them.
    pub(crate) fn begin(peer: SocketAddr, flows: usize) -> Result<Load, Error> {
        let (stop, sent) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let mut load = Load { stop, sent, flows: Vec::new(), connections: Vec::new() };
        for _ in 0..flows {
            let connection = begin(peer).map_err(|_| Error::NoAnswer(peer))?;
            let same = connection.try_clone().map_err(Error::socket("cannot start a flow"))?;
            load.connections.push(same);
            let (stop, sent) = (Arc::clone(&load.stop), Arc::clone(&load.sent));
            let flow = std::thread::Builder::new().spawn(move || send_on(connection, &stop, &sent));
            load.flows.push(flow.map_err(Error::socket("cannot start a flow"))?);
        }
        Ok(load)
    }

    /// Bytes that the kernel has taken from them.
    pub(crate) fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Bytes that they have sent again.
    pub(crate) fn resent(&self) -> u64 {
        self.connections.iter().map(resent).sum()
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for flow in self.flows.drain(..) {
            let _ = flow.join();
        }
    }
}

fn begin(peer: SocketAddr) -> io::Result<TcpStream> {
    let mut connection = connect(peer, Dscp::BEST_EFFORT, START_TIMEOUT)?;
    connection.set_write_timeout(Some(POLL_INTERVAL))?;
    connection.write_all(&[FLOW])?;
    Ok(connection)
}

/// Bytes that a connection has sent again (tcp(7): TCP_INFO), from Linux 4.19 on.
fn resent(connection: &TcpStream) -> u64 {
    /// Where `tcpi_bytes_retrans` is in the kernel's `struct tcp_info` (linux/tcp.h).
    const FIELD: std::ops::Range<usize> = 208..216;
    let mut report = [0_u8; FIELD.end];
    let mut length = report.len() as libc::socklen_t;
    #[allow(unsafe_code)]
    // SAFETY: the descriptor is open, and the kernel writes at most `length` bytes, which there are.
    let done = unsafe {
        libc::getsockopt(
            connection.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            report.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    match report[FIELD].try_into() {
        Ok(bytes) if done == 0 => u64::from_ne_bytes(bytes),
        _ => 0,
    }
}

fn send_on(mut connection: TcpStream, stop: &AtomicBool, sent: &AtomicU64) {
    let bytes = [0; 16 << 10];
    while !stop.load(Ordering::Relaxed) {
        match connection.write(&bytes) {
            Ok(more) => {
                sent.fetch_add(more as u64, Ordering::Relaxed);
            }
            Err(error) if is_patience(&error) => {}
            // The peer has gone; what is measured beside it says so.
            Err(_) => return,
        }
    }
}
