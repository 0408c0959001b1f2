//! Enums whose cases have names in the public interface.

/// An enum with a name for each case: `ALL`, `as_str`, `from_name`, and `from_option` for the value of
/// an option.
#[macro_export]
macro_rules! named_enum {
    (
        $(#[$attribute:meta])*
        pub enum $enum:ident { $($(#[$case_attribute:meta])* $case:ident = $name:literal,)* }
    ) => {
        $(#[$attribute])*
        pub enum $enum { $($(#[$case_attribute])* $case,)* }

        impl $enum {
            /// Every case, in the order of the specification.
            pub const ALL: &'static [Self] = &[$(Self::$case,)*];

            /// The name that users see.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$case => $name,)* }
            }

            /// The case of that name.
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|case| case.as_str() == name)
            }

            /// The case of that name, which is the value of an option.
            pub fn from_option(option: &str, name: &str) -> $crate::Result<Self> {
                Self::from_name(name).ok_or_else(|| {
                    $crate::Error::invalid_option(option, &[$($name,)*], name)
                })
            }
        }
    };
}
