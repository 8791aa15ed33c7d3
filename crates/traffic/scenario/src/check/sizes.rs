//! Checks distributions of sizes.

use std::ops::RangeInclusive;

use shortflow_text::Document;
use shortflow_units::{Bytes, Size};
use shortflow_workloads::Sizes;

use super::times;
use crate::file::{ChoiceFile, ParetoFile, SizesFile};

/// The distribution at `path`. `mss` is the length of a full segment, or 0 if there are no segments.
pub(crate) fn check(
    document: &mut Document,
    path: &str,
    file: &SizesFile,
    mss: u64,
) -> Option<Sizes> {
    let mut size = |key: &str, size: Size| bytes(document, &format!("{path}.{key}"), size, mss);
    match file {
        SizesFile::Constant(constant) => size("constant", *constant).map(Sizes::Constant),
        SizesFile::Choice(choice) => choice_of(document, &format!("{path}.choice"), choice, mss),
        SizesFile::Exponential(exponential) => {
            let mean = size("exponential.mean", exponential.mean)?;
            Some(Sizes::Exponential { mean })
        }
        SizesFile::Pareto(pareto) => pareto_of(document, &format!("{path}.pareto"), pareto, mss),
        SizesFile::Uniform(uniform) => {
            let (min, max) = (size("uniform.min", uniform.min)?, size("uniform.max", uniform.max)?);
            if min > max {
                let message = format!("min {min} is above max {max}");
                document.mistake(&format!("{path}.uniform.min"), message, "swap the two");
                return None;
            }
            Some(Sizes::Uniform { min, max })
        }
    }
}

fn pareto_of(document: &mut Document, path: &str, file: &ParetoFile, mss: u64) -> Option<Sizes> {
    let mut size = |key: &str, size: Size| bytes(document, &format!("{path}.{key}"), size, mss);
    let max = match file.max {
        Some(max) => Some(size("max", max)?),
        None => None,
    };
    let (key, least) = match (file.mean, file.min) {
        (Some(mean), None) => ("the mean", size("mean", mean)?),
        (None, Some(min)) => ("min", size("min", min)?),
        _ => {
            let message = "a Pareto distribution requires exactly one of `mean` and `min`";
            document.mistake(path, message, "for example `mean = \"12 KB\"` or `min = \"3 KB\"`");
            return None;
        }
    };
    times::shape(document, path, file.shape)?;
    if let Some(max) = max.filter(|max| *max <= least) {
        let message = format!("max {max} must be above {key} {least}");
        document.mistake(&format!("{path}.max"), message, "");
        return None;
    }
    Some(match file.min {
        Some(_) => Sizes::Pareto { scale: least.0 as f64, shape: file.shape, max },
        None => Sizes::pareto(least, file.shape, max),
    })
}

fn choice_of(document: &mut Document, path: &str, file: &ChoiceFile, mss: u64) -> Option<Sizes> {
    if file.sizes.is_empty() {
        document.mistake(
            &format!("{path}.sizes"),
            "the list of sizes is empty",
            "list at least one size",
        );
        return None;
    }
    let each = file.sizes.iter().enumerate();
    let sizes = each
        .map(|(index, size)| bytes(document, &format!("{path}.sizes.{index}"), *size, mss))
        .collect::<Option<Vec<Bytes>>>()?;
    let equal = vec![1.0; sizes.len()];
    let weights = file.weights.as_ref().unwrap_or(&equal);
    check_weights(document, path, weights, (sizes.len(), "size"))?;
    Some(Sizes::choice(sizes, weights))
}

/// Checks the weights of `count` sizes or numbers.
pub(super) fn check_weights(
    document: &mut Document,
    path: &str,
    weights: &[f64],
    (count, what): (usize, &str),
) -> Option<()> {
    let path = format!("{path}.weights");
    if weights.len() != count {
        let message = format!("found {} weights for {count} {what}s", weights.len());
        document.mistake(
            &path,
            message,
            format!("give each {what} one weight, or remove `weights`"),
        );
        return None;
    }
    let is_weight = |weight: &f64| *weight == 0.0 || WEIGHTS.contains(weight);
    if let Some(at) = weights.iter().position(|weight| !is_weight(weight)) {
        let (least, most) = (WEIGHTS.start(), WEIGHTS.end());
        let message =
            format!("a weight must be 0, or {least:e} to {most:e}; found {:e}", weights[at]);
        document.mistake(&format!("{path}.{at}"), message, "");
        return None;
    }
    if weights.iter().sum::<f64>() <= 0.0 {
        document.mistake(&path, "all weights are zero", "at least one must be above zero");
        return None;
    }
    Some(())
}

/// The size at `path` in bytes.
pub(crate) fn bytes(document: &mut Document, path: &str, size: Size, mss: u64) -> Option<Bytes> {
    if mss == 0 && matches!(size, Size::Segments(_)) {
        let message = "the size of a datagram cannot be given in segments";
        document.mistake(path, message, "write it in bytes, such as \"500 B\"");
        return None;
    }
    let bytes = size.bytes(mss);
    if bytes == Bytes::ZERO || bytes > MAX_BYTES {
        let message = format!("a size must be above zero and at most {MAX_BYTES}; found {size}");
        document.mistake(path, message, "");
        return None;
    }
    Some(bytes)
}

/// Sums of weights in this range neither overflow nor lose precision.
const WEIGHTS: RangeInclusive<f64> = 1e-9..=1e9;
const MAX_BYTES: Bytes = Bytes(1_000_000_000_000);
