//! The wanted state of a device under a policy, and the steps to reach it.

use std::path::Path;

use shortflow_policy::{Policy, QueuePlan, Role};
use shortflow_units::{LinkLayer, Rate};

use crate::compile::{Edge, Refusal, RolesError, Settings, compile, compile_edge, roles_of};
use crate::converge::{Step, converge, gets_place};
use crate::deployed::{Deployed, Options};
use crate::deployed_file::{forget_deployed, save_deployed};
use crate::device::Link;
use crate::edge::{Behind, EdgeMemo, TcxBefore, converge_edge, is_edge};
use crate::environment::Translation;
use crate::error::Error;
use crate::kernel::{Kernel, Kind};
use crate::levels::indexes;
use crate::memo::{over, short};
use crate::observe::{Listings, Observed, Root};
use crate::owner::Owners;
use crate::socket_option::chosen_cgroup;
use crate::tc::{Applied, Tc};
use crate::tree::Tree;
use crate::warning::Warning;

/// Where something is to stand, and how it is to be made.
#[derive(Debug, Clone)]
pub struct Site {
    /// The given rate; `None` if the policy's shaper or the device gives it.
    pub rate: Option<Rate>,
    /// The rate of the device, used if no other rate is given.
    pub speed: Option<Rate>,
    /// The size of a packet on the link of the bottleneck; `None` if the policy's shaper gives it.
    pub link_layer: Option<LinkLayer>,
    /// Bytes that the device puts before each packet, which the kernel counts.
    pub link_header: u64,
    /// What is known of the kernel.
    pub kernel: Kernel,
    /// Whether the nearest alternative replaces what the kernel cannot do, with a note.
    pub nearest: bool,
}

/// The wanted state of a device.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// The name of the policy.
    pub policy: String,
    /// What is done to packets before they wait.
    pub edge: Option<Edge>,
    /// How they wait.
    pub tree: Option<Tree>,
    /// The options, which the device keeps for the next `reload`.
    pub options: Options,
    /// The rate and the link layer where the policy's shaper gives them instead of the options.
    pub from_shaper: Options,
    /// What small differences there are from the policy.
    pub notes: Vec<String>,
}

/// Why a policy cannot be deployed on a device.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unwanted {
    /// One device cannot play the roles.
    #[error(transparent)]
    Roles(#[from] RolesError),
    /// All parts that the kernel or the policy does not allow.
    #[error("cannot deploy this policy: {}", reasons(.0))]
    Refused(Vec<Refusal>),
}

/// Whether a role's queue gives the rate and the link layer itself.
pub fn has_shaper(role: &Role) -> bool {
    matches!(role.queue, Some(QueuePlan::Shaper(_)))
}

/// The refusals in one line.
fn reasons(refusals: &[Refusal]) -> String {
    refusals.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

impl Wanted {
    /// The least rate of a queue: below it a full packet takes longer than the kernel's timers are made for.
    pub const MIN_RATE: Rate = Rate::from_bits_per_sec(64_000);

    /// What the `roles` of the policy come to; without names the only one that does something.
    ///
    /// # Errors
    /// When the roles are not those of one device, or all that is refused of them.
    pub fn from_policy(policy: &Policy, roles: &[String], site: &Site) -> Result<Wanted, Unwanted> {
        Wanted::from_policy_with_owners(policy, roles, site, &Owners::new())
    }

    /// The same, where connections of this host have labels by who owns them.
    ///
    /// # Errors
    /// As of [`from_policy`](Self::from_policy).
    pub fn from_policy_with_owners(
        policy: &Policy,
        roles: &[String],
        site: &Site,
        owners: &Owners,
    ) -> Result<Wanted, Unwanted> {
        let roles = roles_of(policy, roles)?;
        let (mut edge, mut tree, mut refusals) = (None, None, Vec::new());
        let mut from_shaper = Options::default();
        for role in &roles {
            match compile_edge(policy, role, owners) {
                Ok(found) => edge = edge.or(found),
                Err(more) => refusals.extend(more),
            }
            if !role.queues() && (role.conditions() || roles.len() > 1) {
                continue;
            }
            let has_shaper = has_shaper(role);
            let settings = Settings {
                rate: site.rate.or(site.speed.filter(|_| !has_shaper)),
                link_layer: site.link_layer,
                link_header: site.link_header,
                kernel: site.kernel.clone(),
                nearest: site.nearest,
            };
            match compile(policy, role, &settings) {
                Ok(found) => {
                    if has_shaper {
                        from_shaper.rate = site.rate.is_none().then_some(found.rate);
                        from_shaper.link_layer = Some(found.link_layer)
                            .filter(|layer| site.link_layer.is_none() && *layer != LinkLayer::RAW);
                    }
                    tree = Some(found);
                }
                Err(more) => refusals.extend(more),
            }
        }
        match refusals.is_empty() {
            true => {
                let of_edge = edge.iter().flat_map(|edge| &edge.notes);
                let notes = of_edge.chain(tree.iter().flat_map(|tree| &tree.notes));
                let notes = notes.cloned().collect();
                let options = Options::default();
                let policy = policy.name.clone();
                Ok(Wanted { policy, edge, tree, options, from_shaper, notes })
            }
            false => Err(Unwanted::Refused(refusals)),
        }
    }

    /// The steps: the queues first, so that marked packets find queues that know their marks; the memo of the queues
    /// last.
    ///
    /// # Errors
    /// When something is in the way, queues of ours that this has none for among it.
    pub fn steps(&self, tc: &Tc, observed: &Observed, device: &str) -> Result<Vec<Step>, Error> {
        let taken = self.edge.as_ref().and_then(|edge| observed.edge.taken(edge));
        if let Some(place) = taken {
            let (what, point) = ("the marking program", "egress");
            return Err(Error::PlaceTaken { device: device.to_owned(), what, point, place });
        }
        let of_kernel = self.tree.as_ref().filter(|tree| tree.program.is_none());
        if of_kernel.is_some_and(|tree| indexes(tree).is_some())
            && let Some(place) = observed.edge.taken_by_others_for_levels()
        {
            let (what, point) = ("the filter that gives packets their levels", "egress");
            return Err(Error::PlaceTaken { device: device.to_owned(), what, point, place });
        }
        let mut edge = converge_edge(device, &observed.edge, &self.policy, self.edge.as_ref());
        edge.extend(self.records(observed, device)?);
        let steps = match &self.tree {
            Some(tree) => {
                let mut steps = tc.plan_with(observed, tree, edge)?;
                for step in &mut steps {
                    if let Step::Queue(queueing) = step {
                        queueing.record = Some(self.deployed(observed).text());
                    }
                }
                steps
            }
            None if observed.root == Root::Ours => {
                return Err(Error::QueuesLeft { device: device.to_owned() });
            }
            None => edge,
        };
        observed.edge.with_place(device, steps)
    }

    /// The same, with these options.
    #[must_use]
    pub fn with_options(self, options: Options) -> Wanted {
        Wanted { options, ..self }
    }

    /// The same, where only the processes of this cgroup may set thresholds.
    ///
    /// # Errors
    /// When applications set no thresholds, or it is not a cgroup of version 2.
    pub fn at_cgroup(mut self, cgroup: &Path) -> Result<Wanted, Error> {
        let edge = self.edge.as_mut().filter(|edge| edge.plan.has_objects());
        let edge = edge.ok_or(Error::UnusedCgroup)?;
        edge.cgroup = Some(chosen_cgroup(cgroup)?);
        match EdgeMemo::excess(&self.policy, edge) {
            Some([found, max]) => Err(Error::LongCgroup { found, max }),
            None => Ok(self),
        }
    }

    /// The same behind address translation, if there is any: CAKE then distinguishes hosts by their own addresses
    /// (`nat`).
    #[must_use]
    pub fn behind(mut self, translation: Translation) -> Wanted {
        if translation == Translation::Seen
            && let Some(tree) = &mut self.tree
        {
            tree.leaves.iter_mut().for_each(|leaf| leaf.queue.see_behind_nat());
        }
        self
    }

    /// Whether one of its queues uses the addresses of hosts.
    pub fn distinguishes_hosts(&self) -> bool {
        let queues = self.tree.iter().flat_map(Tree::disciplines);
        queues.map(|queue| queue.kind).any(|kind| [Kind::Cake, Kind::CakeMq].contains(&kind))
    }

    /// What programs of others at tcx may do to it on a device of this name.
    pub fn tcx_warnings(&self, device: &Link, name: &str) -> Vec<Warning> {
        let of_kernel = self.tree.as_ref().filter(|tree| tree.program.is_none());
        let has_levels = of_kernel.is_some_and(|tree| indexes(tree).is_some());
        let egress = match &self.edge {
            Some(_) => Some(Behind::Marking),
            None => has_levels.then_some(Behind::Levels),
        };
        let echoes = self.edge.as_ref().is_some_and(|edge| edge.plan.echoes());
        let behind = egress.into_iter().chain(echoes.then_some(Behind::Echo));
        let before = behind.flat_map(|behind| TcxBefore::at(device.index, behind));
        let warning = |program: TcxBefore| Warning {
            what: program.text(),
            remedy: format!("if it does not, remove it: {}", program.removal(name, name)),
        };
        before.map(warning).collect()
    }

    /// Why no device can hold it, however empty it is: more queues, rules or options than there is room for.
    pub fn beyond_any_device(&self, device: &str) -> Option<Error> {
        let empty = Observed::parse(&Listings::default()).expect("an empty listing is read");
        let tree = self.tree.as_ref();
        let too_large = tree.and_then(|tree| converge(device, &empty, tree, Vec::new()).err());
        let too_large =
            too_large.map(|obstacle| Error::Obstacle { device: device.to_owned(), obstacle });
        too_large.or_else(|| self.records(&empty, device).err())
    }

    /// Keeps at the device what is deployed, in both places that are there.
    fn records(&self, observed: &Observed, device: &str) -> Result<Vec<Step>, Error> {
        let Wanted { edge, tree, .. } = self;
        let deployed = self.deployed(observed);
        if let Some([found, max]) = deployed.excess() {
            return Err(Error::LongOptions { found, max });
        }
        let is_new = |record: &Option<Deployed>| record.as_ref() != Some(&deployed);
        // A program keeps it itself.
        let is_kernels = tree.as_ref().is_some_and(|tree| tree.program.is_none());
        let has_root = is_kernels && (is_new(&observed.record) || observed.queueing.is_some());
        let gets_place = tree.as_ref().is_some_and(|tree| gets_place(observed, tree));
        let has_clsact = observed.edge.has_place || edge.is_some() || gets_place;
        let has_clsact = has_clsact && !observed.edge.record_is_taken();
        let at_root = has_root.then(|| deployed.at_root(device));
        let at_clsact =
            (has_clsact && is_new(&observed.edge.record)).then(|| deployed.at_clsact(device));
        Ok(at_root.into_iter().chain(at_clsact).collect())
    }

    /// Whether it is deployed, according to the memos: the policy's name, roles, rate, shape and settings, and the
    /// program's behaviour. Manual changes of the queues' values are not detected.
    ///
    /// # Errors
    /// When the device is not there, or tc cannot be run or read.
    pub fn is_deployed(&self, tc: &Tc) -> Result<bool, Error> {
        let observed = tc.observe()?;
        let queues = match &self.tree {
            Some(tree) => {
                let is_of = observed.memo.as_ref().is_some_and(|memo| memo.is_of(tree));
                is_of && observed.damage().is_empty()
            }
            None => observed.root != Root::Ours,
        };
        Ok(queues && is_edge(&observed.edge, &self.policy, self.edge.as_ref()))
    }

    /// Whether it is deployed, except for the temporary changes of `verify`, which remain if `verify` is killed.
    pub fn is_deployed_except_verify(&self, observed: &Observed) -> bool {
        let queues = self.tree.as_ref().is_none_or(|tree| {
            let memo = observed.memo.as_ref();
            memo.is_some_and(|memo| memo.is_of(tree) || memo.is_instead_of(tree))
        });
        let edge = self.edge.as_ref().is_none_or(|edge| {
            let memo = observed.edge.memo.as_ref();
            memo.is_some_and(|memo| {
                memo.is_of(&self.policy, edge) || memo.is_past(&self.policy, edge)
            })
        });
        queues && edge
    }

    /// Applies it, starting from `observed`.
    ///
    /// # Errors
    /// As of [`Tc::apply`].
    pub fn apply(&self, tc: Tc, observed: &Observed, steps: &[Step]) -> Result<Applied, Error> {
        let tc = match &self.edge {
            Some(edge) => tc.with_edge(edge.clone(), observed.edge.memo.clone()),
            None => tc,
        };
        let device = tc.device().to_owned();
        // The file comes first: the kernel's memo, which says that all is whole, is the last change of all.
        save_deployed(&device, &self.deployed(observed))?;
        let applied = tc.apply(steps);
        let was_empty = !observed.is_ours() && !observed.is_lost();
        if applied.is_err() && was_empty && tc.observe().is_ok_and(|now| !now.is_ours()) {
            forget_deployed(&device);
        }
        applied
    }

    /// What the device keeps of it.
    pub(crate) fn deployed(&self, observed: &Observed) -> Deployed {
        let Wanted { policy, edge, tree, options, from_shaper, notes: _ } = self;
        Deployed {
            policy: short(policy),
            marks: edge.as_ref().map(|edge| short(&edge.role)),
            queues: tree.as_ref().map(|tree| short(&tree.role)),
            options: options.clone(),
            from_shaper: from_shaper.clone(),
            has_found_place: observed.place_was_found(),
        }
    }

    /// The roles, the one that marks first.
    pub fn roles(&self) -> Vec<&str> {
        let edge = self.edge.iter().map(|edge| edge.role.as_str());
        let mut roles: Vec<&str> =
            edge.chain(self.tree.iter().map(|tree| tree.role.as_str())).collect();
        roles.dedup();
        roles
    }

    /// What small differences there are from the policy.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// What it is, as the end of a line on a device and a policy.
    pub fn summary(&self) -> String {
        let classes = |count: usize| match count {
            1 => "1 class".to_owned(),
            count => format!("{count} classes"),
        };
        let edge = self
            .edge
            .iter()
            .map(|edge| format!(", role {} with {}", edge.role, classes(edge.classes.len())));
        let tree = self.tree.iter().map(|tree| {
            let layer = over(tree.link_layer);
            format!(", role {}, {}{layer}, {}", tree.role, tree.rate, classes(tree.leaves.len()))
        });
        edge.chain(tree).collect()
    }
}
