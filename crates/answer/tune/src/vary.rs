//! The varied keys and their values.

use crate::option_error::OptionError;

/// A key of the policy, and the values that it takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Varied {
    /// The key, as `--set` has it: `policy.parameters.limit`.
    pub key: String,
    /// Its values, as `--set` has them.
    pub values: Vec<String>,
    /// Key and values as they were written, for messages.
    pub text: String,
}

/// At how many points a range is sampled.
const POINTS: usize = 5;

/// More combinations are not searched: each is run twice at least.
const MAX_COMBINATIONS: usize = 2000;

/// A range is sampled in equal ratios where its ends have this ratio or more.
const WIDE_RATIO: f64 = 10.0;

/// What every key begins with: what is searched for is a policy.
pub(crate) const POLICY: &str = "policy.";

const HOW: &str =
    "write policy.KEY=A..B, such as `policy.parameters.limit=20..400 pkt`, or policy.KEY=a,b,c";

impl Varied {
    /// Reads all that is varied.
    ///
    /// # Errors
    /// As [`parse`](Self::parse); also that a key is varied twice.
    pub fn all(texts: &[String]) -> Result<Vec<Varied>, OptionError> {
        let all: Vec<Varied> =
            texts.iter().map(|text| Varied::parse(text)).collect::<Result<_, _>>()?;
        for (at, Varied { key, .. }) in all.iter().enumerate() {
            if all[..at].iter().any(|before| before.key == *key) {
                let what = format!("`{key}` is varied twice");
                return Err(OptionError::new(what, "give all its values in one option"));
            }
        }
        let count = all.iter().map(|one| one.values.len()).fold(1, usize::saturating_mul);
        if count > MAX_COMBINATIONS {
            return Err(OptionError::new(
                format!("the values give {count} combinations; the maximum is {MAX_COMBINATIONS}"),
                "vary fewer keys, or give fewer values, such as policy.KEY=a,b",
            ));
        }
        Ok(all)
    }

    /// Reads `policy.parameters.limit=20..400 pkt`, or `policy.parameters.ecn=true,false`.
    ///
    /// # Errors
    /// What is wrong, and in a further line what is allowed.
    pub fn parse(text: &str) -> Result<Varied, OptionError> {
        let wrong = |why: &str| OptionError::new(format!("`{text}` cannot be varied: {why}"), HOW);
        let (key, values) = text.split_once('=').ok_or_else(|| wrong("`=` is missing"))?;
        let (key, values) = (key.trim(), values.trim());
        if key.strip_prefix(POLICY).is_none_or(str::is_empty) {
            return Err(wrong("the key must begin with `policy.`"));
        }
        let values = match values.split_once("..") {
            Some((from, to)) => range(from, to).map_err(|why| wrong(&why))?,
            None => list(values),
        };
        if let [one] = &values[..]
            && let Some(range) = as_range(one)
        {
            return Err(wrong(&format!("a range is written with two dots: {key}={range}")));
        }
        if values.iter().any(String::is_empty) {
            return Err(wrong("a value is empty"));
        }
        if let Some((_, twice)) =
            values.iter().enumerate().find(|(at, v)| values[..*at].contains(v))
        {
            return Err(wrong(&format!("the value `{twice}` is given twice")));
        }
        Ok(Varied { key: key.to_owned(), values, text: text.trim().to_owned() })
    }
}

/// All combinations of values, as keys and values, the last turning fastest; one without any where nothing
/// is varied.
pub fn combinations(varied: &[Varied]) -> Vec<Vec<(String, String)>> {
    let mut all = vec![Vec::new()];
    for Varied { key, values, text: _ } in varied {
        let with = |before: &Vec<(String, String)>, value: &String| {
            let mut set = before.clone();
            set.push((key.clone(), value.clone()));
            set
        };
        all = all.iter().flat_map(|set| values.iter().map(move |value| with(set, value))).collect();
    }
    all
}

/// Of what nobody has a part.
const INTEGER_UNITS: [&str; 5] = ["", "pkt", "seg", "B", "bit"];

/// A few values from one end to the other, both among them; whole numbers of what has no parts where both ends are.
fn range(from: &str, to: &str) -> Result<Vec<String>, String> {
    let ((low, low_unit), (high, high_unit)) = (quantity(from)?, quantity(to)?);
    let unit = if low_unit.is_empty() { high_unit } else { low_unit };
    if unit != high_unit {
        return Err(format!("the ends have different units, `{low_unit}` and `{high_unit}`"));
    }
    if low >= high {
        return Err(format!("{low} must be below {high}"));
    }
    let is_whole = INTEGER_UNITS.contains(&unit) && ![from, to].iter().any(|end| end.contains('.'));
    let is_wide = low > 0.0 && high / low >= WIDE_RATIO;
    let at = |point: usize| {
        let share = point as f64 / (POINTS - 1) as f64;
        let value = match (point, is_wide) {
            (0, _) => low,
            (point, _) if point == POINTS - 1 => high,
            (_, true) => three_digits(low * (high / low).powf(share)),
            (_, false) => three_digits(low + (high - low) * share),
        };
        let value = if is_whole { value.round() } else { value };
        if unit.is_empty() { value.to_string() } else { format!("{value} {unit}") }
    };
    let mut values: Vec<String> = (0..POINTS).map(at).collect();
    values.dedup();
    Ok(values)
}

/// A range that was written with another sign than two dots, such as `20-400 pkt`, as a range.
fn as_range(text: &str) -> Option<String> {
    let signs = ["-", "–", "…", ":", " to "];
    signs.into_iter().find_map(|sign| {
        let (from, to) = text.split_once(sign)?;
        let ends = quantity(from).ok()?.0 < quantity(to).ok()?.0;
        ends.then(|| format!("{}..{}", from.trim(), to.trim()))
    })
}

/// A number and the unit behind it.
fn quantity(text: &str) -> Result<(f64, &str), String> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '-');
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let found = number.parse::<f64>().map_err(|_| format!("`{text}` is not a number"))?;
    Ok((found, unit.trim()))
}

/// The value in three digits: more would pretend that they matter.
fn three_digits(value: f64) -> f64 {
    format!("{value:.2e}").parse().expect("what was just written is a number")
}

/// The values between commas outside brackets and strings.
fn list(text: &str) -> Vec<String> {
    let (mut depth, mut in_text, mut values) = (0, false, vec![String::new()]);
    for c in text.chars() {
        match c {
            '"' => in_text = !in_text,
            '[' | '{' if !in_text => depth += 1,
            ']' | '}' if !in_text => depth -= 1,
            ',' if depth == 0 && !in_text => {
                values.push(String::new());
                continue;
            }
            _ => {}
        }
        values.last_mut().expect("there is always one").push(c);
    }
    values.iter().map(|value| value.trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Vec<String> {
        Varied::parse(&format!("policy.k={text}")).unwrap().values
    }

    #[test]
    fn a_narrow_range_has_equal_steps_and_a_wide_one_equal_ratios() {
        assert_eq!(values("0.1..0.5"), ["0.1", "0.2", "0.3", "0.4", "0.5"]);
        assert_eq!(values("10..1000 pkt"), ["10 pkt", "32 pkt", "100 pkt", "316 pkt", "1000 pkt"]);
        assert_eq!(values("5 ms .. 25 ms"), ["5 ms", "10 ms", "15 ms", "20 ms", "25 ms"]);
    }

    #[test]
    fn whole_ends_give_whole_values_each_once() {
        assert_eq!(values("1..3"), ["1", "2", "3"]);
    }

    #[test]
    fn commas_in_lists_and_texts_part_no_values() {
        assert_eq!(values(r#"[1, 2], "a,b", 3"#), ["[1, 2]", "\"a,b\"", "3"]);
    }

    #[test]
    fn every_value_meets_every_other() {
        let varied = ["policy.a=1,2", "policy.b=x,y"].map(|text| Varied::parse(text).unwrap());
        let all = combinations(&varied);
        let shown: Vec<String> =
            all.iter().map(|set| format!("{}{}", set[0].1, set[1].1)).collect();
        assert_eq!(shown, ["1x", "1y", "2x", "2y"]);
        assert_eq!(combinations(&[]), [vec![]]);
    }

    #[test]
    fn a_key_is_varied_once() {
        let texts = ["policy.a=1,2", "policy.b=1,2", "policy.a=3,4"].map(str::to_owned);
        assert!(Varied::all(&texts[..2]).is_ok());
        assert_eq!(
            Varied::all(&texts).unwrap_err().to_string(),
            "`policy.a` is varied twice\ngive all its values in one option"
        );
    }

    #[test]
    fn more_combinations_than_can_be_searched_are_refused() {
        let keys =
            |count: u32| (0..count).map(|key| format!("policy.k{key}=10..20")).collect::<Vec<_>>();
        assert_eq!(combinations(&Varied::all(&keys(4)).unwrap()).len(), 625);
        let shown = Varied::all(&keys(5)).unwrap_err().to_string();
        assert!(shown.contains("3125 combinations; the maximum is 2000"), "{shown}");
        assert!(Varied::all(&keys(200)).is_err());
    }

    #[test]
    fn what_cannot_be_varied_is_told_with_the_reason() {
        let why = |text| Varied::parse(text).unwrap_err().what;
        assert_eq!(why("policy.k"), "`policy.k` cannot be varied: `=` is missing");
        assert!(why("duration=1..2 s").ends_with("the key must begin with `policy.`"));
        assert!(why("policy.k=9..3").ends_with("9 must be below 3"));
        assert!(why("policy.k=1 ms..3 s").ends_with("different units, `ms` and `s`"));
        assert!(why("policy.k=a..b").ends_with("`a` is not a number"));
        for range in ["20-400 pkt", "20 - 400 pkt", "20…400 pkt", "20 to 400 pkt", "20:400 pkt"] {
            let expected = "a range is written with two dots: policy.k=20..400 pkt";
            let message = Varied::parse(&format!("policy.k={range}")).unwrap_err().what;
            assert!(message.ends_with(expected), "{range}: {message}");
        }
        assert_eq!(values("-5"), ["-5"]);
        assert_eq!(values("2026-11"), ["2026-11"]);
        assert_eq!(values("equal-load:8"), ["equal-load:8"]);
        assert!(why("policy.k=1,,2").ends_with("a value is empty"));
        assert!(why("policy.k=1,2,1").ends_with("the value `1` is given twice"));
    }
}
