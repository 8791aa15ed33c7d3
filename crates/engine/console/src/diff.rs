//! Line-by-line differences of two texts.

use serde::{Deserialize, Serialize};

/// A line of a comparison of two texts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiffLine {
    /// ` ` in both, `-` only in the first, `+` only in the second, `…` for omitted lines of both.
    pub sign: char,
    /// The line.
    pub text: String,
}

/// How many lines in both stand around what differs.
const AROUND: usize = 2;
/// The most pairs of lines that are compared: some 3000 lines on each side. Of longer texts all lines between the first and
/// the last that differ count as exchanged.
const MAX_PAIRS: usize = 10_000_000;

/// How `after` differs from `before`, by a longest common subsequence of their lines; empty where it does not.
pub fn diff(before: &str, after: &str) -> Vec<DiffLine> {
    if before == after {
        return Vec::new();
    }
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let rest = old.len().min(new.len()) - head;
    let ends = old.iter().rev().zip(new.iter().rev());
    let tail = ends.take(rest).take_while(|(a, b)| a == b).count();
    let (mid_old, mid_new) = (&old[head..old.len() - tail], &new[head..new.len() - tail]);
    let line = |sign: char| move |text: &&str| DiffLine { sign, text: (*text).to_owned() };
    let mut all: Vec<DiffLine> = old[..head].iter().map(line(' ')).collect();
    if mid_old.len() * mid_new.len() <= MAX_PAIRS {
        common(mid_old, mid_new, |sign, text| all.push(line(sign)(&text)));
    } else {
        all.extend(mid_old.iter().map(line('-')));
        all.extend(mid_new.iter().map(line('+')));
    }
    all.extend(old[old.len() - tail..].iter().map(line(' ')));
    shortened(all)
}

/// Tells both in a row, by the lengths of the longest common subsequences of what is left of each.
fn common<'t>(old: &[&'t str], new: &[&'t str], mut tell: impl FnMut(char, &'t str)) {
    let width = new.len() + 1;
    let mut lengths = vec![0_u32; (old.len() + 1) * width];
    for (i, a) in old.iter().enumerate().rev() {
        for (j, b) in new.iter().enumerate().rev() {
            let (down, right) = (lengths[(i + 1) * width + j], lengths[i * width + j + 1]);
            lengths[i * width + j] =
                if a == b { lengths[(i + 1) * width + j + 1] + 1 } else { down.max(right) };
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            tell(' ', old[i]);
            (i, j) = (i + 1, j + 1);
        } else if j == new.len()
            || i < old.len() && lengths[(i + 1) * width + j] >= lengths[i * width + j + 1]
        {
            tell('-', old[i]);
            i += 1;
        } else {
            tell('+', new[j]);
            j += 1;
        }
    }
}

/// Without lines that are in both and far from what differs.
fn shortened(all: Vec<DiffLine>) -> Vec<DiffLine> {
    let differs = |at: usize| all.get(at).is_some_and(|line| line.sign != ' ');
    let is_near = |at: usize| (at.saturating_sub(AROUND)..=at + AROUND).any(differs);
    let mut kept: Vec<DiffLine> = Vec::new();
    for (at, line) in all.iter().enumerate() {
        if is_near(at) {
            kept.push(line.clone());
        } else if kept.last().is_none_or(|last| last.sign != '…') {
            kept.push(DiffLine { sign: '…', text: String::new() });
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diff_text(before: &str, after: &str) -> String {
        diff(before, after).iter().map(|line| format!("{}{}|", line.sign, line.text)).collect()
    }

    #[test]
    fn what_differs_stands_among_a_few_lines_that_do_not() {
        assert_eq!(diff_text("a\nb\n", "a\nb\n"), "");
        assert_eq!(diff_text("a\nb\nc\nd\ne\nf\n", "a\nb\nc\nd\nE\nf\n"), "…| c| d|-e|+E| f|");
        assert_eq!(diff_text("", "a"), "+a|");
        assert_eq!(diff_text("a\nb\na\nc", "b\na\na\nc"), "-a| b|+a| a| c|");
    }

    #[test]
    fn each_text_can_be_read_off_it() {
        let texts = ["", "a", "a\nb", "b\na\nc\na", "c\nc\nb\na", "a\nb\nc\nd\ne"];
        for before in texts {
            for after in texts.iter().filter(|after| **after != before) {
                let of = |without: char| -> Vec<String> {
                    let lines = diff(before, after).into_iter();
                    lines.filter(|line| line.sign != without).map(|line| line.text).collect()
                };
                let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
                assert_eq!(
                    (of('+'), of('-')),
                    (lines(before), lines(after)),
                    "{before:?} {after:?}"
                );
            }
        }
    }
}
