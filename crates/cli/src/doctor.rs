//! `doctor`: whether this machine has what deployments need.

use std::collections::BTreeSet;

use serde_json::json;
use shortflow_deploy::{
    Kernel, Kind, Refusal, Settings, any_owners, compile, compile_edge, examine, roles_of,
};
use shortflow_policy::Policy;

use crate::console::Console;
use crate::deploy::read;
use crate::deploy_args::Doctor;
use crate::failure::Failure;

/// What leads received packets to queues.
const FOR_INGRESS: [Kind; 4] = [Kind::Clsact, Kind::Bpf, Kind::Ifb, Kind::Mirred];

/// What of it a kernel is known to lack.
pub(crate) fn lacking_for_ingress(kernel: &Kernel) -> Vec<Kind> {
    FOR_INGRESS.into_iter().filter(|kind| kernel.lacks(*kind)).collect()
}

/// `shortflow doctor`.
pub(crate) fn doctor(console: &Console, args: &Doctor) -> Result<(), Failure> {
    let report = examine();
    let Needs { kinds, program, reported } = match &args.policy {
        Some(path) => needs(
            &read(console, &shortflow_shipped::inputs(), path, &[])?,
            &args.role,
            &report.kernel,
        )?,
        None => Needs { kinds: [Kind::Htb, Kind::Bpf, Kind::Pfifo].into(), ..Needs::default() },
    };
    let kinds: BTreeSet<Kind> = match args.ingress {
        true => kinds.into_iter().chain(FOR_INGRESS).collect(),
        false => kinds,
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
        false => Err(Failure::Machine(format!("something is missing\n{}", missing.join("\n  ")))),
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

/// The queues of the kernel in whose place the program for early drops comes here.
fn replaced(here: &Kernel) -> impl Iterator<Item = (Kind, bool)> {
    let has_program = [Kind::Early, Kind::Clsact].map(|kind| here.has(kind)) == [Some(true); 2];
    let is_replaced = move |kind: &Kind| has_program && here.lacks(*kind);
    [Kind::Red, Kind::Gred].into_iter().filter(is_replaced).map(|kind| (kind, false))
}

fn needs(policy: &Policy, names: &[String], here: &Kernel) -> Result<Needs, Failure> {
    let roles = match names {
        [] => policy.roles.iter().filter(|role| role.conditions() || role.queues()).collect(),
        names => roles_of(policy, names).map_err(|error| Failure::Input(error.to_string()))?,
    };
    // The rate has no part in what is needed, and a kernel of which nothing is known lacks nothing. It has programs as
    // queueing disciplines too.
    let rate = Some(shortflow_units::Rate::from_bits_per_sec(10_000_000));
    let kernel = Kernel::new(std::iter::once((Kind::BpfQdisc, true)).chain(replaced(here)));
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
