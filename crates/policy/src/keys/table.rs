//! Tables of keys, some of which hold a block of keys that several schemes share.

/// A table of keys. A block of shared keys is a macro around it, which adds its keys to those that
/// stand here: serde's `flatten` would do so too, but it forgets where in the text a value stands,
/// and cannot refuse unknown keys.
macro_rules! key_table {
    ($(#[$attribute:meta])* struct $Name:ident { $($keys:tt)* }) => {
        #[derive(Debug, Clone, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields)]
        $(#[$attribute])*
        pub(crate) struct $Name { $($keys)* }
    };
}
pub(crate) use key_table;
