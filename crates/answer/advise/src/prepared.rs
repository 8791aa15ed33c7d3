//! A network beside the shipped policies: what is compared, and the files that describe the advice.

use std::path::Path;

use shortflow_policy::Policy;
use shortflow_scenario::Overrides;
use shortflow_shipped as shipped;
use shortflow_text::{Diagnostics, InputFiles};
use shortflow_tune::{CandidateFile, give};

use crate::advice::Advice;
use crate::network::Network;
use crate::variants::Compared;

/// The file of the scenario.
pub const SCENARIO: &str = "scenario.toml";
/// The file of the advised policy.
pub const WINNER: &str = "winner.toml";
/// The policy of the scenario where none is advised.
const PLAIN_QUEUE: &str = "plain-queue.toml";

/// Policies whose own rate is that of one line: what it is for, `deploy --rate` does.
const OF_ONE_LINE: [&str; 1] = ["shaper"];

/// A scenario, and the shipped policies that are compared in it.
#[derive(Debug)]
pub struct Prepared {
    /// What is compared.
    pub compared: Compared,
    text: String,
}

/// The files of an advice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdviceFiles {
    /// The text of [`SCENARIO`], which names the policy.
    pub scenario: String,
    /// The file of the policy.
    pub policy_file: &'static str,
    /// Its text.
    pub policy: String,
}

impl Prepared {
    /// The scenario of a network with a seed, and the shipped policies that fit. `is_deployable` says which policies the gateway
    /// can have; all without.
    ///
    /// # Errors
    /// When no policy fits.
    ///
    /// # Panics
    /// If the plain queue is not shipped.
    pub fn new(
        network: &Network,
        seed: Option<u64>,
        is_deployable: Option<&dyn Fn(&Policy) -> bool>,
    ) -> Result<Prepared, Diagnostics> {
        let (text, path, inputs) = (network.scenario(), Path::new(SCENARIO), InputFiles::default());
        inputs.give(path, &text);
        let set = seed.map(|seed| ("seed".to_owned(), seed.to_string()));
        let overrides = Overrides { set: set.into_iter().collect(), ..Overrides::default() };
        let fits = |one: &shipped::Shipped| is_deployable.is_none_or(|is| fits_a_gateway(one, is));
        let files: Vec<CandidateFile> =
            shipped::policies().filter(fits).map(|policy| give(&inputs, policy, true)).collect();
        let plain = give(&inputs, plain_queue(), false);
        let compared = Compared::new(&inputs, path, network, (&files, &plain), &overrides)?;
        Ok(Prepared { compared, text })
    }

    /// The files of an advice about this network.
    pub fn files(&self, advice: &Advice<'_>) -> AdviceFiles {
        let policy_file = if advice.has_policy() { WINNER } else { PLAIN_QUEUE };
        let named = format!("\npolicy = \"{policy_file}\"\nreplicas = ");
        let text = self.text.replacen("\nreplicas = ", &named, 1);
        let policy = advice.policy(plain_queue().1);
        AdviceFiles { scenario: advice.scenario(&text), policy_file, policy }
    }
}

fn plain_queue() -> shipped::Shipped {
    shipped::policy("best-effort").expect("it is shipped")
}

/// Whether a shipped policy can be deployed at a gateway of any rate.
fn fits_a_gateway(
    (path, text): &shipped::Shipped,
    is_deployable: &dyn Fn(&Policy) -> bool,
) -> bool {
    let Ok(policy) = shortflow_policy::from_text("", text, &[]) else { return false };
    !OF_ONE_LINE.contains(&shipped::stem(path)) && is_deployable(&policy)
}
