//! Sweeps: one or several keys, and their values.

use shortflow_text::{Diagnostics, Document, Item, Scalar, Value, suggestion};

use crate::file::AxisFile;

/// One axis of a sweep.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Axis {
    pub(crate) name: String,
    pub(crate) keys: Vec<String>,
    pub(crate) values: Vec<Scalar>,
}

/// Expands a single `[sweep]` into a list of one `[[sweep]]`.
pub(crate) fn normalize(document: &mut Document) {
    let Value::Table(entries) = &mut document.root_mut().value else { return };
    if let Some((_, item)) = entries.iter_mut().find(|(key, _)| key.name == "sweep")
        && matches!(item.value, Value::Table(_))
    {
        let span = item.span.clone();
        let alone = Item { value: Value::List(vec![item.clone()]), span };
        *item = alone;
    }
}

/// The axes of the sweep, without those whose key the command line sets.
pub(crate) fn axes(
    document: &mut Document,
    files: &[AxisFile],
    is_set: impl Fn(&str) -> bool,
) -> Result<Vec<Axis>, Diagnostics> {
    if files.len() > MAX_SWEEPS {
        let message = format!("{} sweeps are too many; the maximum is {MAX_SWEEPS}", files.len());
        let help = "sweep several keys together with `keys`, or split the scenario";
        document.mistake(&format!("sweep.{MAX_SWEEPS}"), message, help);
        document.checked()?;
    }
    let mut axes: Vec<Axis> = Vec::new();
    for (index, file) in files.iter().enumerate() {
        let path = format!("sweep.{index}");
        let Some(axis) = axis(document, &path, file) else { continue };
        if axes.iter().any(|other| other.name == axis.name) {
            let message = format!("two sweeps have the name `{}`", axis.name);
            document.mistake(&path, message, "give one of them another `name`");
        }
        axes.push(axis);
    }
    let points = axes.iter().map(|axis| axis.values.len()).try_fold(1_usize, |points, values| {
        points.checked_mul(values).filter(|points| *points <= MAX_POINTS)
    });
    if points.is_none() {
        let message = format!("the sweeps have too many combinations; the maximum is {MAX_POINTS}");
        document.mistake("sweep", message, "list fewer values");
    }
    document.checked()?;
    axes.retain(|axis| !axis.keys.iter().any(|key| is_set(key)));
    Ok(axes)
}

fn axis(document: &mut Document, path: &str, file: &AxisFile) -> Option<Axis> {
    let keys = match (&file.key, &file.keys) {
        (Some(key), None) => vec![key.clone()],
        (None, Some(keys)) if !keys.is_empty() => keys.clone(),
        _ => {
            let help = "write `key = \"parameters.NAME\"`, or `keys = [\"…\", \"…\"]`";
            document.mistake(path, "a sweep requires exactly one of `key` and `keys`", help);
            return None;
        }
    };
    if file.values.is_empty() {
        document.mistake(
            &format!("{path}.values"),
            "the sweep has no values",
            "list at least one value",
        );
    }
    for (index, key) in keys.iter().enumerate() {
        let place = match file.key {
            Some(_) => format!("{path}.key"),
            None => format!("{path}.keys.{index}"),
        };
        check_key(document, &place, key);
    }
    let last = keys[0].rsplit('.').next().unwrap_or_default();
    Some(Axis {
        name: file.name.clone().unwrap_or_else(|| last.to_owned()),
        values: file.values.clone(),
        keys,
    })
}

/// Checks that a parameter exists. Other keys are checked when they are set.
fn check_key(document: &mut Document, place: &str, key: &str) {
    let parameters = document.names_in("parameters");
    let names: Vec<&str> = parameters.iter().map(String::as_str).collect();
    if let Some(name) = key.strip_prefix("parameters.") {
        if !names.contains(&name) {
            let help = suggestion(name, "parameters of this file", &names);
            document.mistake(place, format!("unknown parameter `{name}`"), help);
        }
    } else if names.contains(&key) {
        let message = format!("`{key}` is a parameter, not a key");
        document.mistake(place, message, format!("write \"parameters.{key}\""));
    } else if !key.starts_with("policy.") && !document.may_have(key) {
        let keys = document.names_in("");
        let mut names: Vec<&str> = keys.iter().map(String::as_str).collect();
        names.push("policy");
        let help =
            suggestion(key.split('.').next().unwrap_or_default(), "tables of this file", &names);
        document.mistake(place, format!("unknown key `{key}`"), help);
    }
}

/// All combinations of the axes' values; the last axis changes fastest. One empty combination without axes.
pub(crate) fn combinations(axes: &[Axis]) -> Vec<Vec<Scalar>> {
    axes.iter().fold(vec![Vec::new()], |points, axis| {
        points
            .iter()
            .flat_map(|point| {
                axis.values.iter().map(|value| {
                    let mut longer = point.clone();
                    longer.push(value.clone());
                    longer
                })
            })
            .collect()
    })
}

pub(crate) const MAX_POINTS: usize = 10_000;

/// 14 sweeps of two values have more combinations than [`MAX_POINTS`]. The limit also bounds the comparison of
/// names.
const MAX_SWEEPS: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_axes_give_all_combinations_the_last_turning_fastest() {
        let axis = |values: &[i64]| Axis {
            name: String::new(),
            keys: Vec::new(),
            values: values.iter().map(|value| Scalar::Integer(*value)).collect(),
        };
        let points = combinations(&[axis(&[1, 2]), axis(&[3, 4])]);
        let texts: Vec<String> =
            points.iter().map(|point| format!("{}{}", point[0], point[1])).collect();
        assert_eq!(texts, ["13", "14", "23", "24"]);
        assert_eq!(combinations(&[]), [Vec::new()]);
    }
}
