//! `deploy`, `reload`, `status`, `undeploy`, `doctor`: a policy's queues at a device of this machine.

#[cfg(not(target_os = "linux"))]
pub(crate) use elsewhere::{deploy, doctor, reload, status, undeploy};
#[cfg(target_os = "linux")]
pub(crate) use on_linux::{Standing, deploy, doctor, labelled, reload, standing, status, undeploy};

#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use crate::console::Console;
    use crate::deploy_args::{Deploy, Doctor, Status, Undeploy};
    use crate::failure::Failure;

    fn refused() -> Result<(), Failure> {
        let what =
            "queues are those of Linux\nsimulate the policy, or deploy it on a Linux machine";
        Err(Failure::Machine(what.to_owned()))
    }

    pub(crate) fn deploy(_: &Console, _: &Deploy) -> Result<(), Failure> {
        refused()
    }

    pub(crate) fn reload(_: &Console, _: &Deploy) -> Result<(), Failure> {
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
        Claim, DeviceStatus, Error, Kernel, Kind, Link, Listings, Observed, Owners, Refusal, Root,
        Settings, Site, Step, Tc, Unwanted, Wanted, any_owners, compile, compile_edge, examine,
        examine_kernel, link, owners, roles_of, short,
    };
    use shortflow_policy::Policy;
    use shortflow_text::Override;

    use crate::console::Console;
    use crate::deploy_args::{Deploy, Doctor, Status, Undeploy};
    use crate::failure::Failure;
    use crate::interrupt::stop_on_interrupt;

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
        change(console, args, |observed, policy| {
            let is_same = |there: &str| there == short(&policy.name);
            match observed.policy() {
                Some(policy)
                    if observed.is_whole()
                        || (observed.is_for_verify() || !observed.damage().is_empty())
                            && !is_same(policy) =>
                {
                    Err(Error::Deployed { device: args.dev.clone(), policy: policy.to_owned() })
                }
                // What was begun and not finished is gone on with.
                _ => Ok(()),
            }
        })
    }

    /// `shortflow reload`.
    pub(crate) fn reload(console: &Console, args: &Deploy) -> Result<(), Failure> {
        change(console, args, |observed, _| match observed.root {
            Root::Default if !observed.edge.is_ours() => {
                Err(Error::NotDeployed { device: args.dev.clone() })
            }
            _ => Ok(()),
        })
    }

    /// Lets the device be as the policy says, if what stands there is `fit` for that.
    fn change(
        console: &Console,
        args: &Deploy,
        fit: impl Fn(&Observed, &Policy) -> Result<(), Error>,
    ) -> Result<(), Failure> {
        let policy = read(console, &args.policy, &args.set)?;
        let place = Place::of(args)?;
        let wanted = wanted(&policy, args, &place)?;
        let tc = way(&args.dev, args.dry_run)?;
        let observed = match &place.link {
            Some(_) => tc.observe()?,
            None => Tc::parsed(&Listings::default())?,
        };
        fit(&observed, &policy)?;
        let steps = wanted.steps(&tc, &observed, &args.dev)?;
        let mut notes = wanted.notes().to_vec();
        notes.extend(observed.notes_on(wanted.edge.is_some(), &steps));
        if args.dry_run {
            return dry_run(console, &place, &notes, &steps);
        }
        notes.iter().for_each(|note| console.note(note));
        let applied = wanted.apply(tc, &observed, &steps)?;
        if applied.waiting > 0 {
            console.note(&format!(
                "{} packets of the policy before still wait in their classes, and leave as its priorities let them; \
                 the next command removes the classes",
                applied.waiting
            ));
        }
        console.print(&format!("{}: policy {:?}{}\n", args.dev, policy.name, wanted.told()))
    }

    /// What stands at a device, and should.
    pub(crate) struct Standing {
        /// The way there, which no other command takes meanwhile.
        pub(crate) tc: Tc,
        /// What stands there.
        pub(crate) observed: Observed,
        /// What the policy comes to.
        pub(crate) wanted: Wanted,
        pub(crate) place: Place,
        pub(crate) policy: Policy,
    }

    /// What stands at a device, and what the policy comes to there; with the roles and the rate that are deployed where none
    /// are given.
    pub(crate) fn standing(console: &Console, args: &mut Deploy) -> Result<Standing, Failure> {
        let policy = read(console, &args.policy, &args.set)?;
        let place = Place::of(args)?;
        let tc = way(&args.dev, false)?;
        let observed = tc.observe()?;
        let Some(name) = observed.policy() else {
            return Err(Error::NotDeployed { device: args.dev.clone() }.into());
        };
        if let Some(damage) = observed.damage().first() {
            return Err(Failure::Input(format!(
                "what was deployed on {} was changed since: {damage}\nput it right with `shortflow reload`",
                args.dev
            )));
        }
        if !observed.is_whole() && !observed.is_for_verify() {
            return Err(Failure::Input(format!(
                "a deployment on {} was begun and not finished\nfinish it with `shortflow reload`",
                args.dev
            )));
        }
        if name != short(&policy.name) {
            return Err(another(args, name));
        }
        plays(args, &observed)?;
        args.rate = args.rate.or(observed.memo.as_ref().map(|memo| memo.rate));
        let wanted = wanted(&policy, args, &place)?;
        if let Some(lost) = observed.lost_labels().first() {
            console.print(&format!("{}: WRONG: {lost}\n", args.dev))?;
            return Err(Failure::Check);
        }
        match wanted.stands_but_for_verify(&observed) {
            true => Ok(Standing { tc, observed, wanted, place, policy }),
            false => Err(another(args, name)),
        }
    }

    /// Something else stands there.
    fn another(args: &Deploy, name: &str) -> Failure {
        Failure::Input(format!(
            "{} does what policy {name:?} says, and not what {} does with these roles, keys and labels\n\
             give what was given to `deploy`, or bring this policy there with `shortflow reload`",
            args.dev,
            args.policy.display()
        ))
    }

    /// Takes the roles that the device plays where none are named, and refuses others: what stands there is one whole.
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
            "{} plays {}, and --role names {}\nname what it plays, or nothing: --role {}",
            args.dev,
            told_roles(&played),
            told_roles(&args.role),
            played.join(",")
        )))
    }

    fn told_roles(names: &[String]) -> String {
        let word = if names.len() == 1 { "the role" } else { "the roles" };
        format!("{word} `{}`", names.join("`, `"))
    }

    /// The way to a device. Two commands at once would each be surprised by what the other does, unless it is nothing.
    fn way(device: &str, is_dry: bool) -> Result<Tc, Failure> {
        let tc = Tc::new(device);
        Ok(if is_dry { tc } else { tc.with_claim(Claim::take(device, PATIENCE)?) })
    }

    /// How long one waits for another command that works on the device.
    const PATIENCE: Duration = Duration::from_secs(2);

    /// Where something is deployed, and what is known of it.
    pub(crate) struct Place {
        /// None where a dry run is for a device of another machine.
        link: Option<Link>,
        pub(crate) kernel: Kernel,
    }

    impl Place {
        /// Bytes that the device puts before each packet, which the kernel counts.
        pub(crate) fn link_header(&self) -> u64 {
            self.link.as_ref().map_or(14, |link| link.header)
        }
    }

    impl Place {
        fn of(args: &Deploy) -> Result<Place, Failure> {
            match link(&args.dev) {
                Ok(found) => Ok(Place { link: Some(found), kernel: examine_kernel().0 }),
                Err(Error::NoDevice { .. }) if args.dry_run => {
                    Ok(Place { link: None, kernel: Kernel::default() })
                }
                Err(error) => Err(error.into()),
            }
        }
    }

    fn read(
        console: &Console,
        path: &std::path::Path,
        set: &[(String, String)],
    ) -> Result<Policy, Failure> {
        let set = set.iter().map(|(key, value)| Override {
            key: key.clone(),
            value: value.clone(),
            prefix: "",
            origin: "--set".to_owned(),
        });
        let policy = shortflow_policy::load(path, &set.collect::<Vec<_>>())?;
        console.warnings(&policy.warnings);
        Ok(policy)
    }

    /// Who owns the connections that have labels.
    pub(crate) fn labelled(policy: &Policy, given: &[(String, String)]) -> Result<Owners, Failure> {
        owners(policy, given).map_err(|why| Failure::Input(format!("--label {why}")))
    }

    /// What the roles come to, or all that is refused of them.
    fn wanted(policy: &Policy, args: &Deploy, place: &Place) -> Result<Wanted, Failure> {
        if args.rate.is_some_and(|rate| rate < Wanted::LEAST_RATE) {
            let what =
                "--rate must be 64 kbit/s or more\ngive that of the bottleneck, less a little";
            return Err(Failure::Input(what.to_owned()));
        }
        let site = Site {
            rate: args.rate,
            speed: place.link.as_ref().and_then(|link| link.speed),
            link_header: place.link_header(),
            kernel: place.kernel.clone(),
            nearest: args.nearest,
        };
        let owners = labelled(policy, &args.label)?;
        let wanted =
            Wanted::of_owners(policy, &args.role, &site, &owners).map_err(
                |unwanted| match unwanted {
                    Unwanted::Roles(what) => Failure::Input(what),
                    Unwanted::Refused(refusals) => refused(&refusals),
                },
            )?;
        if wanted.tree.is_none() && args.rate.is_some() {
            let what = "--rate is that of a queue, and no role that is named has one\n\
                        leave it out, or name a role that queues, too";
            return Err(Failure::Input(what.to_owned()));
        }
        Ok(wanted)
    }

    fn refused(refusals: &[Refusal]) -> Failure {
        let told: Vec<String> = refusals.iter().map(ToString::to_string).collect();
        let what = match refusals {
            [_] => format!("this cannot be deployed: {}", told[0]),
            _ => format!("this cannot be deployed:\n{}", told.join("\n  ")),
        };
        match refusals.iter().all(|refusal| refusal.of_machine) {
            true => Failure::Machine(format!(
                "{what}\n`shortflow doctor` says what this kernel has; --nearest may find a way"
            )),
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
            text += "# this machine has no such device: as for one of Ethernet that nobody has touched, with a kernel \
                     that has every queue\n";
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
        let steps = tc.plan_removal(&observed)?;
        if args.dry_run {
            let lines: String = steps.iter().map(|step| format!("{step}\n")).collect();
            return console.print(&lines);
        }
        tc.apply(&steps)?;
        let lost = match observed.lost_by(&steps) {
            0 => String::new(),
            waiting => format!("; about {waiting} packets that waited there are lost"),
        };
        console.print(&format!("{}: as it was before{lost}\n", args.dev))
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
        let found = DeviceStatus::of(device)?;
        found
            .map(|status| vec![status])
            .ok_or_else(|| Error::NotDeployed { device: device.clone() }.into())
    }

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
            true => console.print("nothing is deployed here\n"),
            false => console.print(&texts.join("\n")),
        }
    }

    /// `shortflow doctor`.
    pub(crate) fn doctor(console: &Console, args: &Doctor) -> Result<(), Failure> {
        let report = examine();
        let Needs { kinds, program, told } = match &args.policy {
            Some(path) => needs(&read(console, path, &[])?, &args.role)?,
            None => Needs { kinds: [Kind::Htb, Kind::Bpf, Kind::Pfifo].into(), ..Needs::default() },
        };
        if args.json {
            let mut value = report.json(&kinds);
            value["policy"] = json!(told);
            console.print_json(&value)?;
        } else {
            let told: String = told.iter().map(|line| format!("  {line}\n")).collect();
            let whom = if args.policy.is_some() { "the policy" } else { "every queue" };
            console.print(&(report.text(&kinds, whom) + &told))?;
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
        told: Vec<String>,
    }

    fn needs(policy: &Policy, names: &[String]) -> Result<Needs, Failure> {
        let roles = match names {
            [] => policy.roles.iter().filter(|role| role.conditions() || role.queues()).collect(),
            names => roles_of(policy, names).map_err(Failure::Input)?,
        };
        // The rate has no part in what is needed, and a kernel of which nothing is known lacks nothing.
        let rate = Some(shortflow_units::Rate::from_bits_per_sec(10_000_000));
        let settings =
            Settings { rate, link_header: 14, kernel: Kernel::default(), nearest: false };
        let mut needs = Needs::default();
        let refused = |refusals: Vec<Refusal>| {
            refusals.into_iter().map(|refusal| format!("cannot be deployed: {refusal}"))
        };
        for role in roles {
            // Who owns connections does not matter for what is needed.
            match compile_edge(policy, role, &any_owners(policy)) {
                Ok(None) => {}
                Ok(Some(_)) => {
                    needs.told.push(format!(
                        "role {} needs the eBPF program that marks, clsact",
                        role.name
                    ));
                    needs.program = true;
                    needs.kinds.insert(Kind::Clsact);
                }
                Err(refusals) => needs.told.extend(refused(refusals)),
            }
            if !role.queues() {
                continue;
            }
            match compile(policy, role, &settings) {
                Ok(tree) => {
                    let kinds = tree.needs();
                    let names: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
                    needs.told.push(format!("role {} needs {}", role.name, names.join(", ")));
                    needs.kinds.extend(kinds);
                }
                Err(refusals) => needs.told.extend(refused(refusals)),
            }
        }
        Ok(needs)
    }
}
