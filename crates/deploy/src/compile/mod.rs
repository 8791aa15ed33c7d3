//! From a checked policy to what the kernel's traffic control can do of it.

mod leaf;
mod line;
mod names;
mod red;

use shortflow_policy::{Policy, Role};
use shortflow_units::Rate;

use crate::kernel::{Kernel, Kind};
use crate::tree::Tree;

/// Where the queues are to stand.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The rate of the line; none where the policy's own shaper is to say it.
    pub rate: Option<Rate>,
    /// Bytes that the device puts before each packet, which the kernel counts.
    pub link_header: u64,
    /// What is known of the kernel.
    pub kernel: Kernel,
    /// Whether the nearest is taken for what the kernel cannot do, and told.
    pub nearest: bool,
}

/// Why a part of a policy cannot be deployed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The part, as a path of keys.
    pub path: String,
    /// What is not possible, and why.
    pub what: String,
    /// The nearest that is; `true` where it is taken when asked for.
    pub nearest: Option<(String, bool)>,
    /// Whether the machine is to blame, and not the policy.
    pub of_machine: bool,
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.path, self.what)?;
        match &self.nearest {
            Some((nearest, true)) => write!(f, "; nearest: {nearest} (--nearest takes it)"),
            Some((nearest, false)) => write!(f, "; {nearest}"),
            None => Ok(()),
        }
    }
}

/// What becomes of a part.
type Compiled<T> = Result<T, Vec<Refusal>>;

/// The role that is meant: the one of this name, or the only one that does something.
///
/// # Errors
/// When there is none, or when several do something and none was named.
pub fn role_of<'p>(policy: &'p Policy, name: Option<&str>) -> Result<&'p Role, String> {
    let names = |roles: &[&Role]| {
        roles.iter().map(|role| format!("`{}`", role.name)).collect::<Vec<_>>().join(", ")
    };
    let all: Vec<&Role> = policy.roles.iter().collect();
    if let Some(name) = name {
        let found = policy.role(name);
        return found.ok_or_else(|| {
            format!("policy {:?} has no role `{name}`\nits roles are {}", policy.name, names(&all))
        });
    }
    let acting: Vec<&Role> =
        all.into_iter().filter(|role| role.conditions() || role.queues()).collect();
    match &acting[..] {
        [] => Err(format!("no role of policy {:?} does anything\ngive one a queue", policy.name)),
        [role] => Ok(role),
        several => {
            let queue = several.iter().find(|role| role.queues() && !role.conditions());
            let example = queue.unwrap_or(&several[0]);
            Err(format!(
                "several roles of policy {:?} do something: {}\nname the one for this device: --role {}",
                policy.name,
                names(several),
                example.name
            ))
        }
    }
}

/// What the kernel is to do at a device that plays `role`.
///
/// # Errors
/// What of it cannot be done, part by part.
pub fn compile(policy: &Policy, role: &Role, settings: &Settings) -> Result<Tree, Vec<Refusal>> {
    let mut refusals = conditioning(role);
    let path = format!("roles.{}", role.name);
    let Some(queue) = &role.queue else {
        if refusals.is_empty() {
            let what = "it has no queue, so there is nothing to do at a device";
            refusals.push(Refusal::of_policy(&path, what, None));
        }
        return Err(refusals);
    };
    match line::compile(policy, role, queue, settings) {
        Ok(tree) if refusals.is_empty() => Ok(tree),
        Ok(_) => Err(refusals),
        Err(more) => {
            refusals.extend(more);
            Err(refusals)
        }
    }
}

/// What the role does to packets beside queueing them, which needs programs at the device.
fn conditioning(role: &Role) -> Vec<Refusal> {
    let mut refusals = Vec::new();
    for class in &role.classes {
        let path = format!("roles.{}.classes `{}`", role.name, class.name);
        if let Some(marker) = &class.marker {
            let what = format!(
                "the marker `{}` needs an eBPF program at the device, which `deploy` does not attach yet",
                marker.scheme()
            );
            refusals.push(Refusal::of_policy(&path, &what, None));
        } else if class.police.is_some() {
            let what =
                "a policer needs an eBPF program at the device, which `deploy` does not attach yet";
            refusals.push(Refusal::of_policy(&path, what, None));
        }
    }
    if role.conditions() && role.classes.is_empty() {
        let what = "acknowledgements that echo code points need an eBPF program at the device, which `deploy` \
                    does not attach yet";
        refusals.push(Refusal::of_policy(&format!("roles.{}.acks", role.name), what, None));
    }
    refusals
}

impl Refusal {
    /// The policy asks for what no kernel does.
    fn of_policy(path: &str, what: &str, hint: Option<&str>) -> Refusal {
        let nearest = hint.map(|hint| (hint.to_owned(), false));
        Refusal { path: path.to_owned(), what: what.to_owned(), nearest, of_machine: false }
    }

    /// This kernel lacks what others have.
    fn of_kernel(path: &str, kind: Kind, scheme: &str) -> Refusal {
        let module = match kind.module() {
            "" => String::new(),
            module => format!(", module {module}"),
        };
        let what = format!(
            "`{scheme}` needs the kernel's {}, which this kernel lacks (CONFIG_{}{module})",
            kind.name(),
            kind.option()
        );
        Refusal { path: path.to_owned(), what, nearest: None, of_machine: true }
    }
}

/// What is gathered on the way through a policy.
struct Compiler<'s> {
    settings: &'s Settings,
    notes: Vec<String>,
}

impl Compiler<'_> {
    /// Takes the nearest where that is asked for, and says so.
    fn nearest<T>(&mut self, mut refusal: Refusal, nearest: &str, taken: T) -> Compiled<T> {
        if self.settings.nearest {
            self.notes
                .push(format!("{}: {}; taken instead: {nearest}", refusal.path, refusal.what));
            return Ok(taken);
        }
        refusal.nearest = Some((nearest.to_owned(), true));
        Err(vec![refusal])
    }

    /// Notes a small difference.
    fn note(&mut self, path: &str, what: &str) {
        self.notes.push(format!("{path}: {what}"));
    }

    fn lacks(&self, kind: Kind) -> bool {
        self.settings.kernel.lacks(kind)
    }
}

/// All of them, or everything that was refused.
fn gather<T>(each: impl IntoIterator<Item = Compiled<T>>) -> Compiled<Vec<T>> {
    let (mut all, mut refusals) = (Vec::new(), Vec::new());
    for one in each {
        match one {
            Ok(one) => all.push(one),
            Err(refused) => refusals.extend(refused),
        }
    }
    if refusals.is_empty() { Ok(all) } else { Err(refusals) }
}
