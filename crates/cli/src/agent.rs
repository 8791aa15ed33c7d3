//! `agent`: policies from one repository to the devices of many machines.

#[cfg(target_os = "linux")]
pub(crate) use on_linux::agent;

#[cfg(not(target_os = "linux"))]
pub(crate) fn agent(
    _: &crate::console::Console,
    _: &crate::agent_args::Agent,
) -> Result<(), crate::failure::Failure> {
    let what = "the agent is for machines with Linux\nrun it there";
    Err(crate::failure::Failure::Machine(what.to_owned()))
}

#[cfg(target_os = "linux")]
mod on_linux {
    use std::path::Path;

    use serde_json::{Value, json};
    use shortflow_agent::{Bundle, Change, Difference, Fleet, Unreadable, changes};

    use crate::agent_args::{Agent, Plan, What};
    use crate::console::Console;
    use crate::failure::Failure;

    impl From<Unreadable> for Failure {
        fn from(error: Unreadable) -> Self {
            Failure::Input(format!("{error}\na repository is a folder with fleet.toml in it"))
        }
    }

    /// `shortflow agent`.
    pub(crate) fn agent(console: &Console, args: &Agent) -> Result<(), Failure> {
        match &args.what {
            What::Plan(args) => plan(console, args),
        }
    }

    /// `shortflow agent plan`.
    fn plan(console: &Console, args: &Plan) -> Result<(), Failure> {
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

    fn read(folder: &Path) -> Result<Fleet, Failure> {
        Ok(Fleet::check(&Bundle::read(folder)?)?)
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
            "{} of {} machines change; devices: {} new, {} changed, {} gone, {} the same",
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
