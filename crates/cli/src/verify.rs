//! `verify`: tests a deployment.

use crate::console::Console;
use crate::deploy_args::Verify;
use crate::failure::Failure;

#[cfg(not(live))]
pub(crate) fn verify(_: &Console, _: &Verify) -> Result<(), Failure> {
    let what = "`verify` requires Linux\nverify a policy on the Linux machine where it is deployed";
    Err(Failure::not_built("verify", what))
}

#[cfg(live)]
pub(crate) use on_linux::verify;

#[cfg(live)]
mod on_linux {
    use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs, UdpSocket};
    use std::path::PathBuf;
    use std::rc::Rc;
    use std::time::Duration;

    use shortflow_deploy::{
        Astray, Edge, Endpoints, Owners, Settings, Tree, Wanted, astray, compile,
        compile_edge_past, compile_program, quoted,
    };
    use shortflow_policy::Policy;
    use shortflow_text::reason;
    use shortflow_verify::{Error, MarkingBypass, PORT, Peer, Plan, Switch};

    use super::{Console, Failure, Verify};
    use crate::deploy::labelled;
    use crate::deploy_args::{Deploy, TcpArgs};
    use crate::interrupt::stop_on_interrupt;
    use crate::progress::Spinner;
    use crate::standing::{Standing, standing};

    impl From<Error> for Failure {
        fn from(error: Error) -> Self {
            match error {
                Error::Interrupted => {
                    Failure::Interrupted("interrupted: the deployment is restored".to_owned())
                }
                Error::Device(error) => error.into(),
                other => Failure::Machine(other.to_string()),
            }
        }
    }

    /// `shortflow verify`.
    pub(crate) fn verify(console: &Console, args: &Verify) -> Result<(), Failure> {
        let (Some(policy), Some(device), Some(peer)) = (&args.policy, &args.dev, &args.peer) else {
            return listen(console, args);
        };
        let peer = address_of(peer, args.port)?;
        let mut deployed = deployment(args, policy.clone(), device.clone());
        let Standing { tc, observed, wanted, place, policy } = standing(console, &mut deployed)?;
        leads_to(device, peer)?;
        if observed.is_for_verify() {
            let steps = wanted.steps(&tc, &observed, device)?;
            wanted.apply(tc.clone(), &observed, &steps)?;
            console.note("an earlier `verify` was killed; what it left is removed");
        }
        let Wanted { policy: name, edge, tree, .. } = wanted;
        let mut plan = Plan { device: Some(device.clone()), ..plan(args, peer, tree.as_ref())? };
        let owners = labelled(&policy, &args.label)?;
        let passing = edge.map(|marking| passing(&policy, &owners, marking, peer.ip(), &mut plan));
        let passing = passing.transpose()?;
        let mut passing = passing.map(|edges| MarkingBypass::new(tc.clone(), device, &name, edges));
        let mut switch = match (args.on_off, tree) {
            (None, _) => None,
            (Some(_), None) => {
                let what = "--on-off replaces the policy's queue, but no named role has one\nomit it, or also name a \
                     role that queues";
                return Err(Failure::Input(what.to_owned()));
            }
            (Some(_), Some(tree)) => {
                let settings = Settings {
                    rate: Some(tree.rate),
                    link_layer: Some(tree.link_layer),
                    link_header: place.link_header(),
                    kernel: place.kernel.clone(),
                    nearest: false,
                };
                let one_queue = one_queue(&settings, tree.program.is_some())?;
                Some(Switch::new(tc, tree, one_queue))
            }
        };
        let stop = stop_on_interrupt()?;
        let spinner = Spinner::new(console);
        let takes = plan.takes();
        let mut reasons = |what: &str, share: f64| {
            let left = takes.mul_f64(1.0 - share).as_secs();
            spinner.at(&format!("{what}; {left} s left"));
        };
        let findings = plan.conduct(passing.as_mut(), switch.as_mut(), &mut reasons, stop);
        spinner.end();
        let findings = findings?;
        if args.json {
            let mut json = findings.json();
            json["policy"] = name.into();
            json["device"] = device.as_str().into();
            json["peer"] = peer.to_string().into();
            console.print_json(&json)?;
        } else {
            console.print(&format!(
                "{device}: policy {name:?}, to {}\n\n{}",
                peer.ip(),
                findings.text()
            ))?;
        }
        if findings.holds() { Ok(()) } else { Err(Failure::Check) }
    }

    /// What was given to `deploy`.
    fn deployment(args: &Verify, policy: PathBuf, dev: String) -> Deploy {
        let Verify { role, rate, link, set, label, nearest, .. } = args;
        Deploy {
            policy,
            dev,
            tcp: TcpArgs::default(),
            role: role.clone(),
            rate: *rate,
            link: link.clone(),
            set: set.clone(),
            label: label.clone(),
            nearest: *nearest,
            dry_run: false,
            json: false,
            ingress: false,
            up: None,
            down: None,
            set_up: Vec::new(),
            set_down: Vec::new(),
            whole: None,
            inputs: Rc::new(shortflow_shipped::inputs()),
        }
    }

    /// Waits for probes until Ctrl-C.
    fn listen(console: &Console, args: &Verify) -> Result<(), Failure> {
        let peer = match args.at {
            Some(address) => Peer::at(SocketAddr::new(address, args.port))?,
            // A machine without IPv6 has no such address.
            None => Peer::at((Ipv6Addr::UNSPECIFIED, args.port).into())
                .or_else(|_| Peer::at((Ipv4Addr::UNSPECIFIED, args.port).into()))?,
        };
        let port = match args.port {
            PORT => String::new(),
            port => format!(" --port {port}"),
        };
        console.note(&format!(
            "listening at {} for `shortflow verify POLICY --dev DEVICE --peer THIS-MACHINE{port}`; Ctrl-C ends it",
            peer.address()
        ));
        if peer.address().ip().is_unspecified() {
            console.note(
                "any host that reaches this machine can send it probes and transfers; --at ADDRESS listens at one \
                 address only",
            );
        }
        let served = peer.serve(stop_on_interrupt()?)?;
        console.print(&format!("{} probes, {} transfers\n", served.probes, served.transfers))
    }

    fn address_of(peer: &str, port: u16) -> Result<SocketAddr, Failure> {
        let found = (peer, port).to_socket_addrs().ok().and_then(|mut found| found.next());
        found.ok_or_else(|| Failure::Input(without_address(peer)))
    }

    /// What to type instead of a peer that has no address.
    fn without_address(peer: &str) -> String {
        if let Some((host, port)) = peer.rsplit_once(':')
            && port.parse::<u16>().is_ok()
            && !host.trim_matches(['[', ']']).is_empty()
        {
            let host = host.trim_matches(['[', ']']);
            return format!(
                "invalid --peer {peer}: it is an address with a port\nwrite --peer {host} --port {port}"
            );
        }
        let word = quoted(peer);
        format!(
            "no address found for --peer {peer}\ngive an address, such as 192.0.2.7 or 2001:db8::7, or a name that \
             `getent hosts {word}` finds"
        )
    }

    /// Refuses a peer to which packets do not leave through the device: another one would be measured.
    fn leads_to(device: &str, peer: SocketAddr) -> Result<(), Failure> {
        let way = astray(device, peer)?;
        let peer = peer.ip();
        match way {
            None => Ok(()),
            Some(Astray::Here) => Err(Failure::Input(format!(
                "--peer {peer} is this machine, so packets to it do not leave through {device}\ngive a machine at \
                 the other end of the line"
            ))),
            Some(Astray::Through(way)) => Err(Failure::Input(format!(
                "packets to {peer} leave through {way}, not {device} (see `ip route get {peer}`)\ngive a machine \
                 behind {device}, or --dev {way} if the policy is deployed there"
            ))),
        }
    }

    /// What is to be looked at.
    fn plan(args: &Verify, peer: SocketAddr, tree: Option<&Tree>) -> Result<Plan, Failure> {
        const MOST: u64 = 100_000_000;
        if !(1..=MOST).contains(&args.size.0) {
            let what = format!("--size must be from 1 B to 100 MB; found {}", args.size);
            return Err(Failure::Input(what));
        }
        let mut plan = Plan {
            length: Duration::from_secs(args.seconds.into()),
            flows: args.flows.into(),
            size: args.size,
            pairs: args.on_off.unwrap_or(0).into(),
            ..Plan::to(peer)
        };
        let endpoints = Endpoints { from: own_address(peer)?, to: peer.ip(), port: peer.port() };
        if let Some(tree) = tree {
            plan.look_at(tree, endpoints);
        }
        Ok(plan)
    }

    /// What marks, and the same with what goes to the peer left as it is, so that all code points that the policy writes are
    /// looked at.
    fn passing(
        policy: &Policy,
        owners: &Owners,
        marking: Edge,
        peer: IpAddr,
        plan: &mut Plan,
    ) -> Result<[Edge; 2], Failure> {
        plan.look_at_written(&policy.written_code_points());
        let role = policy.role(&marking.role).expect("it was compiled");
        let passing = compile_edge_past(policy, role, owners, peer).map_err(|refusals| {
            let reasons: Vec<String> = refusals.iter().map(ToString::to_string).collect();
            Failure::Machine(format!("probes cannot pass the marker: {}", reasons.join("\n")))
        });
        Ok([marking, passing?])
    }

    /// The address from which packets go to a peer.
    fn own_address(peer: SocketAddr) -> Result<IpAddr, Failure> {
        let any: IpAddr = match peer {
            SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let socket = UdpSocket::bind((any, 0)).and_then(|socket| {
            socket.connect(peer)?;
            socket.local_addr()
        });
        let own = socket.map_err(|error| {
            let (peer, why) = (peer.ip(), reason(&error));
            Failure::Machine(format!("no route to {peer}: {why}\ncheck `ip route get {peer}`"))
        })?;
        Ok(own.ip())
    }

    /// What takes the policy's place: as many packets as a network device's own queue has.
    fn one_queue(settings: &Settings, is_program: bool) -> Result<Tree, Failure> {
        const ONE: &str = "name = \"one queue, for verify\"\n[roles.core]\nqueue.fifo = { limit = \"1000 pkt\" }\n";
        let policy = shortflow_policy::from_text("one queue", ONE, &[])?;
        // In the program that is there nothing is lost on the way.
        let compile = if is_program { compile_program } else { compile };
        compile(&policy, &policy.roles[0], settings).map_err(|refusals| {
            let reasons: Vec<String> = refusals.iter().map(ToString::to_string).collect();
            Failure::Machine(reasons.join("\n"))
        })
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_peer_without_an_address_is_refused_with_what_to_type() {
            assert!(matches!(address_of("192.0.2.7", 9), Ok(found) if found.port() == 9));
            assert!(matches!(address_of("2001:db8::7", 9), Ok(found) if found.is_ipv6()));
            let with_port = "invalid --peer 192.0.2.7:99: it is an address with a port\nwrite --peer 192.0.2.7 --port 99";
            assert_eq!(without_address("192.0.2.7:99"), with_port);
            assert!(
                without_address("[2001:db8::7]:99").ends_with("write --peer 2001:db8::7 --port 99")
            );
            let name = without_address("no host");
            assert!(name.starts_with("no address found for --peer no host\n"), "{name}");
            assert!(name.contains("`getent hosts 'no host'`"), "{name}");
        }
    }
}
