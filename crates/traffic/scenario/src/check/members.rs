//! Parses indices and slices of groups.

use std::ops::Range;

/// The members of a group of `count` that the text in brackets selects: an index from 0, or a slice
/// `first:end:step`, whose parts are optional. `end` is not included.
pub(super) fn members(text: &str, count: u32) -> Result<Vec<u32>, String> {
    let parts: Vec<&str> = text.split(':').map(str::trim).collect();
    let number = |part: &str, default: u32| match part {
        "" => Ok(default),
        part => part.parse::<u32>().map_err(|_| format!("invalid index `{part}`")),
    };
    let (range, step): (Range<u32>, u32) = match parts[..] {
        [""] => return Err("the brackets are empty".to_owned()),
        [index] => {
            let index = number(index, 0)?;
            (index..index.saturating_add(1), 1)
        }
        [first, end] => (number(first, 0)?..number(end, count)?, 1),
        [first, end, step] => (number(first, 0)?..number(end, count)?, number(step, 1)?),
        _ => return Err("a slice has at most 3 parts".to_owned()),
    };
    if range.end > count {
        return Err(format!("the group has {count} members, with indices 0 to {}", count - 1));
    }
    if step == 0 {
        return Err("the step must be above zero".to_owned());
    }
    let chosen: Vec<u32> = range.step_by(step as usize).collect();
    if chosen.is_empty() { Err("the slice is empty".to_owned()) } else { Ok(chosen) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_goes_from_its_first_to_before_its_end_by_its_step() {
        assert_eq!(members("3", 10), Ok(vec![3]));
        assert_eq!(members("3:6", 10), Ok(vec![3, 4, 5]));
        assert_eq!(members("8:", 10), Ok(vec![8, 9]));
        assert_eq!(members(":2", 10), Ok(vec![0, 1]));
        assert_eq!(members("2::4", 10), Ok(vec![2, 6]));
        assert_eq!(members("::5", 10), Ok(vec![0, 5]));
    }

    #[test]
    fn a_slice_that_selects_what_is_not_there_is_refused() {
        for text in ["10", "5:11", "5:5", "6:5", "::0", "", "a", "1:2:3:4", "-1"] {
            assert!(members(text, 10).is_err(), "{text}");
        }
    }
}
