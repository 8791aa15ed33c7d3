//! Checks whether a machine has what deployments need.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};

use nix::sched::{CloneFlags, unshare};
use serde_json::{Value, json};
use shortflow_ebpf::early::EarlyProgram;
use shortflow_files::reason;

use crate::kernel::{KINDS, Kernel, Kind};
use crate::start_remedy::start_remedy;
use crate::{program, trial};

/// What was found.
#[derive(Debug, Clone)]
pub struct Report {
    /// Tools and permissions.
    pub findings: Vec<Finding>,
    /// The program that conditions packets, which policies need that mark.
    pub program: Finding,
    /// The kernel.
    pub kernel: Kernel,
    /// How the kernel was looked at.
    pub how: &'static str,
}

/// Something that is there, or not.
#[derive(Debug, Clone)]
pub struct Finding {
    /// What was looked for.
    pub what: String,
    /// What was found.
    pub found: Result<String, String>,
}

/// Examines this machine. If the process may create a network namespace, it tests everything in its own, which may
/// load kernel modules; otherwise it uses the kernel's configuration.
pub fn examine() -> Report {
    let mut findings = vec![tool("tc"), tool("ip"), permission()];
    findings.extend(link_layers());
    let (kernel, how) = examine_kernel();
    Report { findings, program: program(), kernel, how }
}

/// What the kernel has of traffic control, and how it was looked at.
pub fn examine_kernel() -> (Kernel, &'static str) {
    match trial::kernel() {
        Some(kernel) => (kernel, "probed in a network namespace"),
        None => (built(), "according to the kernel's configuration and modules"),
    }
}

impl Report {
    /// Those of the kinds that the kernel is known to lack.
    pub fn lacking(&self, needed: &BTreeSet<Kind>) -> Vec<Kind> {
        needed.iter().copied().filter(|kind| self.kernel.lacks(*kind)).collect()
    }

    /// As a person reads it; `needed` are the kinds that `whom` needs.
    pub fn text(&self, needed: &BTreeSet<Kind>, whom: &str) -> String {
        let mut text = String::new();
        for Finding { what, found } in self.findings.iter().chain([&self.program]) {
            let line = match found {
                Ok(found) => format!("  ok       {what}: {found}\n"),
                Err(lacking) => format!("  missing  {what}: {}\n", lacking.replace('\n', "; ")),
            };
            text += &line;
        }
        text += &format!("  kernel {}, {}:\n", release(), self.how);
        for (kind, name, option, module, _) in KINDS {
            let state = match self.kernel.has(kind) {
                Some(true) => "ok     ",
                Some(false) => "missing",
                None => "unknown",
            };
            let mark =
                if needed.contains(&kind) { format!("  needed by {whom}") } else { String::new() };
            let module = if module.is_empty() { String::new() } else { format!(", {module}") };
            text += &format!("  {state}  {name} (CONFIG_{option}{module}){mark}\n");
        }
        text
    }

    /// As a program reads it.
    pub fn json(&self, needed: &BTreeSet<Kind>) -> Value {
        let finding = |Finding { what, found }: &Finding| {
            let (Ok(message) | Err(message)) = found;
            json!({ "what": what, "ok": found.is_ok(), "found": message })
        };
        let kinds = KINDS.iter().map(|(kind, name, option, module, _)| {
            json!({
                "name": name, "option": format!("CONFIG_{option}"), "module": module,
                "there": self.kernel.has(*kind), "needed": needed.contains(kind),
            })
        });
        json!({
            "findings": self.findings.iter().map(finding).collect::<Vec<_>>(),
            "program": finding(&self.program),
            "kernel": release(), "how": self.how, "kinds": kinds.collect::<Vec<_>>(),
        })
    }
}

/// What to do for the kernel to have these.
pub(crate) fn remedy(lacking: &[Kind]) -> String {
    let modules: BTreeSet<&str> =
        lacking.iter().map(|kind| kind.module()).filter(|it| !it.is_empty()).collect();
    let modules: Vec<&str> = modules.into_iter().collect();
    // What is no module is in the kernel or not.
    let options = lacking.iter().filter(|kind| kind.module().is_empty());
    let options: BTreeSet<String> =
        options.map(|kind| format!("CONFIG_{}{}", kind.option(), kind.since())).collect();
    let options: Vec<String> = options.into_iter().collect();
    let load = format!(
        "load {} with `modprobe`; if the kernel has no such module, use a kernel built with it",
        modules.join(", ")
    );
    let build = format!("use a kernel that was built with {}", options.join(", "));
    match (modules.is_empty(), options.is_empty()) {
        (false, true) => load,
        (true, _) => build,
        (false, false) => format!("{load}; {build}"),
    }
}

impl Kernel {
    /// What to do for a kernel to have what it lacks.
    pub fn remedy(lacking: &[Kind]) -> String {
        remedy(lacking)
    }
}

fn tool(name: &'static str) -> Finding {
    let output = Command::new(name).arg("-V").output();
    let found = match output {
        Ok(output) => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
        Err(error) => Err(format!("{}; {}", reason(&error), start_remedy(&error))),
    };
    Finding { what: format!("tool {name}"), found }
}

fn program() -> Finding {
    let found = program::try_out().map(|()| "the kernel accepts it".to_owned());
    Finding {
        what: "marking eBPF program".to_owned(),
        found: found.map_err(|error| error.to_string()),
    }
}

/// Whether HTB counts packets as a link does, by a test; `None` if the process may not test it, or HTB is missing.
fn link_layers() -> Option<Finding> {
    let trial = || {
        unshare(CloneFlags::CLONE_NEWNET).ok()?;
        if !tc("qdisc add dev lo root handle 1: htb") {
            return None;
        }
        tc("qdisc del dev lo root");
        let is_taken = tc("qdisc add dev lo root handle 1: stab overhead -4 htb")
            && tc(
                "class add dev lo parent 1: classid 1:1 htb rate 1mbit overhead 26 mpu 64 linklayer atm",
            );
        let shown = Command::new("tc").args(["-d", "class", "show", "dev", "lo"]).output().ok()?;
        let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
        let is_kept = ["overhead 26", "mpu 64b", "linklayer atm"].map(|part| shown.contains(part));
        Some(is_taken && is_kept == [true; 3])
    };
    let trial = std::thread::Builder::new().spawn(trial).ok()?;
    let is_kept = trial.join().expect("the trial does not panic")?;
    let found = match is_kept {
        false => Err("HTB supports no overhead, mpu or linklayer: omit --link-layer".to_owned()),
        true if is_before(&release(), [5, 17]) => {
            Ok("overhead and ATM cells; mpu requires kernel 5.17 or newer".to_owned())
        }
        true => Ok("overhead, mpu and ATM cells".to_owned()),
    };
    Some(Finding { what: "link layers of HTB".to_owned(), found })
}

/// Whether a kernel's release is before a version.
fn is_before(release: &str, version: [u32; 2]) -> bool {
    let mut numbers = release.split(['.', '-']).map_while(|part| part.parse::<u32>().ok());
    match (numbers.next(), numbers.next()) {
        (Some(major), Some(minor)) => [major, minor] < version,
        _ => false,
    }
}

/// The number of CAP_NET_ADMIN in capabilities(7).
const NET_ADMIN: u32 = 12;

fn permission() -> Finding {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let effective = effective.and_then(|text| u64::from_str_radix(text.trim(), 16).ok());
    let found = match effective.is_some_and(|held| held >> NET_ADMIN & 1 == 1) {
        true => Ok("this process may change devices".to_owned()),
        false => Err("run it as root (sudo); it requires the capability CAP_NET_ADMIN".to_owned()),
    };
    Finding { what: "permission".to_owned(), found }
}

fn release() -> String {
    let text = std::fs::read_to_string("/proc/sys/kernel/osrelease");
    text.map_or_else(|_| "unknown".to_owned(), |text| text.trim().to_owned())
}

/// Whether tc does this.
fn tc(command: &str) -> bool {
    let mut tc = Command::new("tc");
    let tc = tc.args(command.split_whitespace()).stdin(Stdio::null());
    let status = tc.stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// What the kernel's configuration and modules say.
fn built() -> Kernel {
    let release = release();
    let configuration = std::fs::read_to_string(format!("/boot/config-{release}"));
    let folder = Path::new("/lib/modules").join(release);
    let modules = ["modules.builtin", "modules.dep"]
        .map(|file| std::fs::read_to_string(folder.join(file)).unwrap_or_default());
    Kernel::new(known(configuration.ok().as_deref(), &modules.concat()))
}

/// What a configuration and lists of modules say of each kind.
fn known(configuration: Option<&str>, modules: &str) -> Vec<(Kind, bool)> {
    let mut known = Vec::new();
    for (kind, _, option, module, _) in KINDS {
        // The option says nothing of a kind that came to its module later.
        if kind == Kind::CakeMq || (kind == Kind::BpfQdisc && !cfg!(feature = "ebpf")) {
            continue;
        }
        // Without the program in this build no kernel has it.
        if kind == Kind::Early && !EarlyProgram::IS_BUILT {
            known.push((kind, false));
            continue;
        }
        let line = |value: &str| format!("CONFIG_{option}={value}");
        let built = configuration
            .map(|text| text.lines().any(|given| given == line("y") || given == line("m")));
        let file = format!("/{module}.ko");
        let listed = !module.is_empty() && modules.lines().any(|line| line.contains(&file));
        match built {
            Some(built) => known.push((kind, built)),
            None if listed => known.push((kind, true)),
            None => {}
        }
    }
    known
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_compared_by_number() {
        let found = ["5.10.0-8-amd64", "5.17.1", "6.1.0", "odd"].map(|it| is_before(it, [5, 17]));
        assert_eq!(found, [true, false, false, false]);
    }

    #[test]
    fn without_a_trial_a_kernel_has_what_it_was_built_with_and_the_rest_is_unknown() {
        let configuration =
            "CONFIG_NET_SCHED=y\nCONFIG_NET_SCH_HTB=m\n# CONFIG_NET_SCH_RED is not set\n";
        let kernel = Kernel::new(known(Some(configuration), ""));
        let found = [Kind::Pfifo, Kind::Htb, Kind::Red, Kind::CakeMq].map(|kind| kernel.has(kind));
        assert_eq!(found, [Some(true), Some(true), Some(false), None]);
        let modules = "kernel/net/sched/sch_htb.ko.xz:\nkernel/net/sched/sch_cake.ko:\n";
        let kernel = Kernel::new(known(None, modules));
        let found = [Kind::Htb, Kind::Cake, Kind::Red].map(|kind| kernel.has(kind));
        assert_eq!(found, [Some(true), Some(true), None]);
    }
}
