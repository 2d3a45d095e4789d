//! The steps of `cargo xtask test`: their names, the promises that they check, and their order.

use clap::ValueEnum;

/// A step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Step {
    /// Packages, environments and programs of the tests
    Setup,
    /// Formatting
    Fmt,
    /// Lengths of files, widths of structs, prose of comments, cycles of imports, names of files in the book
    House,
    /// The programs, libraries, tests and examples, with the lints of clippy and rustdoc
    Build,
    /// Licences, sources and duplicates of the dependencies
    Deny,
    /// Programs and modules without an operating system
    NoStd,
    /// Unit and integration tests
    Unit,
    /// The hardware controller, simulated together with the Rust core
    Hardware,
    /// RISC-V programs in the enclave, in an emulator
    Enclave,
    /// Real client programs against a running gateway
    Clients,
    /// Real programs with a paged heap
    Pager,
    /// The visualizer in a real browser
    Web,
    /// A public suite of S3 tests against a running gateway
    Compatibility,
    /// OpenStack's own tests of Swift
    Tempest,
    /// The tests in the documentation
    Docs,
    /// The examples
    Examples,
    /// The fuzz targets
    Fuzz,
    /// The README's first command
    Serve,
    /// Processor time of steps and test binaries
    Budget,
}

impl Step {
    /// All steps, in the order in which they start.
    pub const ALL: [Step; 19] = [
        Step::Fmt,
        Step::House,
        Step::Serve,
        Step::Setup,
        Step::Build,
        Step::Deny,
        Step::NoStd,
        Step::Unit,
        Step::Hardware,
        Step::Enclave,
        Step::Clients,
        Step::Pager,
        Step::Web,
        Step::Compatibility,
        Step::Tempest,
        Step::Docs,
        Step::Examples,
        Step::Fuzz,
        Step::Budget,
    ];

    /// Returns the name for `--only` and `--skip`.
    pub fn name(self) -> &'static str {
        match self {
            Step::Setup => "setup",
            Step::Fmt => "fmt",
            Step::House => "house",
            Step::Build => "build",
            Step::Deny => "deny",
            Step::NoStd => "no-std",
            Step::Unit => "unit",
            Step::Hardware => "hardware",
            Step::Enclave => "enclave",
            Step::Clients => "clients",
            Step::Pager => "pager",
            Step::Web => "web",
            Step::Compatibility => "compatibility",
            Step::Tempest => "tempest",
            Step::Docs => "docs",
            Step::Examples => "examples",
            Step::Fuzz => "fuzz",
            Step::Serve => "serve",
            Step::Budget => "budget",
        }
    }

    /// Returns the promise that holds when the step has passed.
    pub fn promise(self) -> &'static str {
        match self {
            Step::Setup => "everything that the tests need is installed",
            Step::Fmt => "the source is formatted",
            Step::House => {
                "files and structs are short, imports form no cycle, comments are plain, and files that the book names exist"
            }
            Step::Build => "every target builds, and no lint of code or documentation warns",
            Step::Deny => "the dependencies' licences and sources are allowed",
            Step::NoStd => {
                "core, sealing and fault path link for bare RISC-V, and serve faults in WebAssembly as on this machine"
            }
            Step::Unit => "unit and integration tests pass (except fuzz targets)",
            Step::Hardware => "the simulated controller shows in each cycle exactly what the core shows",
            Step::Enclave => {
                "RISC-V programs give the same answers in the enclave as outside; a host that tampers is detected, one that watches learns nothing"
            }
            Step::Clients => "boto3, the AWS command line and rclone work against `ameles serve`",
            Step::Pager => {
                "sqlite3, picosat, redis-server and Python give the same answers under `ameles page run` as without it"
            }
            Step::Web => {
                "the visualizer steps through every scheme in a browser, and each answers like an array"
            }
            Step::Compatibility => {
                "versitygw's S3 tests pass against `ameles serve`, except those that are listed with a reason"
            }
            Step::Tempest => {
                "Tempest's object-storage tests pass against `ameles serve`, except a list of skips"
            }
            Step::Docs => "the examples in the documentation run",
            Step::Examples => "every example runs to its end",
            Step::Fuzz => "no fuzz target finds a fault in a few seconds each",
            Step::Serve => "`cargo run --release -- serve` builds without a warning and answers",
            Step::Budget => "no step and no test binary takes more processor time than its line allows",
        }
    }

    /// Returns the steps that must end before this step starts, if they are chosen.
    pub fn predecessors(self) -> &'static [Step] {
        match self {
            Step::Setup | Step::Fmt | Step::House | Step::Serve => &[],
            Step::Deny => &[Step::Setup],
            // Cargo runs one build at a time, and the second build reuses most of the first.
            Step::Build => &[Step::Serve],
            // It needs a program that `build` also builds.
            Step::NoStd => &[Step::Setup, Step::Serve],
            Step::Docs | Step::Examples => &[Step::Build],
            Step::Unit | Step::Hardware | Step::Pager | Step::Fuzz => &[Step::Setup, Step::Build],
            // They run cargo for the program of `serve`, and cargo would wait for `build`.
            Step::Clients | Step::Compatibility | Step::Tempest => &[Step::Setup, Step::Build],
            // They build for the same targets into the same folder.
            Step::Enclave => &[Step::Setup, Step::Build, Step::NoStd],
            Step::Web => &[Step::Setup, Step::Build, Step::NoStd],
            Step::Budget => &Step::MEASURED,
        }
    }

    /// Returns true if no other step may run at the same time.
    ///
    /// A copy that takes more than a second is answered before its version is known, and some tests of `compatibility`
    /// ask for the version.
    pub fn is_exclusive(self) -> bool {
        self == Step::Compatibility
    }

    /// The steps that the budget measures.
    const MEASURED: [Step; 18] = {
        let mut measured = [Step::Setup; 18];
        let mut nth = 0;
        while nth < measured.len() {
            measured[nth] = Step::ALL[nth];
            nth += 1;
        }
        measured
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_begins_after_steps_that_stand_before_it() {
        for (nth, step) in Step::ALL.iter().enumerate() {
            assert!(
                step.predecessors().iter().all(|before| Step::ALL[..nth].contains(before)),
                "{}",
                step.name()
            );
        }
    }
}
