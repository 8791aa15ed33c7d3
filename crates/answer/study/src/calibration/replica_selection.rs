//! Selects the replicas to keep: those whose users request about as much as the paper's.

use serde::{Deserialize, Serialize};
use shortflow_measure::Replica;
use shortflow_workloads::parse_accesses;

use crate::error::Error;
use crate::runs::{Bench, Maker, Runs, Wanted};
use crate::spec::{KeepSpec, Variant};

/// The replicas that are kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SelectedReplicas {
    /// How many were drawn to find them.
    pub drawn: u32,
    /// Their numbers.
    pub replicas: Vec<u32>,
}

/// How many are drawn before it is looked whether that is enough.
const BATCH: u32 = 16;

/// Draws replicas until enough are kept, or as many are drawn as may be. `None` when it was
/// interrupted.
///
/// # Errors
/// When a scenario is mistaken, a replica fails, or results cannot be kept.
pub(crate) fn select(
    spec: &KeepSpec,
    maker: &Maker<'_>,
    variant: Variant,
    bench: &mut Bench<'_>,
) -> Result<Option<SelectedReplicas>, Error> {
    let mut runs = Runs::new(maker, variant);
    let mut kept = SelectedReplicas { drawn: 0, replicas: Vec::new() };
    while kept.drawn < spec.of && kept.replicas.len() < spec.replicas as usize {
        let drawn = spec.of.min(kept.drawn + BATCH);
        let mut wanted = Wanted::default();
        wanted.add(&spec.run, spec.x, drawn);
        bench.progress.stage(&format!(
            "{} of {} replicas kept",
            kept.replicas.len(),
            spec.replicas
        ));
        if !runs.raise(&wanted, bench)? {
            return Ok(None);
        }
        let replicas = runs.data().replicas(&spec.run, spec.x).unwrap_or_default();
        for number in kept.drawn..drawn {
            let asked = Asked::from_replica(&replicas[number as usize], spec)
                .map_err(|message| Error::Requests { run: spec.run.clone(), message })?;
            if asked.is_within(spec) {
                kept.replicas.push(number);
            }
        }
        kept.drawn = drawn;
    }
    kept.replicas.truncate(spec.replicas as usize);
    Ok(Some(kept))
}

/// What the users of a replica asked for.
struct Asked {
    flows: f64,
    bytes: f64,
    /// The bytes in files above each size.
    above: Vec<f64>,
}

impl Asked {
    fn from_replica(replica: &Replica, spec: &KeepSpec) -> Result<Asked, String> {
        let lines = replica.accesses.get(&spec.workload);
        let lines = lines.ok_or_else(|| format!("workload {} requests nothing", spec.workload))?;
        let accesses =
            parse_accesses(&lines.join("\n"), u32::MAX).map_err(|error| error.to_string())?;
        let mut asked = Asked { flows: 0.0, bytes: 0.0, above: vec![0.0; spec.above.len()] };
        for page in accesses.iter().map(|access| &access.page) {
            for file in page.index.iter().chain(page.objects.iter()) {
                let bytes = file.0 as f64;
                asked.flows += 1.0;
                asked.bytes += bytes;
                for (sum, above) in asked.above.iter_mut().zip(&spec.above) {
                    *sum += if bytes > above.size { bytes } else { 0.0 };
                }
            }
        }
        Ok(asked)
    }

    fn is_within(&self, spec: &KeepSpec) -> bool {
        let within = |value: f64, (from, to): (f64, f64)| (from..=to).contains(&value);
        let mut shares = self.above.iter().zip(&spec.above);
        within(self.flows, spec.flows)
            && within(self.bytes, spec.bytes)
            && shares.all(|(above, wanted)| within(above / self.bytes, wanted.share))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(flows: &str, share: &str) -> KeepSpec {
        let text = format!(
            "says = \"\"\nreplicas = 1\nof = 1\nrun = \"a\"\nx = 1\nworkload = \"web\"\n\
             flows = {flows}\nbytes = [9000, 11000]\nabove = [{{ size = 5000, share = {share} }}]"
        );
        toml::from_str(&text).unwrap()
    }

    /// Two pages: 1000 and 6000 bytes, and 3000 bytes.
    fn replica() -> Replica {
        let lines = ["time_s,client,page,index_bytes,object_bytes", "1,0,,1000,6000", "2,0,,3000,"];
        let accesses = [("web".to_owned(), lines.map(str::to_owned).to_vec())].into();
        Replica { accesses, ..crate::runs::data::tests::replica(&[]) }
    }

    #[test]
    fn a_replica_is_kept_when_what_is_asked_for_lies_in_every_range() {
        let is_kept = |flows, share| {
            let spec = spec(flows, share);
            Asked::from_replica(&replica(), &spec).unwrap().is_within(&spec)
        };
        assert!(is_kept("[3, 3]", "[0.59, 0.61]"));
        assert!(!is_kept("[4, 9]", "[0.59, 0.61]"), "three files, not four");
        assert!(!is_kept("[3, 3]", "[0.7, 0.9]"), "6 of 10 KB are above 5 KB");
    }
}
