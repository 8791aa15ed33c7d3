//! RED with several levels: the kernel's `gred`.

use shortflow_elements::queue::Averages;
use shortflow_policy::keys::RedPlan;

use super::line::by_code_point;
use super::red::is_of_kernel;
use super::{Compiled, Compiler, Refusal};
use crate::bytecode::Choice;
use crate::kernel::Kind;
use crate::tree::Discipline;

/// The most levels: `gred` has 16, of which the first stays empty for packets without a level.
const MAX_LEVELS: usize = 15;

impl Compiler<'_> {
    /// `gred` where it does the same, else the program for early drops, or the nearest.
    pub(super) fn multi_red(&mut self, plan: &RedPlan, path: &str) -> Compiled<Discipline> {
        let count = plan.curves().len();
        let one_average = plan.averages() == Averages::Shared || count == 1;
        if !self.lacks(Kind::Gred) && one_average && count <= MAX_LEVELS && is_of_kernel(plan) {
            return self.gred(plan, path);
        }
        match self.early_red(plan, path)? {
            Some(queue) => Ok(queue),
            None => self.gred(plan, path),
        }
    }

    /// `gred`, whose levels are numbered from 1 on. Packets without a level, which no filter of ours has seen, belong to the
    /// level of most code points.
    fn gred(&mut self, plan: &RedPlan, path: &str) -> Compiled<Discipline> {
        self.there(Kind::Gred, "multi-red", path)?;
        self.there(Kind::Clsact, "multi-red", path)?;
        self.refuse_parts_of_red(Kind::Gred, plan, path)?;
        let count = plan.curves().len();
        if count > MAX_LEVELS {
            let what = format!("{count} levels exceed the {MAX_LEVELS} of the kernel's gred");
            let hint = "let several code points share a level";
            return Err(vec![Refusal::of_policy(path, &what, Some(hint))]);
        }
        self.averages(plan, path)?;
        let log = self.weight_log(plan.weight(), path);
        let (classifier, rest) = by_code_point(count, |dscp| plan.level_of(dscp));
        let mut parts = Vec::new();
        for (level, curve) in plan.curves().iter().enumerate() {
            let path = format!("{path}.levels.{level}");
            let curve = self.curve(Kind::Gred, plan, curve, log, &path)?;
            let priority = match plan.averages() {
                Averages::Shared => 1,
                Averages::PerLevel | Averages::Coupled => level + 1,
            };
            parts.push(format!("DP {} {curve} prio {priority}", level + 1));
        }
        // With equal priorities, `grio` has one average for all; with others, it adds up those of better levels.
        let grio = if plan.averages() == Averages::PerLevel { "" } else { " grio" };
        let fixed = format!("setup DPs {} default {}{grio}", count + 1, rest + 1);
        let classes: Vec<_> = (0..count).map(Choice::Class).collect();
        let levels = Some(Choice::among(&classifier, &classes, rest));
        Ok(Discipline { fixed, parts, levels, ..Discipline::plain(Kind::Gred, String::new()) })
    }

    /// What `gred` does otherwise unless one average counts all packets. With one level all averages are the same.
    fn averages(&mut self, plan: &RedPlan, path: &str) -> Compiled<()> {
        if plan.curves().len() == 1 {
            return Ok(());
        }
        let limit = plan.limit();
        match plan.averages() {
            Averages::Shared => Ok(()),
            Averages::PerLevel => {
                let what = "with `average = \"per-level\"`, the levels of the kernel's gred share no \
                    limit";
                let nearest = format!("gred with a limit of {limit} for each level");
                self.nearest(Refusal::of_policy(path, what, None), &nearest, ())
            }
            Averages::Coupled => {
                let what =
                    "the kernel's gred has no average that counts the packets of several levels";
                let nearest = format!(
                    "gred's `grio`, which adds up the averages of the level and of better ones, each \
                        sampled by its own packets, with a limit of {limit} for each level"
                );
                self.nearest(Refusal::of_policy(path, what, None), &nearest, ())
            }
        }
    }
}
