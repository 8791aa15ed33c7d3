//! `deploy`, `reload`, `status`, `undeploy`, `doctor`: a policy's queues on a device of this machine.

#[cfg(not(target_os = "linux"))]
pub(crate) use elsewhere::{deploy, doctor, reload, status, undeploy};
#[cfg(target_os = "linux")]
pub(crate) use on_linux::{
    Standing, deploy, doctor, labelled, load, read, reload, standing, status, undeploy,
};

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
    use std::collections::BTreeSet;
    use std::io::IsTerminal;
    use std::sync::atomic::Ordering;
    use std::time::{Duration, Instant};

    use serde_json::{Value, json};
    use shortflow_deploy::{
        DeviceLock, DeviceStatus, Environment, Error, Kernel, Kind, Link, Listings, Observed,
        Owners, Refusal, Root, Settings, Site, Step, Tc, Unwanted, Wanted, Warning, any_owners,
        compile, compile_edge, examine, examine_kernel, forget_deployed, link, owners, quoted,
        roles_of, short,
    };
    use shortflow_policy::Policy;
    use shortflow_text::{InputFiles, Override};

    use crate::console::Console;
    use crate::deploy_args::{Deploy, Doctor, Reload, Status, Undeploy};
    use crate::failure::Failure;
    use crate::interrupt::stop_on_interrupt;
    use crate::reload_options::{KeptOptions, keep, options};
    use crate::wrong_file::{self, Given};

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
        let policy = read(console, &args.policy, &args.set)?;
        let place = Place::from_args(args)?;
        let wanted = wanted(&policy, args, &place)?;
        let spot = Spot::from_args(args, place)?;
        let observed = &spot.observed;
        let fit = {
            let is_same = |there: &str| there == short(&policy.name);
            match observed.policy().filter(|_| observed.is_ours()) {
                Some(policy)
                    if observed.is_whole()
                        || (observed.is_for_verify() || !observed.damage().is_empty())
                            && !is_same(policy) =>
                {
                    let (device, policy) = (args.dev.clone(), policy.to_owned());
                    Err(Error::Deployed { reload: reload_command(args), device, policy })
                }
                // What was begun and not finished is gone on with.
                _ => Ok(()),
            }
        };
        fit?;
        change(console, args, &policy, &wanted, spot, KeptOptions::default())
    }

    /// `shortflow reload`.
    pub(crate) fn reload(console: &Console, args: &Reload) -> Result<(), Failure> {
        let Reload { deploy: args, reset } = args;
        let spot = Spot::from_args(args, Place::from_args(args)?)?;
        let observed = &spot.observed;
        if observed.root == Root::Default && !observed.is_ours() && !observed.is_lost() {
            return Err(Error::NotDeployed { device: args.dev.clone() }.into());
        }
        let mut args = args.clone();
        let (policy, kept) = match observed.deployed().filter(|_| !reset) {
            Some(deployed) => keep(console, &mut args, &deployed)?,
            None => (read(console, &args.policy, &args.set)?, KeptOptions::default()),
        };
        let wanted = wanted(&policy, &args, &spot.place)?;
        change(console, &args, &policy, &wanted, spot, kept)
    }

    /// A device, the commands to it, and its state.
    struct Spot {
        place: Place,
        tc: Tc,
        observed: Observed,
    }

    impl Spot {
        fn from_args(args: &Deploy, place: Place) -> Result<Spot, Failure> {
            let tc = way(&args.dev, args.dry_run)?;
            let observed = match &place.link {
                Some(_) => tc.observe()?,
                None => Tc::parsed(&Listings::default())?,
            };
            Ok(Spot { place, tc, observed })
        }
    }

    /// Lets the device be as the policy says.
    fn change(
        console: &Console,
        args: &Deploy,
        policy: &Policy,
        wanted: &Wanted,
        spot: Spot,
        kept: KeptOptions,
    ) -> Result<(), Failure> {
        let mut notes = kept.notes();
        let Spot { place, tc, observed } = spot;
        let steps = wanted.steps(&tc, &observed, &args.dev)?;
        notes.extend_from_slice(wanted.notes());
        notes.extend(observed.notes_on(wanted.edge.is_some(), &steps));
        let warnings = Warning::all(policy, wanted, &args.dev, &place.environment);
        if args.dry_run {
            notes.extend(warnings.iter().map(|warning| format!("warning: {warning}")));
            return dry_run(console, &place, &notes, &steps);
        }
        notes.iter().for_each(|note| console.note(note));
        warnings.iter().for_each(|warning| console.warning(&warning.what, &warning.remedy));
        let applied = wanted.apply(tc, &observed, &steps)?;
        if applied.waiting > 0 {
            let what = format!(
                "{} packets of the previous policy still wait in their classes and leave by its priorities; the next \
                 command removes the classes",
                applied.waiting
            );
            console.note(&what);
            notes.push(what);
        }
        if args.json {
            return console.print_json(&json!({
                "device": args.dev, "policy": wanted.policy, "roles": wanted.roles(),
                "rate_bit_per_s": wanted.tree.as_ref().map(|tree| tree.rate.bits_per_sec()),
                "kept": kept.kept, "not_kept": kept.dropped, "notes": notes,
                "warnings": warnings.iter().map(Warning::json).collect::<Vec<_>>(),
                "of_policy": crate::check::as_json(&policy.warnings),
            }));
        }
        console.print(&format!("{}: policy {:?}{}\n", args.dev, wanted.policy, wanted.summary()))
    }

    /// What stands at a device, and should.
    pub(crate) struct Standing {
        /// The way there, which no other command takes meanwhile.
        pub(crate) tc: Tc,
        /// Its state.
        pub(crate) observed: Observed,
        /// The wanted state of the policy.
        pub(crate) wanted: Wanted,
        pub(crate) place: Place,
        pub(crate) policy: Policy,
    }

    /// The state of a device, and the wanted state of the policy there; with the deployed options if none are given.
    pub(crate) fn standing(console: &Console, args: &mut Deploy) -> Result<Standing, Failure> {
        let Spot { place, tc, observed } = Spot::from_args(args, Place::from_args(args)?)?;
        let (Some(name), Some(deployed)) = (observed.policy(), observed.deployed()) else {
            return Err(Error::NotDeployed { device: args.dev.clone() }.into());
        };
        if let Some(damage) = observed.damage().first() {
            return Err(Failure::Input(format!(
                "the deployment on {} was changed from outside: {damage}\nrepair it with `{}`",
                args.dev,
                reload_command(args)
            )));
        }
        if !observed.is_whole() && !observed.is_for_verify() {
            return Err(Failure::Input(format!(
                "the deployment on {} is incomplete\ncomplete it with `{}`",
                args.dev,
                reload_command(args)
            )));
        }
        plays(args, &observed)?;
        let (policy, _) = keep(console, args, &deployed)?;
        if name != short(&policy.name) {
            return Err(another(args, name));
        }
        let wanted = wanted(&policy, args, &place)?;
        if let Some(lost) = observed.lost_labels().first() {
            console.print(&format!("{}: WRONG: {lost}\n", args.dev))?;
            return Err(Failure::Check);
        }
        match wanted.is_deployed_except_verify(&observed) {
            true => Ok(Standing { tc, observed, wanted, place, policy }),
            false => Err(another(args, name)),
        }
    }

    /// Something else is deployed there.
    fn another(args: &Deploy, name: &str) -> Failure {
        Failure::Input(format!(
            "{} runs policy {name:?}, not {} with these roles, keys and labels\ngive the options that `deploy` got, \
             or apply this policy with `{}`",
            args.dev,
            args.policy.display(),
            reload_command(args)
        ))
    }

    /// The command that deploys the policy with the same options in place of another one.
    fn reload_command(args: &Deploy) -> String {
        let policy = quoted(&args.policy.to_string_lossy());
        let mut words = vec![format!("shortflow reload {policy} --dev {}", quoted(&args.dev))];
        let roles = (!args.role.is_empty()).then(|| quoted(&args.role.join(",")));
        words.extend(roles.map(|roles| format!("--role {roles}")));
        words.extend(options(args).words());
        words.join(" ")
    }

    /// Defaults to the roles that the device has, and refuses others: a deployment is one unit.
    fn plays(args: &mut Deploy, observed: &Observed) -> Result<(), Failure> {
        let played = observed.roles();
        if args.role.is_empty() {
            args.role = played;
            return Ok(());
        }
        let all = |some: &[String], others: &[String]| some.iter().all(|it| others.contains(it));
        if all(&args.role, &played) && all(&played, &args.role) {
            return Ok(());
        }
        Err(Failure::Input(format!(
            "{} has {}, but --role names {}\nomit --role, or use --role {}",
            args.dev,
            roles_text(&played),
            roles_text(&args.role),
            played.join(",")
        )))
    }

    fn roles_text(names: &[String]) -> String {
        let word = if names.len() == 1 { "the role" } else { "the roles" };
        format!("{word} `{}`", names.join("`, `"))
    }

    /// The way to a device. Two commands at once would each be surprised by what the other does, unless it is nothing.
    fn way(device: &str, is_dry: bool) -> Result<Tc, Failure> {
        let tc = Tc::new(device);
        Ok(if is_dry { tc } else { tc.with_lock(DeviceLock::take(device, LOCK_TIMEOUT)?) })
    }

    /// How long one waits for another command that works on the device.
    const LOCK_TIMEOUT: Duration = Duration::from_secs(2);

    /// Where something is deployed, and what is known of it.
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
        fn from_args(args: &Deploy) -> Result<Place, Failure> {
            match link(&args.dev) {
                Ok(found) => Ok(Place {
                    link: Some(found),
                    kernel: examine_kernel().0,
                    environment: Environment::detect(&args.dev),
                }),
                Err(Error::NoDevice { .. }) if args.dry_run => {
                    let (kernel, environment) = (Kernel::default(), Environment::UNKNOWN);
                    Ok(Place { link: None, kernel, environment })
                }
                Err(error) => Err(error.into()),
            }
        }
    }

    /// The policy of a file, with these keys changed.
    pub(crate) fn read(
        console: &Console,
        path: &std::path::Path,
        set: &[(String, String)],
    ) -> Result<Policy, Failure> {
        let policy = load(path, set)?;
        console.warnings(&policy.warnings);
        Ok(policy)
    }

    /// The same, with unread warnings.
    pub(crate) fn load(
        path: &std::path::Path,
        set: &[(String, String)],
    ) -> Result<Policy, Failure> {
        let set = set.iter().map(|(key, value)| Override {
            key: key.clone(),
            value: value.clone(),
            prefix: "",
            origin: "--set".to_owned(),
        });
        let inputs = InputFiles::default();
        wrong_file::refuse(&inputs, path, Given::Policy)?;
        Ok(shortflow_policy::load_from(&inputs, path, &set.collect::<Vec<_>>())?)
    }

    /// Who owns the connections that have labels.
    pub(crate) fn labelled(policy: &Policy, given: &[(String, String)]) -> Result<Owners, Failure> {
        owners(policy, given).map_err(|why| Failure::Input(format!("--label {why}")))
    }

    /// What the roles come to, or all that is refused of them.
    fn wanted(policy: &Policy, args: &Deploy, place: &Place) -> Result<Wanted, Failure> {
        if args.rate.is_some_and(|rate| rate < Wanted::MIN_RATE) {
            let what = "--rate must be 64 kbit/s or more\ngive a little less than the rate of the bottleneck";
            return Err(Failure::Input(what.to_owned()));
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
            [("--rate", args.rate.is_some()), ("--link-layer", args.link.layer().is_some())];
        let given = of_queue.into_iter().find(|(_, is_given)| *is_given);
        if let (None, Some((option, _))) = (&wanted.tree, given) {
            return Err(Failure::Input(format!(
                "{option} applies to a queue, but no named role has one\nomit it, or also name a role that queues"
            )));
        }
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
                let nearest = if is_nearest { "" } else { "; --nearest may find a way" };
                Failure::Machine(format!(
                    "{what}\n`shortflow doctor` shows what this kernel has{nearest}"
                ))
            }
            false => Failure::Input(what),
        }
    }

    fn dry_run(
        console: &Console,
        place: &Place,
        notes: &[String],
        steps: &[Step],
    ) -> Result<(), Failure> {
        let mut text = String::new();
        if place.link.is_none() {
            text += "# No such device here; assuming untouched Ethernet and a kernel with every queue.\n";
        }
        notes.iter().for_each(|note| text += &format!("# {note}\n"));
        steps.iter().for_each(|step| text += &format!("{step}\n"));
        console.print(&text)
    }

    /// `shortflow undeploy`.
    pub(crate) fn undeploy(console: &Console, args: &Undeploy) -> Result<(), Failure> {
        link(&args.dev)?;
        let tc = way(&args.dev, args.dry_run)?;
        let observed = tc.observe()?;
        let steps = if observed.is_lost() { Vec::new() } else { tc.plan_removal(&observed)? };
        if args.dry_run {
            let lines: String = steps.iter().map(|step| format!("{step}\n")).collect();
            return console.print(&lines);
        }
        // If this is killed now, the kernel's records say what is left.
        forget_deployed(&args.dev);
        tc.apply(&steps)?;
        let lost = match observed.lost_by(&steps) {
            0 => String::new(),
            waiting => format!("; about {waiting} waiting packets are lost"),
        };
        console.print(&format!("{}: restored to the previous state{lost}\n", args.dev))
    }

    /// `shortflow status`.
    pub(crate) fn status(console: &Console, args: &Status) -> Result<(), Failure> {
        if !args.watch {
            let found = look(args)?;
            show(console, args, &found)?;
            let is_well = found.iter().all(|status| status.wrongs().is_empty());
            return if is_well { Ok(()) } else { Err(Failure::Check) };
        }
        let stop = stop_on_interrupt()?;
        let clear = !args.json && std::io::stdout().is_terminal();
        while !stop.load(Ordering::Relaxed) {
            let found = look(args)?;
            if clear {
                console.print("\x1b[H\x1b[2J")?;
            }
            show(console, args, &found)?;
            let next = Instant::now() + Duration::from_secs(1);
            while Instant::now() < next && !stop.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(50));
            }
        }
        Ok(())
    }

    fn look(args: &Status) -> Result<Vec<DeviceStatus>, Failure> {
        let Some(device) = &args.dev else { return Ok(DeviceStatus::all()?) };
        link(device)?;
        let found = DeviceStatus::read(device)?;
        found
            .map(|status| vec![status])
            .ok_or_else(|| Error::NotDeployed { device: device.clone() }.into())
    }

    const NOTHING_DEPLOYED: &str = "no policy is deployed on this machine\n";

    fn show(console: &Console, args: &Status, found: &[DeviceStatus]) -> Result<(), Failure> {
        if args.json {
            let found: Vec<Value> = found.iter().map(DeviceStatus::json).collect();
            let value = json!({ "devices": found });
            return match args.watch {
                true => console.print(&format!("{value}\n")),
                false => console.print_json(&value),
            };
        }
        let texts: Vec<String> = found.iter().map(DeviceStatus::text).collect();
        match texts.is_empty() {
            true => console.print(NOTHING_DEPLOYED),
            false => console.print(&texts.join("\n")),
        }
    }

    /// `shortflow doctor`.
    pub(crate) fn doctor(console: &Console, args: &Doctor) -> Result<(), Failure> {
        let report = examine();
        let Needs { kinds, program, reported } = match &args.policy {
            Some(path) => needs(&read(console, path, &[])?, &args.role)?,
            None => Needs { kinds: [Kind::Htb, Kind::Bpf, Kind::Pfifo].into(), ..Needs::default() },
        };
        if args.json {
            let mut value = report.json(&kinds);
            value["policy"] = json!(reported);
            console.print_json(&value)?;
        } else {
            let reported: String = reported.iter().map(|line| format!("  {line}\n")).collect();
            let whom = if args.policy.is_some() { "the policy" } else { "every queue" };
            console.print(&(report.text(&kinds, whom) + &reported))?;
        }
        let needed = report.findings.iter().chain(program.then_some(&report.program));
        let missing = needed.filter_map(|finding| {
            let lacking = finding.found.as_ref().err()?;
            Some(format!("{}: {}", finding.what, lacking.replace('\n', "; ")))
        });
        let mut missing: Vec<String> = missing.collect();
        let lacking = report.lacking(&kinds);
        if !lacking.is_empty() {
            let names: Vec<&str> = lacking.iter().map(|kind| kind.name()).collect();
            missing.push(format!("kernel: {}: {}", names.join(", "), Kernel::remedy(&lacking)));
        }
        match missing.is_empty() {
            true => Ok(()),
            false => {
                Err(Failure::Machine(format!("something is missing\n{}", missing.join("\n  "))))
            }
        }
    }

    /// What a policy needs of a machine.
    #[derive(Default)]
    struct Needs {
        kinds: BTreeSet<Kind>,
        /// Whether it needs the program that marks.
        program: bool,
        /// What there is to say about each of its roles.
        reported: Vec<String>,
    }

    fn needs(policy: &Policy, names: &[String]) -> Result<Needs, Failure> {
        let roles = match names {
            [] => policy.roles.iter().filter(|role| role.conditions() || role.queues()).collect(),
            names => roles_of(policy, names).map_err(|error| Failure::Input(error.to_string()))?,
        };
        // The rate has no part in what is needed, and a kernel of which nothing is known lacks nothing.
        let rate = Some(shortflow_units::Rate::from_bits_per_sec(10_000_000));
        let kernel = Kernel::default();
        let settings = Settings { rate, link_layer: None, link_header: 14, kernel, nearest: false };
        let mut needs = Needs::default();
        let refused = |refusals: Vec<Refusal>| {
            refusals.into_iter().map(|refusal| format!("cannot be deployed: {refusal}"))
        };
        for role in roles {
            // Who owns connections does not matter for what is needed.
            match compile_edge(policy, role, &any_owners(policy)) {
                Ok(None) => {}
                Ok(Some(_)) => {
                    needs
                        .reported
                        .push(format!("role {} needs the eBPF marking program, clsact", role.name));
                    needs.program = true;
                    needs.kinds.insert(Kind::Clsact);
                }
                Err(refusals) => needs.reported.extend(refused(refusals)),
            }
            if !role.queues() {
                continue;
            }
            match compile(policy, role, &settings) {
                Ok(tree) => {
                    let kinds = tree.needs();
                    let names: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
                    needs.reported.push(format!("role {} needs {}", role.name, names.join(", ")));
                    needs.kinds.extend(kinds);
                }
                Err(refusals) => needs.reported.extend(refused(refusals)),
            }
        }
        Ok(needs)
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn nearest_is_advised_only_where_it_was_not_given() {
            let what = "the kernel has no pie".to_owned();
            let refusals =
                [Refusal { path: "queue".to_owned(), what, nearest: None, of_machine: true }];
            let message = |is_nearest| match refused(&refusals, is_nearest) {
                Failure::Machine(message) => message,
                other => panic!("{other:?}"),
            };
            assert!(message(false).ends_with("; --nearest may find a way"), "{}", message(false));
            assert!(message(true).ends_with("`shortflow doctor` shows what this kernel has"));
        }
    }
}
