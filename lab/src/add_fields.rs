//! Addition of structs field by field.

/// Implements [`Add`](std::ops::Add) for a struct by the sums of all its fields.
macro_rules! add_fields {
    ($name:ident { $($field:ident),+ $(,)? }) => {
        impl std::ops::Add for $name {
            type Output = $name;

            fn add(self, other: $name) -> $name {
                $name { $($field: self.$field + other.$field),+ }
            }
        }
    };
}

pub(crate) use add_fields;
