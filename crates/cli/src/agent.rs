//! `agent`: policies from one repository to the devices of many machines.

#[cfg(live)]
pub(crate) use on_linux::agent;

#[cfg(not(live))]
pub(crate) fn agent(
    _: &crate::console::Console,
    _: &crate::agent_args::Agent,
) -> Result<(), crate::failure::Failure> {
    let what = "the agent requires Linux\nrun it on a Linux machine";
    Err(crate::failure::Failure::not_built("agent", what))
}

#[cfg(live)]
mod on_linux {
    use std::io::ErrorKind;
    use std::net::SocketAddr;
    use std::path::{Path, PathBuf};
    use std::sync::Arc;

    use serde_json::{Value, json};
    use shortflow_agent::{
        Ask, AskError, Bundle, Change, Control, Difference, Event, FLEET, Fleet, KernelPlane,
        Listeners, Metrics, Overview, Page, Store, StoreError, Unreadable, ask, changes, command,
        exposition, give_up_privileges, is_machine, ldap, sanitize_lines, this_machine, watch,
    };

    use shortflow_console::Guard;
    use shortflow_text::{InputFiles, MAX_TEXT, Source, name_of, reason};

    use crate::agent_args as args;
    use crate::agent_args::{
        Agent, Export, Import, Log, Plan, Rollback, Run, Socket, Status, Watch, What,
    };
    use crate::agent_source::source;
    use crate::agent_status::{is_fine, rolled_back_text, status_text};
    use crate::console::Console;
    use crate::failure::Failure;
    use crate::interrupt::{stop_flag, stop_on_interrupt};
    use crate::page::{self, NO_CONSOLE, given, listen};

    impl From<Unreadable> for Failure {
        fn from(error: Unreadable) -> Self {
            match error {
                Unreadable::Mistakes(mistakes) => mistakes.into(),
                Unreadable::Cannot { .. } => Failure::Input(error.to_string()),
            }
        }
    }

    impl From<AskError> for Failure {
        fn from(error: AskError) -> Self {
            match error {
                AskError::Refused(_) => Failure::Input(error.to_string()),
                AskError::Nobody { ref source, .. } => {
                    let remedy = match source.kind() {
                        ErrorKind::PermissionDenied => {
                            "use sudo, or start the agent with --socket-group GROUP and join that group"
                        }
                        _ => {
                            "start an agent with `shortflow agent run --source FOLDER`; if one runs, name its socket \
                             with --socket"
                        }
                    };
                    Failure::Machine(format!("{error}\n{remedy}"))
                }
                AskError::Foreign { .. }
                | AskError::Endless { .. }
                | AskError::Ended { .. }
                | AskError::Unable(_) => Failure::Machine(error.to_string()),
            }
        }
    }

    impl From<StoreError> for Failure {
        fn from(error: StoreError) -> Self {
            let remedy = match error {
                StoreError::NoThread(_) => {
                    "raise the limit: TasksMax= of the service, or ulimit -u"
                }
                _ => "choose another folder with --state",
            };
            let what = match error {
                StoreError::Io { .. } => "cannot use the folder of the agent's state: ",
                _ => "",
            };
            Failure::Machine(format!("{what}{error}\n{remedy}"))
        }
    }

    /// `shortflow agent`.
    pub(crate) fn agent(console: &Console, args: &Agent) -> Result<(), Failure> {
        match &args.what {
            What::Plan(args) => plan(console, args),
            What::Run(args) => run(console, args),
            What::Status(args) => status(console, args),
            What::Reload(args) => reload(console, args),
            What::Rollback(args) => rollback(console, args),
            What::Resume(args) => resume(console, args),
            What::Metrics(args) => console.print(&exposition(&ask(&args.socket, Ask::Status)?)),
            What::Watch(args) => follow(console, args),
            What::Console(args) => overview(console, args),
            What::Log(args) => log(console, args),
            What::Export(args) => export(console, args),
            What::Import(args) => import(console, args),
            What::Read(args) => crate::agent_source::read(&args.from),
        }
    }

    /// `shortflow agent plan`.
    fn plan(console: &Console, args: &Plan) -> Result<(), Failure> {
        // Of two repositories, each mistake names its own.
        let read = |folder: &Path| match args.from {
            Some(_) => read(folder).map_err(|failure| in_folder(folder, failure)),
            None => read(folder),
        };
        let after = read(&args.folder)?;
        console.warnings(&after.warnings);
        let before = args.from.as_deref().map(read).transpose()?;
        let named = |fleet: &Fleet| -> Vec<String> {
            fleet.machines.iter().map(|machine| machine.name.clone()).collect()
        };
        let mut names = named(&after);
        let gone: Vec<String> = before.as_ref().map(named).unwrap_or_default();
        names.extend(gone.into_iter().filter(|name| after.machine(name).is_none()));
        if let Some(wanted) = &args.machine {
            if !names.contains(wanted) {
                let what = format!(
                    "the fleet has no machine `{wanted}`\nits machines are {}",
                    names.join(", ")
                );
                return Err(Failure::Input(what));
            }
            names = vec![wanted.clone()];
        }
        let old = |name: &str| before.as_ref().and_then(|fleet| fleet.machine(name));
        let of = |name: &String| (name.clone(), changes(old(name), after.machine(name)));
        let plan: Vec<(String, Vec<Change>)> = names.iter().map(of).collect();
        match args.json {
            true => console.print_json(&plan_json(&after.name, &plan)),
            false => console.print(&plan_text(&plan)),
        }
    }

    /// `shortflow agent run`.
    fn run(console: &Console, args: &Run) -> Result<(), Failure> {
        let machine = args.machine.clone().unwrap_or_else(this_machine);
        if !is_machine(&machine) {
            let what = format!(
                "invalid machine name `{machine}`: use letters, digits, `-` and `_`\nset the name: --machine NAME"
            );
            return Err(Failure::Input(what));
        }
        let source = source(&args.from, stop_flag())?;
        let metrics = args.metrics.map(metrics).transpose()?;
        let page = page(console, args)?;
        let control = Control::listen(&args.socket, args.socket_group.as_deref());
        let control = control.map_err(|error| {
            let (at, why) = (args.socket.display(), reason(&error));
            Failure::Machine(format!(
                "cannot listen at {at}: {why}\nrun the agent as root, or choose another path with --socket"
            ))
        })?;
        let listeners = Listeners { control, metrics, page };
        // Of each thread on its own, so before there are others.
        give_up_privileges(args.inline).map_err(|error| {
            Failure::Machine(format!("cannot drop unneeded capabilities: {}", reason(&error)))
        })?;
        let stop = stop_on_interrupt()?;
        let plane = KernelPlane::of_this_machine(args.inline);
        let console = *console;
        let tell = move |event: &Event| console.happened(&event.at, &event.who, &event.what);
        Ok(shortflow_agent::run(&machine, source, &args.state, &listeners, plane, stop, tell)?)
    }

    /// The page of `--console`; clients on other machines must show the token.
    fn page(console: &Console, args: &Run) -> Result<Option<Page>, Failure> {
        let Some(address) = args.console else {
            return match args.console_token.console_token_file {
                Some(_) => Err(Failure::Input(NO_CONSOLE.to_owned())),
                None => Ok(None),
            };
        };
        let token = given(console, &args.console_token)?;
        if token.is_none() && !address.ip().is_loopback() {
            let what = format!(
                "the console at {address} is open to other machines and has no token\nset one: --console-token-file \
                 FILE"
            );
            return Err(Failure::Input(what));
        }
        let (listener, url) = listen(address)?;
        console.note(&format!("console: {url}"));
        let guard = Guard::new(listener.names(), token);
        Ok(Some(Page { listener, guard }))
    }

    /// `shortflow agent console`.
    fn overview(console: &Console, args: &args::Overview) -> Result<(), Failure> {
        let sockets = args.socket.iter().enumerate();
        let same = |at: usize, socket: &PathBuf| args.socket[..at].contains(socket);
        if let Some((_, twice)) = sockets.into_iter().find(|(at, socket)| same(*at, socket)) {
            let what = format!("--socket {} is given twice\nname each agent once", twice.display());
            return Err(Failure::Input(what));
        }
        let stop = stop_on_interrupt()?;
        let page = page::Page::open(console, args.console, &args.token)?;
        console.print(&format!("Console: {}\n", page.url))?;
        console.note("open it in a browser; Ctrl-C ends it");
        let overview = Overview::of_sockets(&args.socket);
        page.beside(overview.hub(), &overview, || overview.run(stop))
    }

    fn metrics(address: SocketAddr) -> Result<Metrics, Failure> {
        Metrics::listen(address).map_err(|error| {
            let what = format!("cannot serve metrics at {address}: {}", reason(&error));
            match error.kind() {
                ErrorKind::InvalidInput => Failure::Input(what),
                _ => Failure::Machine(format!(
                    "{what}\nchoose another address and port with --metrics"
                )),
            }
        })
    }

    /// `shortflow agent status`.
    fn status(console: &Console, args: &Status) -> Result<(), Failure> {
        let status = ask(&args.at.socket, Ask::Status)?;
        match args.json {
            true => console.print_json(&status)?,
            false => console.print(&sanitize_lines(&status_text(&status, &args.at.socket)))?,
        }
        if is_fine(&status) { Ok(()) } else { Err(Failure::Check) }
    }

    /// `shortflow agent reload`.
    fn reload(console: &Console, args: &Socket) -> Result<(), Failure> {
        ask(&args.socket, Ask::Reload)?;
        console.print("the agent is reading its source\n")
    }

    /// `shortflow agent rollback`.
    fn rollback(console: &Console, args: &Rollback) -> Result<(), Failure> {
        let answer = ask(&args.at.socket, Ask::RollBack(args.to))?;
        console.print(&rolled_back_text(&answer, &args.at.socket))
    }

    /// `shortflow agent resume`.
    fn resume(console: &Console, args: &Socket) -> Result<(), Failure> {
        let answer = ask(&args.socket, Ask::Resume).map_err(|error| match error {
            AskError::Refused(_) => Failure::Input(format!(
                "{error}\nto see its state, run `{}`",
                command("status", &args.socket)
            )),
            _ => error.into(),
        })?;
        let digest = answer["resumed"].as_str().unwrap_or("?");
        if answer["stays"] == true {
            return console.print(&format!("{digest} is kept, whatever the trial finds\n"));
        }
        console.print(&format!(
            "{digest} is applied when the agent has read its source, which starts now\n"
        ))
    }

    /// `shortflow agent watch`.
    fn follow(console: &Console, args: &Watch) -> Result<(), Failure> {
        let stop = stop_on_interrupt()?;
        let mut printed = Ok(());
        watch(&args.at.socket, stop, |event| {
            printed = console.print(&line(event, args.json));
            printed.is_ok()
        })?;
        printed
    }

    /// `shortflow agent log`.
    fn log(console: &Console, args: &Log) -> Result<(), Failure> {
        let state = args.state.display();
        let lines = Store::log(&args.state).map_err(|error| match error {
            StoreError::Io { ref source, .. } if source.kind() == ErrorKind::NotFound => {
                Failure::Input(format!(
                    "no log in {state}: no agent has used this folder\nname the folder of an agent's state with \
                     --state"
                ))
            }
            StoreError::Io { .. } => {
                Failure::Machine(format!("cannot read the log of the agent: {error}"))
            }
            other => other.into(),
        })?;
        let values = lines.iter().filter_map(|line| serde_json::from_str(line).ok());
        let text: String = values.map(|event: Value| line(&event, args.json)).collect();
        console.print(&text)
    }

    /// `shortflow agent export`.
    fn export(console: &Console, args: &Export) -> Result<(), Failure> {
        let bundle = bundle(&args.folder)?;
        let fleet = Fleet::check(&bundle)?;
        console.warnings(&fleet.warnings);
        if !args.base.contains('=') {
            let what = format!(
                "invalid DN `{}`\ngive one such as ou=shortflow,dc=example,dc=org",
                args.base
            );
            return Err(Failure::Input(what));
        }
        let mut entries = ldap::entries(&bundle, &args.base);
        entries.extend(fleet.needs_verdicts.then(|| ldap::verdicts_unit(&args.base)));
        let left_out = bundle.left_out(&args.folder);
        if !left_out.is_empty() {
            let files = left_out.join(", ");
            console.note(&format!("omitted, because no assignment names them: {files}"));
        }
        console.print(&ldap::write(&entries))
    }

    /// `shortflow agent import`.
    fn import(console: &Console, args: &Import) -> Result<(), Failure> {
        let name = name_of(&args.file);
        let text = InputFiles::default().read(&args.file, MAX_TEXT);
        let text = text.map_err(|error| {
            let why = reason(&error);
            Failure::Input(format!(
                "cannot read {name}: {why}\ngive a file of LDAP entries, as `agent export` writes"
            ))
        })?;
        let bundle = ldap::read(&name, text)?;
        console.warnings(&Fleet::check(&bundle)?.warnings);
        let into = args.into.display();
        bundle.write(&args.into).map_err(|error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => {
                Failure::Input(format!("{into} already exists\ngive the name of a new folder"))
            }
            _ => Failure::Machine(format!(
                "cannot write {into}: {}\nchoose another folder with --into",
                reason(&error)
            )),
        })?;
        console.file("repository", &args.into)
    }

    /// An event as it is printed.
    fn line(event: &Value, as_json: bool) -> String {
        if as_json {
            return format!("{event}\n");
        }
        let mut parts = Vec::new();
        for (key, value) in event.as_object().into_iter().flatten() {
            let message = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let message = message.trim_start_matches(", ");
            match key.as_str() {
                "at" | "who" | "what" => {}
                _ if value.is_null() || message.is_empty() => {}
                // Texts of several lines begin on one of their own.
                _ if message.contains('\n') => parts.push(format!("{key}:\n{message}")),
                _ => parts.push(format!("{key} {message}")),
            }
        }
        let head = |key: &str| event[key].as_str().unwrap_or("?").to_owned();
        let message = parts.join(", ");
        // A log may be older than this program.
        sanitize_lines(&format!("{} {} {}: {message}\n", head("at"), head("who"), head("what")))
    }

    fn read(folder: &Path) -> Result<Fleet, Failure> {
        Ok(Fleet::check(&bundle(folder)?)?)
    }

    /// The same mistakes, with this folder before the names of files.
    fn in_folder(folder: &Path, failure: Failure) -> Failure {
        let Failure::Mistakes(mut mistakes) = failure else { return failure };
        for mistake in &mut mistakes.0 {
            let name = folder.join(&mistake.source.name).display().to_string();
            mistake.source = Arc::new(Source { name, text: mistake.source.text.clone() });
        }
        Failure::Mistakes(mistakes)
    }

    /// The repository in a folder.
    fn bundle(folder: &Path) -> Result<Bundle, Failure> {
        const WHAT: &str =
            "a repository is a folder with fleet.toml, which assigns policies to machines";
        let name = folder.display();
        if folder.is_file() {
            let around = folder.parent().filter(|around| !around.as_os_str().is_empty());
            let around = around.unwrap_or(Path::new(".")).display();
            return Err(Failure::Input(format!(
                "{name} is a file, not a folder\ngive the folder with fleet.toml in it, such as {around}"
            )));
        }
        if !folder.exists() {
            return Err(Failure::Input(format!("the folder {name} does not exist\n{WHAT}")));
        }
        if folder.is_dir() && folder.join(FLEET).symlink_metadata().is_err() {
            return Err(Failure::Input(format!("the folder {name} has no {FLEET}\n{WHAT}")));
        }
        Ok(Bundle::read(folder)?)
    }

    fn plan_text(plan: &[(String, Vec<Change>)]) -> String {
        let all = || plan.iter().flat_map(|(_, changes)| changes);
        let width =
            |of: fn(&Change) -> String| all().map(|change| of(change).chars().count()).max();
        let place = |change: &Change| format!("{} ({})", change.interface, change.device);
        let wide = width(|change| format!("{} ({})", change.interface, change.device)).unwrap_or(0);
        let mut text = String::new();
        for (name, changes) in plan {
            text += &format!("{name}\n");
            for change in changes {
                text += &format!("  {:wide$}  {}\n", place(change), change.difference);
            }
        }
        text + &format!("{}\n", summary(plan))
    }

    fn summary(plan: &[(String, Vec<Change>)]) -> String {
        let count = |is: fn(&Difference) -> bool| {
            plan.iter()
                .flat_map(|(_, changes)| changes)
                .filter(|change| is(&change.difference))
                .count()
        };
        let changing =
            plan.iter().filter(|(_, changes)| changes.iter().any(|it| it.difference.is_change()));
        format!(
            "{} of {} machines change; devices: {} new, {} changed, {} removed, {} unchanged",
            changing.count(),
            plan.len(),
            count(|it| matches!(it, Difference::New(_))),
            count(|it| matches!(it, Difference::Changed(_))),
            count(|it| matches!(it, Difference::Gone(_))),
            count(|it| !it.is_change()),
        )
    }

    fn plan_json(fleet: &str, plan: &[(String, Vec<Change>)]) -> Value {
        let machine = |(name, changes): &(String, Vec<Change>)| {
            json!({
                "machine": name,
                "changes": changes.iter().any(|it| it.difference.is_change()),
                "devices": changes.iter().map(Change::json).collect::<Vec<_>>(),
            })
        };
        json!({ "fleet": fleet, "machines": plan.iter().map(machine).collect::<Vec<_>>() })
    }
}
