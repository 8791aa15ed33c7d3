//! Aggregate-fair growth as a congestion control of the kernel. Needs the right to load eBPF.

use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use shortflow_ebpf::AggregateFair;
use socket2::SockRef;

use crate::loaded::loaded;

fn register() -> Option<Arc<AggregateFair>> {
    loaded(AggregateFair::register())
}

#[test]
fn sockets_choose_it_as_long_as_somebody_holds_it() {
    let Some(control) = register() else { return };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let connection = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let socket = SockRef::from(&connection);
    socket.set_tcp_congestion(AggregateFair::name().as_bytes()).unwrap();
    assert!(socket.tcp_congestion().unwrap().starts_with(AggregateFair::name().as_bytes()));
    let same = AggregateFair::register().unwrap();
    assert!(Arc::ptr_eq(&control, &same), "a kernel has one of each name");
    drop(connection);
    drop((control, same));
    let connection = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let chosen = SockRef::from(&connection).set_tcp_congestion(AggregateFair::name().as_bytes());
    assert!(chosen.is_err(), "nobody holds it");
}
