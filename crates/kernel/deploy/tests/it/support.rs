//! Policies, and trees of them.

use std::path::{Path, PathBuf};

use shortflow_deploy::{Kernel, Kind, Listings, Observed, Refusal, Root, Settings, Step, Tree};
use shortflow_policy::Policy;
use shortflow_units::Rate;

/// A kernel that has everything but these.
pub(crate) fn kernel_without(lacking: &[Kind]) -> Kernel {
    Kernel::new(shortflow_deploy::KINDS.iter().map(|row| (row.0, !lacking.contains(&row.0))))
}

/// On a line of 10 Mbit/s, with a kernel that has every queue of its own but these, and takes none that is a program.
pub(crate) fn settings(lacking: &[Kind], nearest: bool) -> Settings {
    let kernel = kernel_without(&[lacking, &[Kind::BpfQdisc]].concat());
    Settings { kernel, ..settings_with_program(nearest) }
}

/// On a line of 10 Mbit/s, with a kernel that has everything.
pub(crate) fn settings_with_program(nearest: bool) -> Settings {
    let rate = Some(Rate::from_bits_per_sec(10_000_000));
    let kernel = kernel_without(&[]);
    Settings { rate, link_layer: None, link_header: 14, kernel, nearest }
}

/// The folder of the policies that come with the program.
pub(crate) fn policies() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../policies")
}

/// One of them.
pub(crate) fn shipped(name: &str) -> Policy {
    shortflow_policy::load(&policies().join(name), &[]).expect("it is a policy")
}

/// A policy of a text, whose role is called `core`.
pub(crate) fn of_queue(queue: &str) -> Policy {
    let text = format!("name = \"Test\"\n[roles.core]\nqueue.{queue}\n");
    shortflow_policy::from_text("test.toml", &text, &[]).expect("it is a policy")
}

/// The tree of its role `core`.
pub(crate) fn compiled(policy: &Policy, settings: &Settings) -> Result<Tree, Vec<Refusal>> {
    let role = policy.role("core").expect("it has a role `core`");
    shortflow_deploy::compile(policy, role, settings)
}

/// A device to which nobody has done anything.
pub(crate) fn untouched() -> Observed {
    let observed = shortflow_deploy::Tc::parsed(&Listings::default()).expect("nothing is said");
    assert_eq!(observed.root, Root::Default);
    observed
}

/// What is done to such a device.
pub(crate) fn first_steps(tree: &Tree) -> Vec<Step> {
    shortflow_deploy::converge("eth0", &untouched(), tree, Vec::new())
        .expect("nothing is in the way")
}
