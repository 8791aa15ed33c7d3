//! Any text as a quantity: what is read is read again as it is written.

#![no_main]

use std::fmt::{Debug, Display};
use std::str::FromStr;

use shortflow_units::{Bytes, Duration, Length, LinkLayer, Rate, Size};

fn reads_back<T: FromStr + Display + Debug + PartialEq>(text: &str) {
    let Ok(value) = text.parse::<T>() else { return };
    let written = value.to_string();
    let again = written.parse::<T>().ok();
    assert_eq!(again.as_ref(), Some(&value), "{text:?} is written as {written:?}");
}

libfuzzer_sys::fuzz_target!(|text: &str| {
    reads_back::<Bytes>(text);
    reads_back::<Duration>(text);
    reads_back::<Length>(text);
    reads_back::<LinkLayer>(text);
    reads_back::<Rate>(text);
    reads_back::<Size>(text);
});
