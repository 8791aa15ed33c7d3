//! What of a policy runs in both directions.

use shortflow_deploy::{RolesError, roles_of};
use shortflow_elements::QueueDiscipline;
use shortflow_elements::queue::{Fifo, FifoParams};
use shortflow_policy::{Asked, Policy, PortSite, Role};
use shortflow_units::{LinkLayer, Rate};

use crate::direction::Direction;
use crate::line::Line;

/// The packets that wait where no role has a queue: as many as Linux allows at a device.
const DEFAULT_LIMIT: &str = "1000 pkt";

/// The roles, and the lines behind them.
#[derive(Debug, Clone)]
pub struct Plan<'p> {
    /// From the first device to the second, and back.
    roles: [Vec<&'p Role>; 2],
    /// The rates from the first device to the second, and back.
    rates: [Rate; 2],
    link_layer: LinkLayer,
    /// Of the random streams of elements.
    seed: u64,
}

/// A role needs what only the sending host knows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "roles.{role}: it {what}\n\
     deploy this role at the hosts, and give the other roles here: --role NAME"
)]
pub struct Refused {
    /// The role.
    pub role: String,
    /// What it does that needs the sending host.
    pub what: &'static str,
}

/// The roles of these names; without names, all roles that have an effect.
///
/// # Errors
/// If a role does not exist, or two roles have the same task.
pub fn acting_roles<'p>(policy: &'p Policy, names: &[String]) -> Result<Vec<&'p Role>, RolesError> {
    match roles_of(policy, names) {
        Err(RolesError::Several { acting, example, .. }) if acting.len() == example.len() => {
            roles_of(policy, &example)
        }
        found => found,
    }
}

impl<'p> Plan<'p> {
    /// `roles` run in both directions; `rates` are those from the first device to the second, and back.
    ///
    /// # Errors
    /// If a role needs what only the sending host knows.
    pub fn new(
        roles: Vec<&'p Role>,
        rates: [Rate; 2],
        link_layer: LinkLayer,
        seed: u64,
    ) -> Result<Plan<'p>, Refused> {
        refuse_of_hosts(&roles)?;
        Ok(Plan { roles: [roles.clone(), roles], rates, link_layer, seed })
    }

    /// The same plan with other roles from the second device to the first.
    ///
    /// # Errors
    /// If a role needs what only the sending host knows.
    pub fn with_roles_back(mut self, roles: Vec<&'p Role>) -> Result<Plan<'p>, Refused> {
        refuse_of_hosts(&roles)?;
        self.roles[1] = roles;
        Ok(self)
    }

    /// The roles of both directions, each once.
    pub(crate) fn roles(&self) -> Vec<&'p Role> {
        let [there, back] = &self.roles;
        let other = back.iter().filter(|role| there.iter().all(|one| one.name != role.name));
        there.iter().chain(other).copied().collect()
    }

    /// New elements for direction 0 or 1. Their random streams have the names of the place where packets come in, and of
    /// the port where they go out: `r<-a` and `r->b`.
    pub fn direction(&self, number: usize, ingress: &str, egress: &str) -> Direction {
        let (roles, rate) = (&self.roles[number], self.rates[number]);
        let at = |name| PortSite { name, seed: self.seed, rate };
        let conditioner = roles.iter().find_map(|role| role.conditioner(at(ingress)));
        let queue = roles.iter().find_map(|role| role.queue(at(egress)));
        let line = Line::new(rate, self.link_layer);
        Direction::new(conditioner, queue.unwrap_or_else(default_queue), line)
    }
}

fn refuse_of_hosts(roles: &[&Role]) -> Result<(), Refused> {
    for role in roles {
        let what = match role.asks() {
            Asked::Nothing if role.withholds() => {
                "withholds segments in the sender's TCP, which asks no router; \
                 `place = \"queue\"` holds packets instead"
            }
            Asked::Nothing => continue,
            Asked::Ends => {
                "asks for labels or bytes that the application reports, which only the sending \
                 host knows"
            }
            Asked::Tcp => {
                "asks for the state of the sender's TCP, which only the sending host knows"
            }
        };
        return Err(Refused { role: role.name.clone(), what });
    }
    Ok(())
}

fn default_queue() -> Box<dyn QueueDiscipline> {
    let limit = DEFAULT_LIMIT.parse().expect("it is a length");
    Box::new(Fifo::new(FifoParams::new(limit).expect("a FIFO may have this limit")))
}
