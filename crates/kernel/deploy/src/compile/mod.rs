//! Compiles a checked policy to the kernel's traffic control.

mod early;
mod edge;
mod leaf;
mod line;
mod multi_red;
mod names;
mod program;
mod red;
mod roles;

use shortflow_policy::{Policy, Role};
use shortflow_units::{LinkLayer, Rate};

pub use edge::{Edge, Past, compile_edge, compile_edge_past};
pub use roles::{RolesError, roles_of};

use crate::kernel::{Kernel, Kind};
use crate::tree::Tree;

/// Where the queues are to stand.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The rate of the line; `None` if the policy's own shaper gives it.
    pub rate: Option<Rate>,
    /// The size of a packet on the link of the bottleneck; `None` if the policy's shaper gives it.
    pub link_layer: Option<LinkLayer>,
    /// Bytes that the device puts before each packet, which the kernel counts.
    pub link_header: u64,
    /// What is known of the kernel.
    pub kernel: Kernel,
    /// Whether the nearest alternative replaces what the kernel cannot do, with a note.
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
    /// What there is to say of a program as the queueing discipline, as a clause.
    pub program: Option<String>,
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // An option is no part of the policy.
        if !self.path.starts_with("--") {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.what)?;
        match &self.nearest {
            Some((nearest, true)) => write!(f, "; nearest: {nearest} (to use it, add --nearest)")?,
            Some((nearest, false)) => write!(f, "; {nearest}")?,
            None => {}
        }
        match &self.program {
            Some(program) => write!(f, "; {program}"),
            None => Ok(()),
        }
    }
}

/// The result for a part.
type Compiled<T> = Result<T, Vec<Refusal>>;

/// What the kernel is to do with packets that wait at a device that plays `role`, which has a queue: by its own queues where
/// they do what the policy says, else by a program, where the kernel takes one as a queueing discipline.
///
/// # Errors
/// What of it cannot be done, part by part.
pub fn compile(policy: &Policy, role: &Role, settings: &Settings) -> Result<Tree, Vec<Refusal>> {
    match &role.queue {
        Some(queue) => {
            let exact = Settings { nearest: false, ..settings.clone() };
            let refused = match line::compile(policy, role, queue, &exact).and_then(fitting) {
                Ok(tree) => return Ok(tree),
                Err(refused) => refused,
            };
            let program = program::compile(policy, role, queue, settings);
            let has_program = settings.kernel.has(Kind::BpfQdisc) == Some(true);
            if has_program && let Ok(tree) = program {
                return fitting(tree);
            }
            let refused = if settings.nearest {
                match line::compile(policy, role, queue, settings).and_then(fitting) {
                    Ok(tree) => return Ok(tree),
                    Err(refused) => refused,
                }
            } else {
                refused
            };
            Err(with_program(refused, program.err(), has_program))
        }
        None => {
            let what = "it has no queue, so there is nothing to deploy";
            Err(vec![Refusal::of_policy(&format!("roles.{}", role.name), what, None)])
        }
    }
}

/// The queues of `role` in a program, whatever the kernel's own queues do.
///
/// # Errors
/// What of it the program cannot do, part by part.
pub fn compile_program(
    policy: &Policy,
    role: &Role,
    settings: &Settings,
) -> Result<Tree, Vec<Refusal>> {
    match &role.queue {
        Some(queue) => fitting(program::compile(policy, role, queue, settings)?),
        None => compile(policy, role, settings),
    }
}

/// What the kernel's queues do not do, with what a program would do of it.
fn with_program(
    mut refused: Vec<Refusal>,
    of_program: Option<Vec<Refusal>>,
    has_program: bool,
) -> Vec<Refusal> {
    // What is not of a kernel's queues, such as a rate, is the same for a program.
    let is_same = of_program.as_ref() == Some(&refused);
    // What a program does is for a kernel that takes one: this machine lacks it.
    if of_program.is_none() {
        refused.iter_mut().for_each(|refusal| refusal.of_machine = true);
    }
    if let Some(first) = refused.first_mut().filter(|_| !is_same) {
        first.program = match of_program {
            None => Some(format!(
                "a BPF qdisc does it (Linux 6.16 or newer, CONFIG_{})",
                Kind::BpfQdisc.option()
            )),
            Some(of_program) if has_program => of_program.into_iter().next().map(|why| why.what),
            Some(_) => None,
        };
    }
    refused
}

/// The rate up to which a millisecond's bytes fit into the kernel's 32 bits, and some.
const MAX_RATE: Rate = Rate::from_bits_per_sec(10_000_000_000_000);

/// The tree, if its numbers fit into those of the kernel.
fn fitting(tree: Tree) -> Result<Tree, Vec<Refusal>> {
    let path = format!("roles.{}.queue", tree.role);
    let refused = |what: String| Err(vec![Refusal::of_policy(&path, &what, None)]);
    if tree.rate > MAX_RATE {
        return refused(format!(
            "the rate {} of the line exceeds the maximum of {MAX_RATE}",
            tree.rate
        ));
    }
    let settings = tree.disciplines().into_iter().flat_map(|queue| {
        let inner = queue.inner.iter().filter_map(|inner| inner.settings.as_ref());
        [&queue.fixed, &queue.settings].into_iter().chain(inner)
    });
    let numbers =
        settings.flat_map(|settings| settings.split(' ')).filter_map(|it| it.parse().ok());
    let quanta = tree.leaves.iter().map(|leaf| leaf.quantum.0);
    let great = numbers.chain(quanta).find(|number: &u64| *number > u32::MAX.into());
    match great {
        Some(number) => {
            refused(format!("{number} packets or bytes exceed the kernel's maximum of 4294967295"))
        }
        None => Ok(tree),
    }
}

impl Refusal {
    /// The policy asks for what no kernel does.
    fn of_policy(path: &str, what: &str, hint: Option<&str>) -> Refusal {
        let nearest = hint.map(|hint| (hint.to_owned(), false));
        let (path, what) = (path.to_owned(), what.to_owned());
        Refusal { path, what, nearest, of_machine: false, program: None }
    }

    /// This kernel lacks what others have.
    fn of_kernel(path: &str, kind: Kind, scheme: &str) -> Refusal {
        let module = match kind.module() {
            "" => String::new(),
            module => format!(", module {module}"),
        };
        let what = format!(
            "`{scheme}` requires the kernel's {}, which this kernel lacks (CONFIG_{}{module})",
            kind.name(),
            kind.option()
        );
        Refusal { path: path.to_owned(), what, nearest: None, of_machine: true, program: None }
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
            self.notes.push(format!("{}: {}; used instead: {nearest}", refusal.path, refusal.what));
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
