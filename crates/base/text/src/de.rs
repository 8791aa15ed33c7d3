//! Serde deserializers over the tree. Errors have positions in the text.

use std::fmt;
use std::ops::Range;

use serde::de::{
    self, DeserializeSeed, EnumAccess, Expected, MapAccess, SeqAccess, Unexpected, VariantAccess,
    Visitor,
};
use serde::forward_to_deserialize_any;

use super::named::suggestion;
use super::tree::{Item, Key, Value};

/// An error, its position if known, and help.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Fault {
    pub(super) message: String,
    pub(super) help: Option<String>,
    pub(super) span: Option<Range<usize>>,
    /// The required key that is missing.
    pub(super) missing: Option<&'static str>,
}

impl Fault {
    fn new(message: String, help: Option<String>) -> Self {
        Fault { message, help, span: None, missing: None }
    }

    fn at(mut self, span: &Range<usize>) -> Self {
        self.span.get_or_insert_with(|| span.clone());
        self
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Fault {}

impl de::Error for Fault {
    fn custom<T: fmt::Display>(message: T) -> Self {
        // A message may have its help on a second line, because serde passes only a text through.
        let message = message.to_string();
        match message.split_once('\n') {
            Some((message, help)) => Fault::new(message.to_owned(), Some(help.to_owned())),
            None => Fault::new(message, None),
        }
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let expected = plain_range(expected);
        let help = match found {
            Unexpected::Float(number) if expected.starts_with("a whole number") => {
                let is_whole = number.fract() == 0.0 && number.abs() < 1e15;
                is_whole.then(|| format!("write {number}, without a point or an exponent"))
            }
            _ => None,
        };
        Fault::new(format!("expected {expected}; found {}", plain(found)), help)
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Fault::invalid_type(found, expected)
    }

    fn invalid_length(length: usize, expected: &dyn Expected) -> Self {
        Fault::new(format!("expected {}; found {length} entries", plain_range(expected)), None)
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        let help = suggestion(field, "keys allowed here", expected);
        Fault::new(format!("unknown key `{field}`"), Some(help))
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        let help = suggestion(variant, "allowed here", expected);
        Fault::new(format!("unknown name `{variant}`"), Some(help))
    }

    fn missing_field(field: &'static str) -> Self {
        let message = format!("the key `{field}` is missing");
        let help = Some(format!("add `{field} = …`"));
        Fault { missing: Some(field), ..Fault::new(message, help) }
    }
}

fn plain(found: Unexpected<'_>) -> String {
    match found {
        Unexpected::Bool(value) => value.to_string(),
        Unexpected::Signed(number) => format!("the number {number}"),
        Unexpected::Unsigned(number) => format!("the number {number}"),
        // With a decimal point or an exponent, so that it does not look like a whole number.
        Unexpected::Float(number) => format!("the number {number:?}"),
        Unexpected::Str(text) => format!("the string \"{text}\""),
        Unexpected::Seq => "a list".to_owned(),
        Unexpected::Map => "a table".to_owned(),
        other => other.to_string(),
    }
}

/// Serde names whole numbers by Rust's types. Messages give their range instead.
fn plain_range(expected: &dyn Expected) -> String {
    match expected.to_string().as_str() {
        "u8" => "a whole number from 0 to 255".to_owned(),
        "u16" => "a whole number from 0 to 65535".to_owned(),
        "u32" => "a whole number from 0 to 4294967295".to_owned(),
        "i8" | "i16" | "i32" | "i64" => "a whole number".to_owned(),
        "u64" | "usize" => "a whole number, zero or more".to_owned(),
        "f64" => "a number".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a string" => "a string".to_owned(),
        "a sequence" => "a list".to_owned(),
        "an array of length 2" => "a list of two names".to_owned(),
        "a map" => "a table".to_owned(),
        other if other.starts_with("struct ") => "a table".to_owned(),
        other => other.to_owned(),
    }
}

/// Deserializes an item.
pub(super) struct Reader<'de>(pub(super) &'de Item);

impl<'de> de::Deserializer<'de> for Reader<'de> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match &self.0.value {
            Value::Text(text) => visitor.visit_borrowed_str(text),
            Value::Integer(number) => visitor.visit_i64(*number),
            Value::Float(number) => visitor.visit_f64(*number),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::List(items) => visitor.visit_seq(List(items.iter())),
            Value::Table(entries) => visitor.visit_map(Table { entries: entries.iter(), at: None }),
        }
        .map_err(|fault| fault.at(&self.0.span))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        match &self.0.value {
            Value::Text(name) => visitor.visit_enum(NameAlone { name }),
            Value::Table(entries) => match entries.as_slice() {
                [(key, item)] => visitor.visit_enum(Choice { key, item }),
                [] => Err(wants_one(variants, "names none")),
                [_, (second, _), ..] => {
                    let found = entries.iter().map(|(key, _)| key.name.as_str());
                    let found = found.collect::<Vec<_>>().join(" and ");
                    Err(wants_one(variants, &format!("names {found}")).at(&second.span))
                }
            },
            other => Err(wants_name(variants, other)),
        }
        .map_err(|fault| fault.at(&self.0.span))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

fn wants_one(variants: &[&str], found: &str) -> Fault {
    let help = suggestion("", "allowed here", variants);
    Fault::new(format!("this table must name exactly one kind; it {found}"), Some(help))
}

/// The error for a value that is neither a name nor a table, where a name is expected.
fn wants_name(variants: &[&str], found: &Value) -> Fault {
    let names: Vec<String> = variants.iter().map(|name| format!("\"{name}\"")).collect();
    let help = format!("allowed here, with quotes: {}", names.join(", "));
    let found = match found {
        Value::Integer(number) => plain(Unexpected::Signed(*number)),
        Value::Float(number) => plain(Unexpected::Float(*number)),
        Value::Bool(value) => plain(Unexpected::Bool(*value)),
        _ => plain(Unexpected::Seq),
    };
    Fault::new(format!("expected a name; found {found}"), Some(help))
}

struct List<'de>(std::slice::Iter<'de, Item>);

impl<'de> SeqAccess<'de> for List<'de> {
    type Error = Fault;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Fault> {
        let read =
            |item: &'de Item| seed.deserialize(Reader(item)).map_err(|fault| fault.at(&item.span));
        self.0.next().map(read).transpose()
    }
}

struct Table<'de> {
    entries: std::slice::Iter<'de, (Key, Item)>,
    at: Option<&'de Item>,
}

impl<'de> MapAccess<'de> for Table<'de> {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Fault> {
        let Some((key, item)) = self.entries.next() else { return Ok(None) };
        self.at = Some(item);
        let name: de::value::BorrowedStrDeserializer<'de, Fault> =
            de::value::BorrowedStrDeserializer::new(&key.name);
        seed.deserialize(name).map(Some).map_err(|fault| fault.at(&key.span))
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Fault> {
        let item = self.at.expect("a value follows its key");
        seed.deserialize(Reader(item)).map_err(|fault| fault.at(&item.span))
    }
}

struct Choice<'de> {
    key: &'de Key,
    item: &'de Item,
}

impl<'de> EnumAccess<'de> for Choice<'de> {
    type Error = Fault;
    type Variant = Reader<'de>;

    fn variant_seed<T: DeserializeSeed<'de>>(
        self,
        seed: T,
    ) -> Result<(T::Value, Reader<'de>), Fault> {
        let name: de::value::BorrowedStrDeserializer<'de, Fault> =
            de::value::BorrowedStrDeserializer::new(&self.key.name);
        let variant = seed.deserialize(name).map_err(|fault| fault.at(&self.key.span))?;
        Ok((variant, Reader(self.item)))
    }
}

/// A name, with or without a value.
struct NameAlone<'de> {
    name: &'de str,
}

impl<'de> EnumAccess<'de> for NameAlone<'de> {
    type Error = Fault;
    type Variant = Self;

    fn variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<(T::Value, Self), Fault> {
        let name: de::value::BorrowedStrDeserializer<'de, Fault> =
            de::value::BorrowedStrDeserializer::new(self.name);
        Ok((seed.deserialize(name)?, self))
    }
}

impl NameAlone<'_> {
    fn wants_value<T>(self) -> Result<T, Fault> {
        let help = format!("write {{ {} = … }}", self.name);
        Err(Fault::new(format!("`{}` requires a value", self.name), Some(help)))
    }
}

impl<'de> VariantAccess<'de> for NameAlone<'de> {
    type Error = Fault;

    fn unit_variant(self) -> Result<(), Fault> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, _: T) -> Result<T::Value, Fault> {
        self.wants_value()
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, Fault> {
        self.wants_value()
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Fault> {
        self.wants_value()
    }
}

impl<'de> VariantAccess<'de> for Reader<'de> {
    type Error = Fault;

    fn unit_variant(self) -> Result<(), Fault> {
        de::Deserialize::deserialize(self)
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Fault> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Fault> {
        de::Deserializer::deserialize_any(self, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        de::Deserializer::deserialize_any(self, visitor)
    }
}
