//! Enums that people write and read by name.

/// Gives enums of plain variants their names, as scenarios, records and reports spell them.
macro_rules! names {
    ($($kind:ident { $($variant:ident = $name:literal),+ $(,)? })+) => {$(
        impl $kind {
            /// All variants, in the order of the documentation.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// Its name in scenarios and records.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }
        }

        impl std::fmt::Display for $kind {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }
    )+};
}

pub(crate) use names;

/// Makes serde write values of a type with `Display` and read them with `FromStr`.
#[macro_export]
macro_rules! serde_as_text {
    ($kind:ty) => {
        impl serde::Serialize for $kind {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $kind {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <String as serde::Deserialize>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}
