//! Distributions of sizes.

use std::ops::RangeInclusive;

use shortflow_policy::text::Document;
use shortflow_units::{Bytes, Size};
use shortflow_workloads::Sizes;

use crate::file::{ChoiceFile, SizesFile};

/// The distribution at `path`; `mss` is the length of a full segment, 0 where there are none.
pub(super) fn check(
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
        SizesFile::Pareto(pareto) => {
            let mean = size("pareto.mean", pareto.mean)?;
            let max = match pareto.max {
                Some(max) => Some(size("pareto.max", max)?),
                None => None,
            };
            if !(pareto.shape > 1.0 && pareto.shape.is_finite()) {
                let message =
                    format!("a Pareto distribution of shape {} has no mean", pareto.shape);
                document.mistake(&format!("{path}.pareto.shape"), message, "it must be above 1");
                return None;
            }
            if let Some(max) = max.filter(|max| *max <= mean) {
                let message = format!("max {max} is not above the mean {mean}");
                document.mistake(&format!("{path}.pareto.max"), message, "");
                return None;
            }
            Some(Sizes::pareto(mean, pareto.shape, max))
        }
        SizesFile::Uniform(uniform) => {
            let (min, max) = (size("uniform.min", uniform.min)?, size("uniform.max", uniform.max)?);
            if min > max {
                let message = format!("min {min} is above max {max}");
                document.mistake(&format!("{path}.uniform.min"), message, "swap them");
                return None;
            }
            Some(Sizes::Uniform { min, max })
        }
    }
}

fn choice_of(document: &mut Document, path: &str, file: &ChoiceFile, mss: u64) -> Option<Sizes> {
    if file.sizes.is_empty() {
        document.mistake(&format!("{path}.sizes"), "there is no size to choose from", "");
        return None;
    }
    let each = file.sizes.iter().enumerate();
    let sizes = each
        .map(|(index, size)| bytes(document, &format!("{path}.sizes.{index}"), *size, mss))
        .collect::<Option<Vec<Bytes>>>()?;
    let equal = vec![1.0; sizes.len()];
    let weights = file.weights.as_ref().unwrap_or(&equal);
    let path = format!("{path}.weights");
    if weights.len() != sizes.len() {
        let message = format!("{} weights for {} sizes", weights.len(), sizes.len());
        document.mistake(&path, message, "give each size its weight, or leave `weights` out");
        return None;
    }
    let is_weight = |weight: &f64| *weight == 0.0 || WEIGHTS.contains(weight);
    if let Some(at) = weights.iter().position(|weight| !is_weight(weight)) {
        let message = "this is no weight";
        let help = format!("it must be zero, or from {:e} to {:e}", WEIGHTS.start(), WEIGHTS.end());
        document.mistake(&format!("{path}.{at}"), message, help);
        return None;
    }
    if weights.iter().sum::<f64>() <= 0.0 {
        document.mistake(&path, "all weights are zero", "at least one must be above zero");
        return None;
    }
    Some(Sizes::choice(sizes, weights))
}

/// The size at `path` in bytes.
pub(super) fn bytes(document: &mut Document, path: &str, size: Size, mss: u64) -> Option<Bytes> {
    if mss == 0 && matches!(size, Size::Segments(_)) {
        let message = "a datagram has no segments";
        document.mistake(path, message, "say its size in bytes, such as \"500 B\"");
        return None;
    }
    let bytes = size.bytes(mss);
    if bytes == Bytes::ZERO || bytes > MOST_BYTES {
        let help = format!("it must be above zero and at most {MOST_BYTES}");
        document.mistake(path, format!("a size of {size} cannot be"), help);
        return None;
    }
    Some(bytes)
}

/// Far from where sums of weights overflow or lose their digits.
const WEIGHTS: RangeInclusive<f64> = 1e-9..=1e9;
const MOST_BYTES: Bytes = Bytes(1_000_000_000_000);
