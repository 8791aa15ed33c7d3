//! The hosts of a scenario on this machine, and what is asked of them.

use nix::errno::Errno;
use shortflow_ebpf::{Record, SenderProgram};
use shortflow_policy::Asked;
use shortflow_run::{Error, Refusal, role_at};
use shortflow_scenario::{Direction, NodeId, Scenario};
use shortflow_sim::LiveNetwork;
use shortflow_testbed::{Device, Home, Host, HostSpec, PortKind, Ports};

use crate::applications::Applications;
use crate::router::EdgeSpec;

/// The hosts and their devices by their nodes, none for the routers, and what is known at the edge of each.
#[derive(Default)]
pub(crate) struct Site {
    pub(crate) hosts: Vec<Option<Host>>,
    pub(crate) devices: Vec<Option<Device>>,
    pub(crate) edges: Vec<Option<EdgeSpec>>,
    /// Bytes of the largest packet, with what is written before it.
    pub(crate) largest: usize,
}

impl Site {
    /// Makes the hosts.
    ///
    /// # Errors
    /// When the machine lacks something.
    pub(crate) fn make(
        home: &Home,
        ports: &mut Ports,
        scenario: &Scenario,
        specs: Vec<Option<HostSpec>>,
        network: &LiveNetwork,
    ) -> Result<Site, Error> {
        let asked = asked(scenario);
        // What is missing is told before anything is made.
        let program = match asked.contains(&Asked::Tcp) {
            true => Some(SenderProgram::load().map_err(|error| lacking(scenario, error))?),
            false => None,
        };
        let mut site = Site::default();
        for (spec, asked) in specs.into_iter().zip(asked) {
            let Some(mut spec) = spec else {
                site.hosts.push(None);
                site.devices.push(None);
                site.edges.push(None);
                continue;
            };
            let program = program.as_ref().filter(|_| asked == Asked::Tcp);
            spec.headroom = program.map_or(0, |_| Record::LENGTH as u32);
            let (host, device) = ports.host(home, &spec).map_err(machine)?;
            if let Some(program) = program {
                let attached = host.within(home, || program.attach(host.device));
                attached.map_err(machine)?.map_err(machine)?;
            }
            let is_asked = asked != Asked::Nothing || network.listens();
            let initial_window = spec.route.initial_window.unwrap_or(INITIAL_WINDOW);
            site.edges.push(is_asked.then_some(EdgeSpec { initial_window }));
            site.largest = site.largest.max((spec.mtu + spec.headroom) as usize);
            site.hosts.push(Some(host));
            site.devices.push(Some(device));
        }
        Ok(site)
    }

    /// Where applications are to say what they know, if anybody asks; `listens` is whether queues want to be told
    /// what happens at senders.
    ///
    /// # Errors
    /// When there are too many open files.
    pub(crate) fn applications(&self, listens: bool) -> Result<Option<Applications>, Errno> {
        let is_asked = self.edges.iter().any(Option::is_some);
        is_asked.then(|| Applications::new(listens)).transpose()
    }
}

/// Segments of Linux' first window where nothing else is said (RFC 6928).
const INITIAL_WINDOW: u32 = 10;

/// Refuses ports at which no record can stand before a packet, where one is asked for: devices of Ethernet have a
/// header there.
pub(crate) fn refuse_ports(scenario: &Scenario, ports: PortKind) -> Result<(), Refusal> {
    if ports == PortKind::Tun || !asked(scenario).contains(&Asked::Tcp) {
        return Ok(());
    }
    let told = format!(
        "the role {} asks for the state of a kernel's TCP, which is read at TUN devices only\nleave --ports out",
        who_asks(scenario)
    );
    Err(Refusal(told))
}

/// The name of a role that asks for the state of a kernel's TCP.
fn who_asks(scenario: &Scenario) -> &str {
    let asks = scenario.bindings.iter().find(|binding| {
        let role = role_at(scenario, binding.at, binding.direction);
        role.is_some_and(|role| role.asks() == Asked::Tcp)
    });
    asks.map_or("", |binding| binding.role.as_str())
}

/// What is asked of each node.
fn asked(scenario: &Scenario) -> Vec<Asked> {
    let nodes = (0..).map(NodeId).take(scenario.nodes.len());
    nodes.map(|node| asked_of(scenario, node)).collect()
}

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

/// What is missing, and who needs it.
fn lacking(scenario: &Scenario, error: shortflow_ebpf::Error) -> Error {
    Error::Machine(format!(
        "the role {} asks for the state of a kernel's TCP (its window, its phase or its round-trip time): {error}\n\
         or simulate it, or rehearse another policy",
        who_asks(scenario)
    ))
}
