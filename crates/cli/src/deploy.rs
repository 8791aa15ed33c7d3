//! `deploy`, `reload`, `status`, `undeploy`, `doctor`: a policy's queues on a device of this machine.

#[cfg(not(target_os = "linux"))]
pub(crate) use elsewhere::{deploy, doctor, reload, status, undeploy};
#[cfg(live)]
pub(crate) use on_linux::{Place, Spot, labelled, reload_command, wanted};
#[cfg(target_os = "linux")]
pub(crate) use on_linux::{deploy, load, read, reload, way};

#[cfg(target_os = "linux")]
pub(crate) use crate::{deploy_status::status, doctor::doctor, undeploy::undeploy};

#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use crate::console::Console;
    use crate::deploy_args::{Deploy, Doctor, Reload, Status, Undeploy};
    use crate::failure::Failure;

    fn refused() -> Result<(), Failure> {
        let what = "`deploy` requires Linux\nsimulate the policy, or deploy it on a Linux machine";
        Err(Failure::Machine(what.to_owned()))
    }

    pub(crate) fn deploy(_: &Console, _: &Deploy) -> Result<(), Failure> {
        refused()
    }

    pub(crate) fn reload(_: &Console, _: &Reload) -> Result<(), Failure> {
        refused()
    }

    pub(crate) fn status(_: &Console, _: &Status) -> Result<(), Failure> {
        refused()
    }

    pub(crate) fn undeploy(_: &Console, _: &Undeploy) -> Result<(), Failure> {
        refused()
    }

    pub(crate) fn doctor(_: &Console, _: &Doctor) -> Result<(), Failure> {
        refused()
    }
}

#[cfg(target_os = "linux")]
mod on_linux {
    use std::time::Duration;

    use serde_json::{Value, json};
    use shortflow_deploy::{
        DeviceLock, DeviceStatus, Environment, Error, Kernel, Link, Listings, Observed, Owners,
        Received, Refusal, Root, Site, Step, Tc, Unwanted, Wanted, Warning, examine_kernel,
        inline_router, link, own_link, owners, quoted, short,
    };
    use shortflow_policy::Policy;
    use shortflow_text::{InputFiles, Override};

    use crate::console::Console;
    use crate::deploy_args::{Deploy, RateOrDevice, Reload};
    use crate::deploy_plans;
    use crate::doctor::lacking_for_ingress;
    use crate::failure::Failure;
    use crate::reload_options::{KeptOptions, keep, options};
    use shortflow_shipped::wrong_file::{self, Given};

    impl From<Error> for Failure {
        fn from(error: Error) -> Self {
            match error.is_of_input() {
                true => Failure::Input(error.to_string()),
                false => Failure::Machine(error.to_string()),
            }
        }
    }

    /// `shortflow deploy`.
    pub(crate) fn deploy(console: &Console, args: &Deploy) -> Result<(), Failure> {
        if deploy_plans::is_plans(args) {
            return deploy_plans::deploy(console, args);
        }
        args.check_place()?;
        if args.tcp.tcp {
            return crate::deploy_tcp::deploy(console, args);
        }
        let whole = args;
        if args.up.is_some() != args.down.is_some() {
            return Err(one_rate(args, "they are the rates of both directions of a line"));
        }
        let Some([up, down]) = args.directions() else {
            let policy = read(console, &args.inputs, &args.policy, &args.set)?;
            let place = Place::from_args(args)?;
            let wanted = wanted(&policy, args, &place)?;
            let spot = Spot::new(args, place, way(&args.dev, args.dry_run)?)?;
            let change = Change::new(args, policy, wanted, spot, KeptOptions::default());
            change.is_free()?;
            return show_done(console, args, &[change.apply(console, &[])?]);
        };
        let policies = [
            read(console, &up.inputs, &up.policy, &up.set)?,
            load(&down.inputs, &down.policy, &down.set)?,
        ];
        let place = Place::from_args(&up)?;
        let places = [place.clone(), place.received(&down.dev)];
        let [sent, received] =
            [(&up, 0), (&down, 1)].map(|(args, at)| wanted(&policies[at], args, &places[at]));
        let (sent, received) = (sent?, received?);
        let tc = way(&args.dev, args.dry_run)?;
        let [place_of_sent, place_of_received] = places;
        let spots =
            [Spot::new(&up, place_of_sent, tc.clone())?, Spot::new(&down, place_of_received, tc)?];
        let [policy_of_sent, policy_of_received] = policies;
        let [spot_of_sent, spot_of_received] = spots;
        let kept = KeptOptions::default;
        let sent = Change::new(&up, policy_of_sent, sent, spot_of_sent, kept());
        let received = Change::new(&down, policy_of_received, received, spot_of_received, kept());
        match (sent.is_free(), received.is_free()) {
            (Ok(()), Ok(())) => {}
            // One direction was deployed before the other one was interrupted, or alone.
            (Err(_), Ok(())) if sent.is_of_same_policy() => {}
            (Ok(()), Err(_)) if received.is_of_same_policy() => {}
            (Err(error), _) | (_, Err(error)) => return Err(error.into()),
        }
        both(console, whole, sent, received)
    }

    /// `shortflow reload`.
    pub(crate) fn reload(console: &Console, args: &Reload) -> Result<(), Failure> {
        let Reload { deploy: args, reset } = args;
        if deploy_plans::is_plans(args) {
            return deploy_plans::reload(console, args);
        }
        args.check_place()?;
        if args.tcp.tcp {
            return crate::deploy_tcp::reload(console, args);
        }
        let not_deployed =
            |args: &Deploy| Failure::from(Error::NotDeployed { device: name_of(args) });
        let there = DirectionsThere::observe(args)?;
        let is_same = matches!(there, DirectionsThere::Same);
        if args.up.is_some() != args.down.is_some() && (*reset || !is_same) {
            let why = match reset {
                true => "--reset keeps no rate of the deployment",
                false => "no policy is deployed on both directions whose other rate is kept",
            };
            return Err(one_rate(args, why));
        }
        let of_both = || {
            let [up, down] = args.rates();
            is_same.then(|| args.with_rates(up, down))
        };
        let Some([up, down]) = args.directions().or_else(of_both) else {
            let place = Place::from_args(args)?;
            let spot = Spot::new(args, place, way(&args.dev, args.dry_run)?)?;
            if !spot.is_known() {
                let is_received = !args.ingress && DeviceStatus::received(&args.dev)?.is_some();
                return Err(match is_received {
                    true => Failure::Input(format!(
                        "nothing is deployed on what {} sends\nadd --ingress to reload what is deployed on what it receives",
                        args.dev
                    )),
                    false => not_deployed(args),
                });
            }
            let mut change = Change::of_reload(console, args, spot, *reset)?;
            if let DirectionsThere::Other { policy } = there {
                change.wanted.notes.push(format!(
                    "this does not change what {} receives, which has policy {policy:?}: add --ingress to reload that",
                    args.dev
                ));
            }
            return show_done(console, args, &[change.apply(console, &[])?]);
        };
        let place = Place::from_args(&up)?;
        let tc = way(&args.dev, args.dry_run)?;
        let received = place.received(&down.dev);
        let spots = [Spot::new(&up, place, tc.clone())?, Spot::new(&down, received, tc)?];
        if !spots.iter().any(Spot::is_known) {
            return Err(not_deployed(args));
        }
        let [sent, received] = spots;
        let sent = Change::of_reload(console, &up, sent, *reset)?;
        let received = Change::of_reload(console, &down, received, *reset)?;
        both(console, args, sent, received)
    }

    /// Refuses one of --up and --down without the other.
    fn one_rate(args: &Deploy, why: &str) -> Failure {
        let (given, other, alone) = match args.up {
            Some(_) => ("--up", "--down", "--rate"),
            None => ("--down", "--up", "--ingress --rate"),
        };
        Failure::Input(format!(
            "missing {other} RATE, which {given} requires: {why}\nadd {other}, or give {alone} for this direction alone"
        ))
    }

    /// What a reload that does not give the rates of both directions finds on what the device receives.
    enum DirectionsThere {
        /// The policy that is also on what it sends, where no rate says which of both is meant.
        Same,
        /// A policy that this reload does not change.
        Other { policy: String },
        /// Nothing, or the command names the direction.
        One,
    }

    impl DirectionsThere {
        fn observe(args: &Deploy) -> Result<DirectionsThere, Failure> {
            if args.ingress
                || (args.up.is_some() && args.down.is_some())
                || link(&args.dev).is_err()
            {
                return Ok(DirectionsThere::One);
            }
            let received = Received::observe(&args.dev)?.observed;
            let Some(policy) = received.policy() else { return Ok(DirectionsThere::One) };
            let sent = Tc::new(&args.dev).observe()?;
            Ok(match sent.policy() == Some(policy) && args.rate.is_none() {
                true => DirectionsThere::Same,
                false => DirectionsThere::Other { policy: policy.to_owned() },
            })
        }
    }

    /// Changes what a device sends and what it receives. What is refused of either is refused before anything is changed.
    fn both(
        console: &Console,
        whole: &Deploy,
        sent: Change,
        received: Change,
    ) -> Result<(), Failure> {
        sent.steps()?;
        received.steps()?;
        let was_free = !received.spot.is_known();
        // A kernel lacks what received packets need rather than the rest.
        let first = received.apply(console, &[])?;
        // The place for filters is there by now.
        let second = if whole.dry_run { Ok(sent) } else { sent.observed_anew() };
        let second = second.and_then(|sent| sent.apply(console, &first.steps));
        match second {
            Ok(second) => show_done(console, whole, &[second, first]),
            Err(failure) => Err(half_done(whole, failure, was_free)),
        }
    }

    /// What the device sends has failed after what it receives was changed.
    fn half_done(args: &Deploy, failure: Failure, was_free: bool) -> Failure {
        let device = &args.dev;
        let undone = || {
            let received = Received::observe(device).ok()?;
            let steps = received.removal().ok()?;
            received.remove(&Tc::new(device), &steps).ok()
        };
        let now = match was_free && undone().is_some() {
            true => format!("neither direction of {device} is shaped"),
            false => format!("what {device} receives has the new policy; what it sends does not"),
        };
        let add = |what: String| match what.split_once('\n') {
            Some((what, remedy)) => format!("{what}: {now}\n{remedy}"),
            None => format!("{what}: {now}"),
        };
        match failure {
            Failure::Input(what) => Failure::Input(add(what)),
            Failure::Machine(what) => Failure::Machine(add(what)),
            other => other,
        }
    }

    /// A device, the commands to it, and its state.
    pub(crate) struct Spot {
        pub(crate) place: Place,
        pub(crate) tc: Tc,
        pub(crate) observed: Observed,
        /// The way of what the device receives, where this is about that.
        received: Option<Received>,
    }

    impl Spot {
        /// By one who may change the device.
        pub(crate) fn new(args: &Deploy, place: Place, tc: Tc) -> Result<Spot, Failure> {
            if args.ingress {
                let received = match &place.link {
                    Some(_) => Received::observe(&args.dev)?,
                    None => Received::of_unknown(&args.dev)?,
                };
                let (tc, observed) = (received.way(tc), received.observed.clone());
                return Ok(Spot { place, tc, observed, received: Some(received) });
            }
            let observed = match &place.link {
                Some(_) => tc.observe()?,
                None => Tc::parsed(&Listings::default())?,
            };
            Ok(Spot { place, tc, observed, received: None })
        }

        /// Whether something is there, or was.
        fn is_known(&self) -> bool {
            let observed = &self.observed;
            observed.root != Root::Default || observed.is_ours() || observed.is_lost()
        }
    }

    /// How messages call what a command is about.
    fn name_of(args: &Deploy) -> String {
        if args.ingress { Received::name(&args.dev) } else { args.dev.clone() }
    }

    /// What is to become of one direction.
    struct Change {
        args: Deploy,
        policy: Policy,
        wanted: Wanted,
        spot: Spot,
        kept: KeptOptions,
    }

    /// What became of it: what is printed, and the steps.
    struct Done {
        text: String,
        json: Value,
        steps: Vec<Step>,
    }

    fn show_done(console: &Console, args: &Deploy, done: &[Done]) -> Result<(), Failure> {
        match (args.json, done) {
            (false, _) => {
                // A dry run prints steps in their order.
                let in_order: Vec<&Done> =
                    if args.dry_run { done.iter().rev().collect() } else { done.iter().collect() };
                console.print(&in_order.iter().map(|one| one.text.as_str()).collect::<String>())
            }
            (true, [one]) => console.print_json(&one.json),
            (true, all) => {
                let all: Vec<&Value> = all.iter().map(|one| &one.json).collect();
                console.print_json(&json!({ "directions": all }))
            }
        }
    }

    impl Change {
        fn new(
            args: &Deploy,
            policy: Policy,
            wanted: Wanted,
            spot: Spot,
            kept: KeptOptions,
        ) -> Change {
            Change { args: args.clone(), policy, wanted, spot, kept }
        }

        /// With the options that the device keeps.
        fn of_reload(
            console: &Console,
            args: &Deploy,
            spot: Spot,
            reset: bool,
        ) -> Result<Change, Failure> {
            let mut args = args.clone();
            let (policy, kept) = match spot.observed.deployed().filter(|_| !reset) {
                Some(deployed) => keep(console, &mut args, &deployed)?,
                None => (load(&args.inputs, &args.policy, &args.set)?, KeptOptions::default()),
            };
            // Of two directions, one says what both have.
            if args.whole.is_none() || !args.ingress {
                console.warnings(&policy.warnings);
            }
            let wanted = wanted(&policy, &args, &spot.place)?;
            Ok(Change::new(&args, policy, wanted, spot, kept))
        }

        /// Refuses a device that a router has, or on which something is deployed already. What was begun and not finished
        /// is gone on with.
        fn is_free(&self) -> Result<(), Error> {
            let Change { args, policy, spot: Spot { place, observed, .. }, .. } = self;
            // A dry run may be for a device of another machine.
            if place.link.is_some()
                && let Some(router) = inline_router(&args.dev)?
            {
                return Err(Error::Routed { device: args.dev.clone(), router });
            }
            if place.link.is_some() && !args.ingress {
                deploy_plans::refuse_taken(&args.dev)?;
            }
            let is_same = |there: &str| there == short(&policy.name);
            let there = observed.policy().filter(|_| observed.is_ours()).filter(|policy| {
                observed.is_whole()
                    || (observed.is_for_verify() || !observed.damage().is_empty())
                        && !is_same(policy)
            });
            let Some(policy) = there.map(str::to_owned) else { return Ok(()) };
            let ingress = if args.ingress { " --ingress" } else { "" };
            Err(Error::Deployed {
                reload: reload_command(args.whole.as_deref().unwrap_or(args)),
                undeploy: format!("shortflow undeploy --dev {}{ingress}", quoted(&args.dev)),
                device: name_of(args),
                policy,
            })
        }

        /// Whether what stands there is of a policy with this name.
        fn is_of_same_policy(&self) -> bool {
            self.spot.observed.policy() == Some(short(&self.policy.name).as_str())
        }

        fn steps(&self) -> Result<Vec<Step>, Error> {
            let Change { args, wanted, spot, .. } = self;
            match &spot.received {
                Some(received) => received.steps(&spot.tc, wanted),
                None => wanted.steps(&spot.tc, &spot.observed, &args.dev),
            }
        }

        /// The same, from what stands there by now.
        fn observed_anew(self) -> Result<Change, Failure> {
            let Change { args, policy, wanted, spot: Spot { place, tc, .. }, kept } = self;
            let spot = Spot::new(&args, place, tc)?;
            Ok(Change { args, policy, wanted, spot, kept })
        }

        /// Lets the device be as the policy says, where these steps were taken before.
        fn apply(&self, console: &Console, earlier: &[Step]) -> Result<Done, Failure> {
            let Change { args, policy, wanted, spot, kept } = self;
            let Spot { place, tc, observed, received } = spot;
            let mut steps = self.steps()?;
            if args.dry_run {
                steps.retain(|step| !earlier.contains(step));
            }
            let mut notes = kept.notes();
            notes.extend_from_slice(wanted.notes());
            let marks = wanted.edge.is_some();
            notes.extend(match received {
                Some(received) => received.notes_on(marks, &steps),
                None => observed.notes_on(marks, &steps),
            });
            let name = name_of(args);
            if args.whole.is_some() {
                notes.iter_mut().for_each(|note| *note = format!("{name}: {note}"));
            }
            let mut warnings = Warning::all(policy, wanted, &args.dev, &place.environment);
            if let (None, Some(link)) = (received, &place.link) {
                warnings.extend(wanted.tcx_warnings(link, &args.dev));
            }
            if args.dry_run {
                notes.extend(warnings.iter().map(|warning| format!("warning: {warning}")));
                let text = dry_run(args, place, &notes, &steps);
                return Ok(Done { text, json: Value::Null, steps });
            }
            notes.iter().for_each(|note| console.note(note));
            warnings.iter().for_each(|warning| console.warning(&warning.what, &warning.remedy));
            let applied = match received {
                Some(received) => received.apply(tc.clone(), wanted, &steps)?,
                None => wanted.apply(tc.clone(), observed, &steps)?,
            };
            if applied.waiting > 0 {
                let what = format!(
                    "{} packets of the previous policy still wait in their classes and leave by its priorities; the next \
                     command removes the classes",
                    applied.waiting
                );
                console.note(&what);
                notes.push(what);
            }
            let json = json!({
                "device": args.dev, "direction": if args.ingress { "received" } else { "sent" },
                "policy": wanted.policy, "roles": wanted.roles(),
                "rate_bit_per_s": wanted.tree.as_ref().map(|tree| tree.rate.bits_per_sec()),
                "kept": kept.kept, "not_kept": kept.dropped, "notes": notes,
                "warnings": warnings.iter().map(Warning::json).collect::<Vec<_>>(),
                "of_policy": crate::check::as_json(&policy.warnings),
            });
            let text = format!("{name}: policy {:?}{}\n", wanted.policy, wanted.summary());
            Ok(Done { text, json, steps })
        }
    }

    /// The command that deploys the policy with the same options in place of another one.
    pub(crate) fn reload_command(args: &Deploy) -> String {
        let policy = quoted(&args.policy.to_string_lossy());
        let mut words = vec![format!("shortflow reload {policy} --dev {}", quoted(&args.dev))];
        let roles = (!args.role.is_empty()).then(|| quoted(&args.role.join(",")));
        words.extend(roles.map(|roles| format!("--role {roles}")));
        words.extend(args.ingress.then(|| "--ingress".to_owned()));
        for (option, rate) in [("--up", args.up.as_ref()), ("--down", args.down.as_ref())] {
            let rate = rate.and_then(RateOrDevice::rate);
            words.extend(rate.map(|rate| format!("{option} {}", quoted(&rate.to_string()))));
        }
        words.extend(options(args).words());
        for (option, pairs) in [("--set-up", &args.set_up), ("--set-down", &args.set_down)] {
            let pair = |(key, value): &(String, String)| quoted(&format!("{key}={value}"));
            words.extend(pairs.iter().map(|one| format!("{option} {}", pair(one))));
        }
        words.join(" ")
    }

    /// The way to a device. Two commands at once would each be surprised by what the other does, unless it is nothing.
    pub(crate) fn way(device: &str, is_dry: bool) -> Result<Tc, Failure> {
        let tc = Tc::new(device);
        Ok(if is_dry { tc } else { tc.with_lock(DeviceLock::take(device, LOCK_TIMEOUT)?) })
    }

    /// How long one waits for another command that works on the device.
    const LOCK_TIMEOUT: Duration = Duration::from_secs(2);

    /// Where something is deployed, and what is known of it.
    #[derive(Clone)]
    pub(crate) struct Place {
        /// `None` for a dry run for a device of another machine.
        link: Option<Link>,
        pub(crate) kernel: Kernel,
        /// What is around the device.
        environment: Environment,
    }

    impl Place {
        /// Bytes that the device puts before each packet, which the kernel counts.
        pub(crate) fn link_header(&self) -> u64 {
            self.link.as_ref().map_or(14, |link| link.header)
        }
    }

    impl Place {
        pub(crate) fn from_args(args: &Deploy) -> Result<Place, Failure> {
            let place = match own_link(&args.dev) {
                Ok(found) => {
                    let (kernel, environment) =
                        (examine_kernel().0, Environment::detect(&args.dev));
                    Place { link: Some(found), kernel, environment }
                }
                Err(Error::NoDevice { .. }) if args.dry_run => {
                    let (kernel, environment) = (Kernel::with_everything(), Environment::UNKNOWN);
                    Place { link: None, kernel, environment }
                }
                Err(error) => return Err(error.into()),
            };
            Ok(if args.ingress { place.received(&args.dev) } else { place })
        }

        /// The same for what the device receives.
        fn received(&self, device: &str) -> Place {
            let environment = match self.link {
                Some(_) => Environment::detect_received(device),
                None => Environment { is_received: true, ..Environment::UNKNOWN },
            };
            Place { environment, ..self.clone() }
        }
    }

    /// The policy of a file, with these keys changed.
    pub(crate) fn read(
        console: &Console,
        inputs: &InputFiles,
        path: &std::path::Path,
        set: &[(String, String)],
    ) -> Result<Policy, Failure> {
        let policy = load(inputs, path, set)?;
        console.warnings(&policy.warnings);
        Ok(policy)
    }

    /// The same, with unread warnings.
    pub(crate) fn load(
        inputs: &InputFiles,
        path: &std::path::Path,
        set: &[(String, String)],
    ) -> Result<Policy, Failure> {
        let set = set.iter().map(|(key, value)| Override {
            key: key.clone(),
            value: value.clone(),
            prefix: "",
            origin: "--set".to_owned(),
            cell: None,
        });
        wrong_file::refuse(inputs, path, Given::Policy)?;
        Ok(shortflow_policy::load_from(inputs, path, &set.collect::<Vec<_>>())?)
    }

    /// Who owns the connections that have labels.
    pub(crate) fn labelled(policy: &Policy, given: &[(String, String)]) -> Result<Owners, Failure> {
        owners(policy, given).map_err(|why| Failure::Input(format!("--label {why}")))
    }

    /// What the roles come to, or all that is refused of them.
    pub(crate) fn wanted(policy: &Policy, args: &Deploy, place: &Place) -> Result<Wanted, Failure> {
        let rate_option = match (&args.whole, args.ingress) {
            (None, _) => "--rate",
            (Some(_), false) => "--up",
            (Some(_), true) => "--down",
        };
        if args.rate.is_some_and(|rate| rate < Wanted::MIN_RATE) {
            return Err(Failure::Input(format!(
                "{rate_option} must be 64 kbit/s or more\ngive a little less than the rate of the bottleneck"
            )));
        }
        if args.ingress {
            let lacking = lacking_for_ingress(&place.kernel);
            if !lacking.is_empty() {
                let names: Vec<&str> = lacking.iter().map(|kind| kind.name()).collect();
                return Err(Failure::Machine(format!(
                    "this kernel lacks {}, which shaping received packets needs\n{}",
                    names.join(", "),
                    Kernel::remedy(&lacking)
                )));
            }
        }
        let site = Site {
            rate: args.rate,
            speed: place.link.as_ref().and_then(|link| link.speed),
            link_layer: args.link.layer(),
            link_header: place.link_header(),
            kernel: place.kernel.clone(),
            nearest: args.nearest,
        };
        let owners = labelled(policy, &args.label)?;
        let wanted = Wanted::from_policy_with_owners(policy, &args.role, &site, &owners).map_err(
            |unwanted| match unwanted {
                Unwanted::Roles(error) => Failure::Input(error.to_string()),
                Unwanted::Refused(refusals) => refused(&refusals, args.nearest),
            },
        )?;
        let of_queue =
            [(rate_option, args.rate.is_some()), ("--link-layer", args.link.layer().is_some())];
        let given = of_queue.into_iter().find(|(_, is_given)| *is_given);
        if let (None, Some((option, _))) = (&wanted.tree, given) {
            return Err(Failure::Input(format!(
                "{option} applies to a queue, but no named role has one\nomit it, or also name a role that queues"
            )));
        }
        let wanted = match &args.tcp.cgroup {
            // Of both directions, what is received has no sockets.
            Some(_) if args.whole.is_some() && args.ingress => wanted,
            Some(cgroup) => wanted.at_cgroup(cgroup)?,
            None => wanted,
        };
        Ok(wanted.with_options(options(args)).behind(place.environment.translation))
    }

    /// Why it cannot be deployed. `is_nearest` is whether `--nearest` was given.
    fn refused(refusals: &[Refusal], is_nearest: bool) -> Failure {
        let reported: Vec<String> = refusals.iter().map(ToString::to_string).collect();
        let what = match refusals {
            [_] => format!("cannot deploy this: {}", reported[0]),
            _ => format!("cannot deploy this:\n{}", reported.join("\n  ")),
        };
        match refusals.iter().all(|refusal| refusal.of_machine) {
            true => {
                let nearest = if is_nearest { "" } else { "; --nearest may find a replacement" };
                Failure::Machine(format!(
                    "{what}\n`shortflow inline` runs every queue on any kernel{nearest}; `shortflow doctor` shows what this kernel has"
                ))
            }
            false => Failure::Input(what),
        }
    }

    fn dry_run(args: &Deploy, place: &Place, notes: &[String], steps: &[Step]) -> String {
        let mut text = match args.whole {
            Some(_) => format!("# {}\n", name_of(args)),
            None => String::new(),
        };
        if place.link.is_none() {
            text += "# No such device here; assuming untouched Ethernet and a kernel with every queue and BPF qdiscs.\n";
        }
        notes.iter().for_each(|note| text += &format!("# {note}\n"));
        steps.iter().for_each(|step| text += &format!("{step}\n"));
        text
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn nearest_is_advised_only_where_it_was_not_given() {
            let what = "the kernel has no pie".to_owned();
            let refusals = [Refusal {
                path: "queue".to_owned(),
                what,
                nearest: None,
                of_machine: true,
                program: None,
            }];
            let message = |is_nearest| match refused(&refusals, is_nearest) {
                Failure::Machine(message) => message,
                other => panic!("{other:?}"),
            };
            let advised = "; --nearest may find a replacement; ";
            assert!(message(false).contains(advised), "{}", message(false));
            assert!(!message(true).contains("--nearest"), "{}", message(true));
        }
    }
}
