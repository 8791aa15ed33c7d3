//! Checks distributions of times and of numbers.

use shortflow_text::Document;
use shortflow_workloads::{Counts, Times};

use super::sizes::check_weights;
use crate::file::{ChoiceOfCountsFile, CountsFile, TimesFile};

/// The distribution of times at `path`.
pub(crate) fn check(document: &mut Document, path: &str, file: &TimesFile) -> Option<Times> {
    match file {
        TimesFile::Constant(time) => Some(Times::Constant(*time)),
        TimesFile::Exponential(exponential) => Some(Times::Exponential { mean: exponential.mean }),
        TimesFile::Pareto(pareto) => {
            let path = format!("{path}.pareto");
            if pareto.min.is_zero() {
                let message = "min must be above zero; found 0 s";
                document.mistake(&format!("{path}.min"), message, "write the shortest time");
                return None;
            }
            shape(document, &path, pareto.shape)?;
            if let Some(max) = pareto.max.filter(|max| *max <= pareto.min) {
                not_above(document, &path, max, pareto.min);
                return None;
            }
            Some(Times::Pareto { min: pareto.min, shape: pareto.shape, max: pareto.max })
        }
        TimesFile::Uniform(uniform) => {
            let (min, max) = (uniform.min, uniform.max);
            if min > max {
                swapped(document, &format!("{path}.uniform"), min, max);
                return None;
            }
            Some(Times::Uniform { min, max })
        }
    }
}

/// The distribution of numbers at `path`.
pub(crate) fn counts(document: &mut Document, path: &str, file: &CountsFile) -> Option<Counts> {
    match file {
        CountsFile::Constant(number) => {
            few(document, &format!("{path}.constant"), *number).map(Counts::constant)
        }
        CountsFile::Choice(choice) => choice_of(document, &format!("{path}.choice"), choice),
        CountsFile::Exponential(exponential) => {
            let path = format!("{path}.exponential.mean");
            if exponential.mean == 0 {
                let message = format!("mean must be 1 to {}; found 0", Counts::MAX);
                document.mistake(&path, message, "");
                return None;
            }
            few(document, &path, exponential.mean).map(Counts::exponential)
        }
        CountsFile::Pareto(pareto) => {
            let path = format!("{path}.pareto");
            if !(1.0..=f64::from(Counts::MAX)).contains(&pareto.min) {
                let message = format!("min must be 1 to {}; found {}", Counts::MAX, pareto.min);
                document.mistake(&format!("{path}.min"), message, "");
                return None;
            }
            shape(document, &path, pareto.shape)?;
            if let Some(max) = pareto.max.filter(|max| f64::from(*max) <= pareto.min) {
                not_above(document, &path, max, pareto.min);
                return None;
            }
            Some(Counts::pareto(pareto.min, pareto.shape, pareto.max))
        }
        CountsFile::Uniform(uniform) => {
            let path = format!("{path}.uniform");
            let max = few(document, &format!("{path}.max"), uniform.max)?;
            if uniform.min > max {
                swapped(document, &path, uniform.min, max);
                return None;
            }
            Some(Counts::uniform(uniform.min, max))
        }
    }
}

fn choice_of(document: &mut Document, path: &str, file: &ChoiceOfCountsFile) -> Option<Counts> {
    if file.numbers.is_empty() {
        document.mistake(
            &format!("{path}.numbers"),
            "the list of numbers is empty",
            "list at least one number",
        );
        return None;
    }
    for (index, number) in file.numbers.iter().enumerate() {
        few(document, &format!("{path}.numbers.{index}"), *number)?;
    }
    let equal = vec![1.0; file.numbers.len()];
    let weights = file.weights.as_ref().unwrap_or(&equal);
    check_weights(document, path, weights, (file.numbers.len(), "number"))?;
    Some(Counts::choice(&file.numbers, weights))
}

fn few(document: &mut Document, path: &str, number: u32) -> Option<u32> {
    if number > Counts::MAX {
        let message = format!("a number must be 0 to {}; found {number}", Counts::MAX);
        document.mistake(path, message, "");
        return None;
    }
    Some(number)
}

/// Checks the shape of a Pareto distribution at `path`.
pub(super) fn shape(document: &mut Document, path: &str, shape: f64) -> Option<()> {
    if shape > 1.0 && shape.is_finite() {
        return Some(());
    }
    let message = format!("a Pareto distribution of shape {shape} has no mean");
    document.mistake(&format!("{path}.shape"), message, "shape must be above 1");
    None
}

fn not_above<A: ToString, B: ToString>(document: &mut Document, path: &str, max: A, min: B) {
    let message = format!("max {} must be above min {}", max.to_string(), min.to_string());
    document.mistake(&format!("{path}.max"), message, "");
}

fn swapped<T: ToString>(document: &mut Document, path: &str, min: T, max: T) {
    let message = format!("min {} is above max {}", min.to_string(), max.to_string());
    document.mistake(&format!("{path}.min"), message, "swap the two");
}
