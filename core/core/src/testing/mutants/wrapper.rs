//! ORAMs that equal another ORAM except for a mistake.

/// Makes a type an ORAM that forwards everything to the ORAM in its field `$inner`, except its accesses. If a count of
/// pending steps is given, it replaces the inner ORAM's count.
macro_rules! wraps {
    ([$($generics:tt)*] $name:ty, $error:ty, $inner:tt, $mutant:ident, $batch:ident => $access:expr) => {
        wraps!(
            [$($generics)*] $name, $error, $inner, $mutant, $batch => $access;
            pending_steps => $mutant.$inner.pending_steps()
        );
    };
    (
        [$($generics:tt)*] $name:ty, $error:ty, $inner:tt, $mutant:ident, $batch:ident => $access:expr;
        pending_steps => $pending_steps:expr
    ) => {
        impl<$($generics)*> Oram for $name {
            type Error = $error;

            fn bounds(&self) -> Bounds {
                self.$inner.bounds()
            }
            async fn access(&self, $batch: &mut [Access<'_>]) -> Result<(), OramError<$error>> {
                let $mutant = self;
                $access
            }
            fn pending_steps(&self) -> u64 {
                let $mutant = self;
                $pending_steps
            }
            fn must_step(&self) -> bool {
                self.$inner.must_step()
            }
            async fn step(&self) -> Result<(), OramError<$error>> {
                self.$inner.step().await
            }
            fn emergencies(&self) -> u64 {
                self.$inner.emergencies()
            }
        }
    };
}
