//! Speed as a number that repeats: the instructions that small works take under valgrind's
//! callgrind, held against the committed figures of the same toolchain.
//!
//! The whole process is counted, from the text of the scenario to the report; the simulation is
//! more than 97 % of it. Repeated counts differ by less than 0.1 % (hash seeds, the digits of a clock).

mod figures;
mod machine;

use figures::{Counts, Figures, Set};

/// The committed figures, from the top of the repository.
pub(crate) const FIGURES: &str = "bench/guard/counts.toml";

/// How much more a work may take than the figures say.
const MAX_RATIO: f64 = 1.03;

/// A small version of a work of `bench/works`.
struct Work {
    name: &'static str,
    scenario: &'static str,
    settings: &'static [&'static str],
}

const WORKS: [Work; 3] = [
    Work { name: "A", scenario: "bench/works/a.toml", settings: &["duration=10 s"] },
    Work { name: "S", scenario: "bench/works/s.toml", settings: &["duration=40 s", "drain=10 s"] },
    Work { name: "D", scenario: "bench/works/d.toml", settings: &["duration=15 s", "drain=5 s"] },
];

/// What the guard has to say, and whether it lets the change pass.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Judgement {
    pub(crate) lines: Vec<String>,
    pub(crate) passes: bool,
}

/// Counts, then judges the counts or, with a reason, makes them the figures.
pub(crate) fn guard(renewal: Option<&str>) -> Result<Judgement, String> {
    if renewal.is_some_and(|reason| reason.trim().is_empty()) {
        return Err("new figures need a reason: REASON='…'".to_owned());
    }
    if !machine::has_valgrind() {
        let lines = vec!["guard: skipped: needs valgrind".to_owned()];
        return Ok(Judgement { lines, passes: renewal.is_none() });
    }
    let text = std::fs::read_to_string(FIGURES).map_err(|error| format!("{FIGURES}: {error}"))?;
    let figures = Figures::parse(&text)?;
    let now = Set {
        reason: renewal.unwrap_or_default().to_owned(),
        toolchain: machine::toolchain()?,
        instructions: machine::count(&WORKS)?,
    };
    if renewal.is_none() {
        return Ok(judge(&figures, &now));
    }
    std::fs::write(FIGURES, figures::renewed(&text, &now))
        .map_err(|error| format!("{FIGURES}: {error}"))?;
    let mut judgement = judge(&figures, &now);
    judgement.lines.retain(|line| line.starts_with("guard: work"));
    judgement.lines.push(format!("guard: {FIGURES} renewed; commit it with the change"));
    Ok(Judgement { passes: true, ..judgement })
}

/// Holds counts against the figures. Those of another toolchain are shown but do not fail: another
/// compiler writes other instructions.
fn judge(figures: &Figures, now: &Set) -> Judgement {
    let Some(old) = figures.latest(&now.toolchain).or_else(|| figures.newest()) else {
        let lines = vec![format!("guard: no figures yet; {}", how_to_renew())];
        return Judgement { lines, passes: false };
    };
    let changes = changes(&old.instructions, &now.instructions);
    let mut lines: Vec<String> = changes.iter().map(Change::line).collect();
    if old.toolchain != now.toolchain {
        lines.push(format!(
            "guard: not judged: the figures are of {}, this is {}; to judge later changes here, {}",
            old.toolchain,
            now.toolchain,
            how_to_renew()
        ));
        return Judgement { lines, passes: true };
    }
    let passes = !changes.iter().any(Change::is_worse);
    if !passes {
        lines.push(format!(
            "guard: more than {MAX_RATIO} times the instructions; make it faster again, or {}",
            how_to_renew()
        ));
    } else if changes.iter().any(Change::is_better) {
        lines.push(format!("guard: faster; to keep it so, {}", how_to_renew()));
    }
    Judgement { lines, passes }
}

fn how_to_renew() -> String {
    "renew the figures in the same commit: make bench-guard RENEW=1 REASON='…'".to_owned()
}

/// One work before and now. A work that the figures do not know is judged worse: it needs some.
struct Change {
    work: String,
    old: u64,
    new: u64,
}

fn changes(old: &Counts, new: &Counts) -> Vec<Change> {
    let old_of = |work: &String| old.get(work).copied().unwrap_or(0);
    new.iter().map(|(work, &new)| Change { work: work.clone(), old: old_of(work), new }).collect()
}

impl Change {
    fn ratio(&self) -> f64 {
        self.new as f64 / self.old as f64
    }

    fn is_worse(&self) -> bool {
        self.ratio() > MAX_RATIO
    }

    fn is_better(&self) -> bool {
        self.ratio() < 1.0 / MAX_RATIO
    }

    fn line(&self) -> String {
        let verdict = match () {
            () if self.is_worse() => "WORSE",
            () if self.is_better() => "better",
            () => "as before",
        };
        format!(
            "guard: work {}: {} instructions, {} before, ratio {:.4}: {verdict}",
            self.work,
            figures::grouped(self.new),
            figures::grouped(self.old),
            self.ratio()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(toolchain: &str, a: u64) -> Set {
        Set {
            reason: "a test".to_owned(),
            toolchain: toolchain.to_owned(),
            instructions: Counts::from([("A".to_owned(), a)]),
        }
    }

    /// The verdict on `now` when work A took a million instructions under rustc 1.
    fn judgement(toolchain: &str, now: u64) -> Judgement {
        judge(&Figures(vec![set("rustc 1", 1_000_000)]), &set(toolchain, now))
    }

    #[test]
    fn three_per_cent_more_pass_and_one_instruction_on_top_does_not() {
        assert!(judgement("rustc 1", 1_030_000).passes);
        let worse = judgement("rustc 1", 1_030_001);
        assert!(!worse.passes);
        assert_eq!(
            worse.lines,
            [
                "guard: work A: 1_030_001 instructions, 1_000_000 before, ratio 1.0300: WORSE",
                "guard: more than 1.03 times the instructions; make it faster again, or renew the \
                 figures in the same commit: make bench-guard RENEW=1 REASON='…'",
            ]
        );
    }

    #[test]
    fn a_gain_passes_and_asks_for_new_figures() {
        assert_eq!(judgement("rustc 1", 990_000).lines.len(), 1);
        let better = judgement("rustc 1", 900_000);
        assert!(better.passes);
        assert!(better.lines[1].starts_with("guard: faster; to keep it so, renew"), "{better:?}");
    }

    #[test]
    fn another_toolchain_is_shown_the_ratio_and_passes() {
        let other = judgement("rustc 2", 2_000_000);
        assert!(other.passes);
        assert!(other.lines[0].contains("ratio 2.0000"), "{other:?}");
        assert!(
            other.lines[1].contains("the figures are of rustc 1, this is rustc 2"),
            "{other:?}"
        );
    }

    #[test]
    fn the_newest_figures_of_the_same_toolchain_count() {
        let figures = Figures(vec![set("rustc 1", 100), set("rustc 1", 200), set("rustc 2", 300)]);
        assert!(judge(&figures, &set("rustc 1", 200)).passes);
        assert!(!judge(&figures, &set("rustc 1", 299)).passes);
    }

    #[test]
    fn figures_are_not_renewed_without_a_reason() {
        assert!(guard(Some(" ")).unwrap_err().contains("REASON"));
    }

    #[test]
    fn a_work_without_figures_does_not_pass() {
        assert!(!judge(&Figures(Vec::new()), &set("rustc 1", 1)).passes);
        let mut now = set("rustc 1", 1_000_000);
        now.instructions.insert("Z".to_owned(), 1);
        assert!(!judge(&Figures(vec![set("rustc 1", 1_000_000)]), &now).passes);
    }
}
