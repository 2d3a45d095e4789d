//! Counts of what runs did, which are added up.

/// Declares a struct of counts, and adds the counts of another run.
macro_rules! counts {
    ($(#[$about:meta])* $visible:vis struct $name:ident {
        $($(#[$doc:meta])* $field_visible:vis $field:ident: $type:ty,)*
    }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        $visible struct $name {
            $($(#[$doc])* $field_visible $field: $type,)*
        }

        impl std::ops::AddAssign for $name {
            fn add_assign(&mut self, other: $name) {
                $(self.$field += other.$field;)*
            }
        }
    };
}
pub(crate) use counts;
