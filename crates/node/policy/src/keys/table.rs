//! Macros for tables of keys, and for blocks of keys that several schemes share.

/// A table of keys. A block of shared keys is a macro around it that adds its keys to the others. serde's
/// `flatten` would do the same, but it loses the position of a value in the text, and cannot refuse unknown
/// keys.
macro_rules! key_table {
    ($(#[$attribute:meta])* struct $Name:ident { $($keys:tt)* }) => {
        #[derive(Debug, Clone, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields)]
        $(#[$attribute])*
        pub(crate) struct $Name { $($keys)* }
    };
}
pub(crate) use key_table;
