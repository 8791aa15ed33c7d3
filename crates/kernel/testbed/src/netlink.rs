//! Devices, addresses and routes of the network namespace of a thread (rtnetlink(7)).

use std::net::IpAddr;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::{Duration, Instant};

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage,
    NetlinkPayload,
};
use netlink_packet_route::address::{AddressAttribute, AddressHeaderFlags, AddressMessage};
use netlink_packet_route::link::{
    InfoData, InfoKind, InfoVeth, LinkAttribute, LinkFlags, LinkInfo, LinkMessage, State,
};
use netlink_packet_route::route::{
    RouteAttribute, RouteHeader, RouteMessage, RouteMetric, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};
use nix::errno::Errno;

use crate::Error;

/// How long a device may take to carry packets: the kernel looks at cables once a second at least.
const CARRIER_TIMEOUT: Duration = Duration::from_secs(10);

/// A socket to the kernel.
#[derive(Debug)]
pub(crate) struct Netlink {
    socket: Socket,
    sequence: u32,
}

impl Netlink {
    /// A socket in the network namespace of the thread.
    pub(crate) fn open() -> Result<Netlink, Error> {
        let failed = |source| Error::Kernel { what: "cannot open a netlink socket", source };
        let mut socket = Socket::new(NETLINK_ROUTE).map_err(failed)?;
        socket.bind_auto().map_err(failed)?;
        socket.connect(&SocketAddr::new(0, 0)).map_err(failed)?;
        Ok(Netlink { socket, sequence: 0 })
    }

    /// Switches a device on, with this MTU and this many packets in its queue where they are given.
    pub(crate) fn set_up(
        &mut self,
        device: u32,
        mtu: Option<u32>,
        queue: Option<u32>,
    ) -> Result<(), Error> {
        let mut link = LinkMessage::default();
        link.header.index = device;
        link.header.flags = LinkFlags::Up;
        link.header.change_mask = LinkFlags::Up;
        link.attributes.extend(mtu.map(LinkAttribute::Mtu));
        link.attributes.extend(queue.map(LinkAttribute::TxQueueLen));
        self.ask("cannot bring a device up", 0, RouteNetlinkMessage::SetLink(link))
    }

    /// Makes a cable (veth(4)) from a device `near` here to a device `far` in another network namespace.
    pub(crate) fn add_cable(
        &mut self,
        near: &str,
        far: &str,
        there: BorrowedFd<'_>,
    ) -> Result<(), Error> {
        let mut other = LinkMessage::default();
        other.attributes.push(LinkAttribute::IfName(far.to_owned()));
        other.attributes.push(LinkAttribute::NetNsFd(there.as_raw_fd()));
        let mut link = LinkMessage::default();
        link.attributes.push(LinkAttribute::IfName(near.to_owned()));
        let info = vec![
            LinkInfo::Kind(InfoKind::Veth),
            LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(other))),
        ];
        link.attributes.push(LinkAttribute::LinkInfo(info));
        let message = RouteNetlinkMessage::NewLink(link);
        self.ask("cannot create a pair of devices", NLM_F_CREATE | NLM_F_EXCL, message)
    }

    /// Gives a device its address on the link, and lets it ask for none of others.
    pub(crate) fn make_silent(&mut self, device: u32, address: [u8; 6]) -> Result<(), Error> {
        let mut link = LinkMessage::default();
        link.header.index = device;
        link.header.flags = LinkFlags::Noarp;
        link.header.change_mask = LinkFlags::Noarp;
        link.attributes.push(LinkAttribute::Address(address.to_vec()));
        self.ask("cannot configure a device", 0, RouteNetlinkMessage::SetLink(link))
    }

    /// Gives a device an address, which is its own at once.
    pub(crate) fn add_address(&mut self, device: u32, address: IpAddr) -> Result<(), Error> {
        let mut message = AddressMessage::default();
        message.header.index = device;
        message.header.family = family(address);
        message.header.prefix_len = if address.is_ipv4() { 32 } else { 128 };
        if address.is_ipv6() {
            // Nobody else can have it.
            message.header.flags = AddressHeaderFlags::Nodad;
        }
        message.attributes =
            vec![AddressAttribute::Local(address), AddressAttribute::Address(address)];
        let message = RouteNetlinkMessage::NewAddress(message);
        self.ask("cannot set the address of a device", NLM_F_CREATE | NLM_F_EXCL, message)
    }

    /// Sends what is for an address through a device, behind which it is the next.
    pub(crate) fn add_route(&mut self, device: u32, to: IpAddr) -> Result<(), Error> {
        let mut route = route_through(device, to);
        route.header.destination_prefix_length = if to.is_ipv4() { 32 } else { 128 };
        route.attributes.push(RouteAttribute::Destination(to.into()));
        let message = RouteNetlinkMessage::NewRoute(route);
        self.ask("cannot add a route", NLM_F_CREATE | NLM_F_EXCL, message)
    }

    /// Sends everything of the family of `source` that is for others through a device.
    pub(crate) fn add_default_route(
        &mut self,
        device: u32,
        source: IpAddr,
        metrics: &[RouteMetric],
    ) -> Result<(), Error> {
        let mut route = route_through(device, source);
        if source.is_ipv4() {
            route.attributes.push(RouteAttribute::PrefSource(source.into()));
        } else {
            route.header.scope = RouteScope::Universe;
        }
        if !metrics.is_empty() {
            route.attributes.push(RouteAttribute::Metrics(metrics.to_vec()));
        }
        let message = RouteNetlinkMessage::NewRoute(route);
        self.ask("cannot add a route", NLM_F_CREATE | NLM_F_EXCL, message)
    }

    /// Waits until a device at the end of a cable carries packets. The kernel enables it some time after both ends
    /// are up, and silently drops packets until then.
    pub(crate) fn wait_until_it_carries(&mut self, device: u32) -> Result<(), Error> {
        const WHAT: &str = "a device did not come up";
        patiently(WHAT, || {
            let mut link = LinkMessage::default();
            link.header.index = device;
            let is_up =
                |link: LinkMessage| link.attributes.contains(&LinkAttribute::OperState(State::Up));
            Ok(self.link(WHAT, link)?.is_some_and(is_up))
        })
    }

    /// Waits until packets for an address of the namespace are its own. The kernel takes one of IPv6 in some time after
    /// it was given, and until then sends what is for it on to others.
    pub(crate) fn wait_until_it_is_own(&mut self, address: IpAddr) -> Result<(), Error> {
        const WHAT: &str = "a host did not accept its address";
        let length = if address.is_ipv4() { 32 } else { 128 };
        patiently(WHAT, || {
            let mut route = RouteMessage::default();
            route.header.address_family = family(address);
            route.header.destination_prefix_length = length;
            route.attributes.push(RouteAttribute::Destination(address.into()));
            let answer = self.answer(WHAT, 0, RouteNetlinkMessage::GetRoute(route))?;
            Ok(matches!(
                answer,
                NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewRoute(found))
                    if found.header.kind == RouteType::Local
            ))
        })
    }

    /// The number of a device, which need not be in the namespace of the thread.
    pub(crate) fn index_of(&mut self, device: &str) -> Result<u32, Error> {
        const WHAT: &str = "a device is missing";
        let mut link = LinkMessage::default();
        link.attributes.push(LinkAttribute::IfName(device.to_owned()));
        let found = self.link(WHAT, link)?;
        found.map(|link| link.header.index).ok_or_else(|| Error::kernel(WHAT)(Errno::ENODEV))
    }

    fn link(
        &mut self,
        what: &'static str,
        asked: LinkMessage,
    ) -> Result<Option<LinkMessage>, Error> {
        match self.answer(what, 0, RouteNetlinkMessage::GetLink(asked))? {
            NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewLink(found)) => Ok(Some(found)),
            _ => Ok(None),
        }
    }

    /// Sends a request, and waits for the kernel's acknowledgement.
    fn ask(
        &mut self,
        what: &'static str,
        flags: u16,
        message: RouteNetlinkMessage,
    ) -> Result<(), Error> {
        match self.answer(what, NLM_F_ACK | flags, message)? {
            NetlinkPayload::Error(error) if error.code.is_some() => {
                Err(Error::kernel(what)(Errno::from_raw(-error.raw_code())))
            }
            _ => Ok(()),
        }
    }

    /// Sends a request, and gives what the kernel answers.
    fn answer(
        &mut self,
        what: &'static str,
        flags: u16,
        message: RouteNetlinkMessage,
    ) -> Result<NetlinkPayload<RouteNetlinkMessage>, Error> {
        let failed = |source| Error::Kernel { what, source };
        self.sequence += 1;
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | flags;
        header.sequence_number = self.sequence;
        let mut request = NetlinkMessage::new(header, NetlinkPayload::from(message));
        request.finalize();
        let mut bytes = vec![0; request.buffer_len()];
        request.serialize(&mut bytes);
        self.socket.send(&bytes, 0).map_err(failed)?;
        let (answer, _) = self.socket.recv_from_full().map_err(failed)?;
        let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(&answer);
        let answer = answer.map_err(|error| failed(std::io::Error::other(error.to_string())))?;
        Ok(answer.payload)
    }
}

/// Polls until a condition holds.
fn patiently(
    what: &'static str,
    mut is_so: impl FnMut() -> Result<bool, Error>,
) -> Result<(), Error> {
    let patient_until = Instant::now() + CARRIER_TIMEOUT;
    while !is_so()? {
        if Instant::now() > patient_until {
            return Err(Error::kernel(what)(Errno::ETIMEDOUT));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// A route of the family of an address, through a device.
fn route_through(device: u32, address: IpAddr) -> RouteMessage {
    let mut route = RouteMessage::default();
    route.header.address_family = family(address);
    route.header.table = RouteHeader::RT_TABLE_MAIN;
    route.header.protocol = RouteProtocol::Static;
    route.header.scope = RouteScope::Link;
    route.header.kind = RouteType::Unicast;
    route.attributes.push(RouteAttribute::Oif(device));
    route
}

fn family(address: IpAddr) -> AddressFamily {
    if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 }
}
