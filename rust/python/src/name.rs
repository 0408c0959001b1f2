//! The names of arguments, for the errors of their types: `Text<name::Id>` says that `id` must be a str.

/// The name of an argument.
pub trait Name {
    const NAME: &'static str;
}

macro_rules! names {
    ($($kind:ident = $name:literal),* $(,)?) => {$(
        pub struct $kind;

        impl Name for $kind {
            const NAME: &'static str = $name;
        }
    )*};
}

names! {
    A = "a", Agent = "agent", B = "b", Explain = "explain", Id = "id", Key = "key", Kind = "kind",
    Operator = "operator", Path = "path", Query = "query", ReadOnly = "read_only", Rel = "rel",
    Text = "text", Token = "token",
}
