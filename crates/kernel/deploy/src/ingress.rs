//! What a device receives, on its way through an ifb device of our own.
//!
//! ```text
//! line ──▶ eth0, clsact ingress ── mirred ──▶ sf-eth0: program, queues ──▶ as received by eth0
//! ```
//!
//! A deployment on what a device receives is one on what its ifb device sends, and a filter (the redirect) that leads
//! packets there. The kernel drops what is led to a device that is gone or switched off. So the redirect comes last and
//! goes first.

use crate::bytecode::Program;
use crate::converge::Step;
use crate::deployed::Deployed;
use crate::deployed_file::{forget_deployed, forget_received, read_received, save_received};
use crate::device::{Ifb, Link, Links, check_name};
use crate::earlier::EarlierFilters;
use crate::edge::{Behind, Redirect, TcxBefore, place, redirect, remove_place, remove_redirect};
use crate::error::Error;
use crate::observe::{Listings, Observed, has_levels};
use crate::tc::{Applied, Tc};
use crate::wanted::Wanted;

/// What leads the received packets of a device to its ifb device, and what stands at both.
#[derive(Debug, Clone)]
pub struct Received {
    device: Link,
    /// The name of the ifb device, or the one that it gets.
    ifb: String,
    /// Whether the ifb device is switched on; `None` if it is missing.
    is_up: Option<bool>,
    /// What stands at the device.
    at_device: Observed,
    /// What stands at the ifb device, with the faults of the way there.
    pub observed: Observed,
    /// What was deployed, as the file says, where the device says nothing.
    lost: Option<Deployed>,
}

impl Received {
    /// That of the device of this name.
    ///
    /// # Errors
    /// When it is not there, it is an ifb device of ours, or tc or ip cannot be run or read.
    pub fn observe(device: &str) -> Result<Received, Error> {
        check_name(device)?;
        let links = Links::read()?;
        let device = links.link(device)?;
        links.refuse_ifb(&device.name)?;
        let at_device = Tc::new(&device.name).observe()?;
        Received::with(device, at_device, &links)
    }

    /// That of a device about which nothing is known, for a dry run.
    ///
    /// # Errors
    /// None that is known.
    pub fn of_unknown(device: &str) -> Result<Received, Error> {
        let device = Link { name: device.to_owned(), index: 0, header: 14, speed: None };
        let untouched = Tc::parsed(&Listings::default())?;
        Ok(Received {
            ifb: Ifb::name_for(&device, &[]),
            device,
            is_up: None,
            at_device: untouched.clone(),
            observed: untouched,
            lost: None,
        })
    }

    /// That of a device at which this stands, where these devices are there.
    pub(crate) fn with(
        device: Link,
        at_device: Observed,
        links: &Links,
    ) -> Result<Received, Error> {
        let all = links.ifbs();
        let found = all.iter().find(|ifb| ifb.of == device.index);
        let ifb = match found {
            Some(ifb) => ifb.name.clone(),
            None => Ifb::name_for(&device, &links.names()),
        };
        let observed = match found {
            Some(ifb) => Tc::new(&ifb.name).observe()?,
            None => Tc::parsed(&Listings::default())?,
        };
        let lost = read_received(&device.name);
        let is_up = found.map(|ifb| ifb.is_up);
        let received = Received { device, ifb, is_up, at_device, observed, lost };
        Ok(received.with_way())
    }

    /// The same, where the state of the ifb device tells of the way there.
    fn with_way(mut self) -> Received {
        let redirect = self.at_device.edge.redirect.as_ref();
        self.observed.is_way = self.is_up.is_some() || redirect.is_some();
        let kept = redirect.and_then(|redirect| redirect.record.clone()).or(self.lost.clone());
        if self.observed.lost.is_none() && self.is_up.is_none() {
            self.observed.lost = kept;
        }
        self.observed.faults = self.faults().into_iter().collect();
        self
    }

    /// What is wrong with the way, as a sentence; `None` if nothing is, or nothing was deployed.
    fn faults(&self) -> Option<String> {
        let Received { device, ifb, is_up, at_device, observed, lost } = self;
        let name = &device.name;
        let dropped = format!("the kernel drops every packet that {name} receives");
        match (&at_device.edge.redirect, is_up) {
            (Some(_), None) => Some(format!("the device {ifb} is missing: {dropped}")),
            (Some(_), Some(false)) => Some(format!("the device {ifb} is down: {dropped}")),
            (Some(Redirect { to: Some(to), .. }), Some(true)) if to == ifb => None,
            (Some(Redirect { to: Some(to), .. }), Some(true)) => Some(format!(
                "the filter that redirects what {name} receives leads to {to} instead of {ifb}"
            )),
            (Some(Redirect { to: None, .. }), Some(true)) => {
                Some(format!("the filter that redirects what {name} receives leads nowhere: {dropped}"))
            }
            // One that was interrupted before its queues stood is incomplete.
            (None, Some(_)) => observed.memo.is_some().then(|| {
                format!(
                    "the filter that redirects what {name} receives to {ifb} is missing: received \
                        packets are not shaped"
                )
            }),
            (None, None) => lost.is_some().then(|| {
                format!(
                    "the device {ifb} and the filter that redirects there are missing: packets that \
                        {name} receives are not shaped"
                )
            }),
        }
    }

    /// The device that receives the packets.
    pub fn device(&self) -> &Link {
        &self.device
    }

    /// The name of its ifb device, or the one that it gets.
    pub fn ifb(&self) -> &str {
        &self.ifb
    }

    /// How people and messages call it.
    pub fn name(device: &str) -> String {
        format!("{device} (received)")
    }

    /// Whether anything of it is there, or was deployed.
    pub fn is_known(&self) -> bool {
        self.observed.is_ours() || self.observed.is_lost()
    }

    /// Filters of others that may keep packets from the redirect.
    pub(crate) fn earlier_filters(&self) -> Option<EarlierFilters> {
        self.at_device.edge.before_redirect(&self.device.name)
    }

    /// Programs of others at tcx that see packets before the redirect.
    pub(crate) fn tcx_before(&self) -> Vec<TcxBefore> {
        let redirect = self.at_device.edge.redirect.as_ref();
        redirect.map_or_else(Vec::new, |_| TcxBefore::at(self.device.index, Behind::Redirect))
    }

    /// The commands to the ifb device, by one who may change the device.
    #[must_use]
    pub fn way(&self, tc: Tc) -> Tc {
        tc.at(&self.ifb).with_header(self.device.header)
    }

    /// The steps that let what is wanted stand there: the ifb device first, then what stands at it, and the redirect last.
    ///
    /// # Errors
    /// As of [`Wanted::steps`]; when a marker asks for sockets, or somebody else's filter is at the redirect's place.
    pub fn steps(&self, tc: &Tc, wanted: &Wanted) -> Result<Vec<Step>, Error> {
        not_of_sockets(wanted)?;
        if let Some(place) = self.at_device.edge.taken_by_others_for_redirect() {
            let (device, what) = (self.device.name.clone(), "the redirect of received packets");
            return Err(Error::PlaceTaken { device, what, point: "ingress", place });
        }
        let mut steps = self.device_steps();
        steps.extend(wanted.steps(tc, &self.observed, &self.ifb)?);
        steps.extend(self.redirect_steps(wanted));
        self.at_device.edge.with_place(&self.device.name, steps)
    }

    /// The ifb device, switched on. A redirect to one that is missing drops packets, so it goes before anything else.
    fn device_steps(&self) -> Vec<Step> {
        let Received { device, ifb, is_up, at_device, .. } = self;
        let leads_nowhere = |redirect: &Redirect| is_up.is_none() || redirect.to.is_none();
        let mut steps = Vec::new();
        if at_device.edge.redirect.as_ref().is_some_and(leads_nowhere) {
            steps.push(remove_redirect(&device.name));
        }
        if is_up.is_none() {
            let group = Ifb::group(device.index);
            steps.push(Step::Ip(format!("link add name {ifb} group {group} type ifb")));
            // It speaks to nobody, and needs no address.
            steps.push(Step::Ip(format!("link set dev {ifb} addrgenmode none")));
        }
        if *is_up != Some(true) {
            steps.push(Step::Ip(format!("link set dev {ifb} up")));
        }
        steps
    }

    /// What leads packets to the ifb device, with the record of what stands there.
    fn redirect_steps(&self, wanted: &Wanted) -> Vec<Step> {
        let Received { device: Link { name, .. }, ifb, is_up, at_device, .. } = self;
        let record = self.record(wanted);
        let is_there = at_device.edge.redirect.as_ref().is_some_and(|there| {
            let is_led = there.to.as_ref() == Some(ifb) && is_up.is_some();
            is_led && there.record.as_ref() == Some(&record)
        });
        let mut steps = Vec::new();
        if !at_device.edge.has_place {
            steps.push(place(name));
        }
        if !is_there {
            let program = Program::taking_all(&record.text());
            steps.push(Step::Tc(redirect(name, ifb, &program)));
        }
        steps
    }

    /// What the device keeps of it.
    fn record(&self, wanted: &Wanted) -> Deployed {
        let has_found_place = self.place_was_found();
        Deployed { has_found_place, ..wanted.deployed(&self.observed) }
    }

    /// Whether the place for filters at the device was there before anything of ours.
    fn place_was_found(&self) -> bool {
        let edge = &self.at_device.edge;
        match (&edge.redirect, &self.lost) {
            (None, Some(lost)) => lost.has_found_place,
            // One that was interrupted has made the place that is there.
            (None, None) if self.is_up.is_some() => edge.found_place(),
            _ => self.at_device.place_was_found(),
        }
    }

    /// The steps that remove everything: the redirect first, so that packets flow.
    ///
    /// # Errors
    /// When nothing is there.
    pub fn removal(&self) -> Result<Vec<Step>, Error> {
        let Received { device: Link { name, .. }, ifb, is_up, at_device, .. } = self;
        if !self.is_known() {
            return Err(Error::NotDeployed { device: Received::name(name) });
        }
        let edge = &at_device.edge;
        let is_needed = at_device.is_ours() || edge.has_others() || self.place_was_found();
        let mut steps = Vec::new();
        if edge.has_place && !is_needed {
            steps.push(remove_place(name));
        } else if edge.redirect.is_some() {
            steps.push(remove_redirect(name));
        }
        if is_up.is_some() {
            steps.push(Step::Ip(format!("link del dev {ifb}")));
        }
        Ok(steps)
    }

    /// The waiting packets that these steps discard.
    pub fn lost_by(&self, steps: &[Step]) -> u64 {
        let is_of_device = |step: &&Step| match step {
            Step::Tc(command) => command.split(' ').nth(3) == Some(self.device.name.as_str()),
            _ => false,
        };
        let of_device: Vec<Step> = steps.iter().filter(is_of_device).cloned().collect();
        let is_removal =
            |step: &Step| matches!(step, Step::Ip(command) if command.starts_with("link del"));
        let of_ifb = if steps.iter().any(is_removal) { self.observed.backlog } else { 0 };
        self.at_device.lost_by(&of_device) + of_ifb
    }

    /// What there is to say of others, before these steps bring something there.
    pub fn notes_on(&self, marks: bool, steps: &[Step]) -> Vec<String> {
        let lost = match self.lost_by(steps) {
            0 => None,
            lost => Some(format!(
                "about {lost} waiting packets are lost: the kernel empties the queues of a device \
                    when clsact is added"
            )),
        };
        let before = self.observed.edge.before(marks, has_levels(steps));
        let before = self.earlier_filters().into_iter().chain(before).map(|before| before.text);
        let tcx = TcxBefore::at(self.device.index, Behind::Redirect);
        let tcx = tcx.iter().map(TcxBefore::text);
        lost.into_iter().chain(before).chain(tcx).collect()
    }

    /// Applies it. When it fails or is interrupted, packets flow, and a new plan leads on.
    ///
    /// # Errors
    /// As of [`Wanted::apply`].
    pub fn apply(&self, tc: Tc, wanted: &Wanted, steps: &[Step]) -> Result<Applied, Error> {
        let name = &self.device.name;
        save_received(name, &self.record(wanted))?;
        // The records of a device need its index, so it is made first.
        let (of_device, rest) = steps.split_at(self.device_steps().len());
        let applied = tc.apply(of_device).and_then(|begun| {
            let applied = wanted.apply(tc, &self.observed, rest)?;
            Ok(Applied { commands: begun.commands + applied.commands, ..applied })
        });
        if applied.is_err() && !self.is_known() {
            self.undo_beginning();
        }
        applied
    }

    /// Removes an ifb device that was made for queues that did not come.
    fn undo_beginning(&self) {
        let Ok(now) = Received::observe(&self.device.name) else { return };
        if now.observed.has_parts() || now.at_device.edge.redirect.is_some() {
            return;
        }
        // What fails here is found by `status`, and removed by the next `undeploy`.
        let _ = now.removal().and_then(|steps| now.remove(&Tc::new(&self.device.name), &steps));
    }

    /// Removes it by these steps.
    ///
    /// # Errors
    /// As of [`Tc::apply`].
    pub fn remove(&self, tc: &Tc, steps: &[Step]) -> Result<Applied, Error> {
        // If this is killed now, the kernel's records say what is left.
        forget_received(&self.device.name);
        if self.is_up.is_some() {
            forget_deployed(&self.ifb);
        }
        tc.apply(steps)
    }
}

/// Packets that arrive have no socket of this machine yet.
fn not_of_sockets(wanted: &Wanted) -> Result<(), Error> {
    let Some(edge) = &wanted.edge else { return Ok(()) };
    let what = match () {
        () if edge.plan.echoes() => {
            "`acks = \"echo\"` marks acknowledgements that this machine sends"
        }
        () if !edge.labels.is_empty() => {
            "a label belongs to connections by what this machine's sockets send"
        }
        () if edge.plan.has_objects() => {
            "`thresholds = \"application\"` asks the sockets of this machine, which received packets lack"
        }
        () if edge.asks_sockets => {
            "a marker or rule asks the socket that sends a packet; received packets lack it"
        }
        () => return Ok(()),
    };
    Err(Error::NotReceived { what })
}

#[cfg(test)]
mod tests {
    use shortflow_policy::from_text;

    use super::*;
    use crate::{Kernel, Site};

    const CLSACT: &str = r#"[{"kind":"clsact","handle":"ffff:"}]"#;

    fn wanted() -> Wanted {
        let policy =
            from_text("p.toml", "[roles.core.queue.fifo]\nlimit = \"9 pkt\"\n", &[]).unwrap();
        let site = Site {
            rate: Some("2 Mbit/s".parse().unwrap()),
            speed: None,
            link_layer: None,
            link_header: 14,
            kernel: Kernel::default(),
            nearest: false,
        };
        Wanted::from_policy(&policy, &[], &site).unwrap()
    }

    /// The listing of a redirect to a device.
    fn led_to(to: &str) -> String {
        let record = Deployed { policy: "Before".to_owned(), ..Deployed::default() };
        let program = Program::taking_all(&record.text());
        let insns = program.instructions().iter();
        let insns: Vec<String> = insns
            .map(|it| format!(r#"{{"code":{},"jt":0,"jf":0,"k":{}}}"#, it.code, it.operand))
            .collect();
        format!(
            r#"[{{"pref":21321,"kind":"bpf"}},{{"pref":21321,"kind":"bpf","options":{{"handle":"0x1","bytecode":
            {{"insns":[{}]}},"actions":[{{"kind":"mirred","mirred_action":"redirect","direction":"egress","to_dev":"{to}"}}]}}}}]"#,
            insns.join(",")
        )
    }

    fn received(qdiscs: &str, ingress: &str, is_up: Option<bool>) -> Received {
        let parsed = |listings: &Listings<'_>| Tc::parsed(listings).unwrap();
        Received {
            device: Link { name: "eth0".to_owned(), index: 7, header: 14, speed: None },
            ifb: "sf-eth0".to_owned(),
            is_up,
            at_device: parsed(&Listings { qdiscs, ingress, ..Listings::default() }),
            observed: parsed(&Listings::default()),
            lost: None,
        }
        .with_way()
    }

    /// The steps at the device and of devices, without those at the ifb device.
    fn outside(steps: &[Step]) -> Vec<String> {
        let texts = steps.iter().map(ToString::to_string);
        let texts = texts.filter(|step| step.starts_with("ip ") || step.contains(" dev eth0 "));
        texts.map(|step| step.split(" bpf").next().unwrap_or_default().to_owned()).collect()
    }

    fn steps(of: &Received) -> Vec<String> {
        let tc = of.way(Tc::new("eth0"));
        let steps = of.steps(&tc, &wanted()).unwrap();
        let last = steps.last().unwrap().to_string();
        assert!(last.contains("ingress") && last.ends_with("redirect dev sf-eth0"), "{last}");
        outside(&steps)
    }

    #[test]
    fn packets_are_led_to_queues_that_stand_and_never_to_a_device_that_is_missing() {
        let redirect = "tc filter replace dev eth0 ingress protocol all pref 21321 handle 1";
        let removal = "tc filter del dev eth0 ingress protocol all pref 21321 handle 1";
        let made = [
            "ip link add name sf-eth0 group 1593835527 type ifb",
            "ip link set dev sf-eth0 addrgenmode none",
            "ip link set dev sf-eth0 up",
        ];
        let first = received("[]", "[]", None);
        assert_eq!(
            steps(&first),
            [&made[..], &["tc qdisc add dev eth0 clsact", redirect]].concat()
        );
        let gone = received(CLSACT, &led_to("*"), None);
        assert_eq!(steps(&gone), [&[removal], &made[..], &[redirect]].concat());
        // One that has another name meanwhile is led to before its queues stand.
        let other = received(CLSACT, &led_to("sf-other"), None);
        assert_eq!(steps(&other), [&[removal], &made[..], &[redirect]].concat());
        let down = received(CLSACT, &led_to("sf-eth0"), Some(false));
        assert_eq!(steps(&down), ["ip link set dev sf-eth0 up", redirect]);
    }

    #[test]
    fn a_removal_lets_packets_pass_before_it_removes_the_device() {
        let removal = |of: &Received| outside(&of.removal().unwrap());
        let ours = received(CLSACT, &led_to("sf-eth0"), Some(true));
        assert_eq!(removal(&ours), ["tc qdisc del dev eth0 clsact", "ip link del dev sf-eth0"]);
        let other = r#",{"pref":9,"kind":"bpf","options":{"handle":"0x1"}}]"#;
        let beside = led_to("sf-eth0").replace("}]}}]", &format!("}}]}}}}{other}"));
        let shared = received(CLSACT, &beside, Some(true));
        let redirect = "tc filter del dev eth0 ingress protocol all pref 21321 handle 1";
        assert_eq!(removal(&shared), [redirect, "ip link del dev sf-eth0"]);
        let untouched = received("[]", "[]", None);
        assert!(matches!(untouched.removal(), Err(Error::NotDeployed { .. })));
    }

    #[test]
    fn a_redirect_that_drops_packets_is_named_with_what_follows() {
        let fault = |of: &Received| of.observed.faults.concat();
        let drops = "the kernel drops every packet that eth0 receives";
        for (to, is_up) in [("*", None), ("sf-eth0", Some(false)), ("*", Some(true))] {
            let found = fault(&received(CLSACT, &led_to(to), is_up));
            assert!(found.ends_with(drops), "{found}");
        }
        assert_eq!(fault(&received(CLSACT, &led_to("sf-eth0"), Some(true))), "");
        assert_eq!(
            fault(&received("[]", "[]", Some(true))),
            "",
            "one that was begun is incomplete"
        );
    }
}
