//! The hosts of a scenario on this machine, and their requirements.

use std::sync::Arc;

use nix::errno::Errno;
use shortflow_ebpf::{AggregateFair, Link, Record, SenderProgram};
use shortflow_policy::Asked;
use shortflow_run::{Error, role_at};
use shortflow_scenario::{Direction, NodeId, Scenario};
use shortflow_sim::LiveNetwork;
use shortflow_tcp::Algorithm;
use shortflow_testbed::{Device, HostSpec, PortKind};

use crate::applications::Applications;
use crate::hosts::Hosts;
use crate::open_files::allow_many;
use crate::router::EdgeSpec;

/// What policies ask of the hosts of a scenario.
pub(crate) struct Asking<'s> {
    /// Of each node.
    nodes: Vec<Asked>,
    /// A role that asks for the state of a kernel's TCP.
    of_tcp: Option<&'s str>,
    /// A workload whose windows grow by the round-trip times of all of its host's connections.
    grows_fair: Option<&'s str>,
    /// Whether queues need the events of senders.
    listens: bool,
}

/// The hosts and their devices by their nodes, none for the routers, and what is known at the edge of each.
pub(crate) struct Site {
    pub(crate) hosts: Hosts,
    pub(crate) devices: Vec<Option<Device>>,
    pub(crate) edges: Vec<Option<EdgeSpec>>,
    /// Bytes of the largest packet, with what is written before it.
    pub(crate) largest: usize,
    listens: bool,
    link: Link,
    /// What the kernel has as long as the hosts are there.
    _growth: Option<Arc<AggregateFair>>,
}

impl<'s> Asking<'s> {
    /// What the policy of a scenario asks.
    pub(crate) fn for_scenario(scenario: &'s Scenario) -> Self {
        let nodes = (0..).map(NodeId).take(scenario.nodes.len());
        let mut bindings = scenario.bindings.iter();
        let of_tcp = bindings.find(|binding| {
            let role = role_at(scenario, binding.at, binding.direction);
            role.is_some_and(|role| role.asks() == Asked::Tcp)
        });
        let mut workloads = scenario.workloads.iter().filter(|workload| workload.kind.uses_tcp());
        let grows_fair = workloads.find(|w| w.tcp.congestion == Algorithm::AggregateFair);
        Asking {
            grows_fair: grows_fair.map(|workload| workload.name.as_str()),
            nodes: nodes.map(|node| asked_of(scenario, node)).collect(),
            of_tcp: of_tcp.map(|binding| binding.role.as_str()),
            listens: LiveNetwork::listens(scenario),
        }
    }

    /// And what another asks besides, which may be bound later: it finds all known as if it had been bound before.
    #[must_use]
    pub(crate) fn and(mut self, later: &'s Scenario) -> Self {
        let Asking { nodes, of_tcp, listens, .. } = Asking::for_scenario(later);
        self.nodes.iter_mut().zip(nodes).for_each(|(asked, more)| *asked = more.max(*asked));
        Asking { of_tcp: self.of_tcp.or(of_tcp), listens: self.listens | listens, ..self }
    }

    /// The program that reads the state of a kernel's TCP, if anybody asks for it.
    ///
    /// # Errors
    /// When the machine lacks something.
    pub(crate) fn program(&self) -> Result<Option<SenderProgram>, Error> {
        let Some(role) = self.of_tcp else { return Ok(None) };
        SenderProgram::load().map(Some).map_err(|error| {
            Error::Machine(format!(
                "the role {role} needs the state of a kernel's TCP (its window, its phase or its \
                    round-trip time): {error}; or simulate it, or rehearse another policy"
            ))
        })
    }
}

impl Asking<'_> {
    /// The congestion control that the kernel is to be given, if anybody asks for it.
    ///
    /// # Errors
    /// When the machine lacks something.
    pub(crate) fn growth(&self) -> Result<Option<Arc<AggregateFair>>, Error> {
        let Some(workload) = self.grows_fair else { return Ok(None) };
        AggregateFair::register().map(Some).map_err(|error| {
            Error::Machine(format!(
                "{workload} uses the congestion control aggregate-fair: {error}; or simulate it, \
                    or set `tcp.congestion` to reno or cubic"
            ))
        })
    }
}

impl Site {
    /// Makes the hosts, each if it shall `go_on`.
    ///
    /// # Errors
    /// When the machine lacks something, or it shall not.
    pub(crate) fn make(
        asking: &Asking<'_>,
        specs: Vec<Option<HostSpec>>,
        ports: PortKind,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<Site, Error> {
        allow_many();
        // Missing programs are reported before anything is created.
        let (program, growth) = (asking.program()?, asking.growth()?);
        let mut site = Site {
            _growth: growth,
            hosts: Hosts::none(ports).map_err(machine)?,
            devices: Vec::new(),
            edges: Vec::new(),
            largest: 0,
            listens: asking.listens,
            link: match ports {
                PortKind::Tun => Link::None,
                PortKind::Packet | PortKind::Xdp => Link::Ethernet,
            },
        };
        for (spec, &asked) in specs.into_iter().zip(&asking.nodes) {
            if !go_on() {
                return Err(Error::Interrupted);
            }
            match spec {
                Some(spec) => site.add(spec, asked, program.as_ref())?,
                None => site.add_none(),
            }
        }
        Ok(site)
    }

    fn add(
        &mut self,
        mut spec: HostSpec,
        asked: Asked,
        program: Option<&SenderProgram>,
    ) -> Result<(), Error> {
        let program = program.filter(|_| asked == Asked::Tcp);
        spec.headroom = program.map_or(0, |_| Record::LENGTH as u32);
        let link = self.link;
        let device = self.hosts.add(&spec, |device| {
            program.map_or(Ok(()), |program| program.attach(device, link)).map_err(machine)
        });
        self.devices.push(Some(device?));
        let is_asked = asked != Asked::Nothing || self.listens;
        let initial_window = spec.route.initial_window.unwrap_or(INITIAL_WINDOW);
        self.edges.push(is_asked.then_some(EdgeSpec { initial_window }));
        self.largest = self.largest.max((spec.mtu + spec.headroom) as usize);
        Ok(())
    }

    fn add_none(&mut self) {
        self.hosts.add_none();
        self.devices.push(None);
        self.edges.push(None);
    }

    /// Where applications are to say what they know, if anybody asks.
    ///
    /// # Errors
    /// When there are too many open files.
    pub(crate) fn applications(&self) -> Result<Option<Applications>, Errno> {
        let is_asked = self.edges.iter().any(Option::is_some);
        is_asked.then(|| Applications::new(self.listens)).transpose()
    }
}

/// Segments of Linux' first window where nothing else is said (RFC 6928).
const INITIAL_WINDOW: u32 = 10;

/// What the roles ask through which a host's packets leave.
fn asked_of(scenario: &Scenario, node: NodeId) -> Asked {
    let of_node = scenario.bindings.iter().filter(|binding| binding.at == node);
    let roles = of_node.filter_map(|binding| match binding.direction {
        Direction::To(_) => role_at(scenario, node, binding.direction),
        Direction::From(_) => None,
    });
    roles.map(|role| role.asks()).fold(Asked::Nothing, Ord::max)
}

fn machine(what: impl std::fmt::Display) -> Error {
    Error::Machine(what.to_string())
}
