//! Enums that people write and read by name.

/// Gives enums of plain variants their names, as scenarios, records and reports spell them.
macro_rules! names {
    ($($kind:ident { $($variant:ident = $name:literal),+ $(,)? })+) => {$(
        impl $kind {
            /// Every one, in the order of the documentation.
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
