//! The steps of `cargo xtask test`: their names, the promises they check, and the order among them.

use clap::ValueEnum;

/// A step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Step {
    /// Packages, environments and programs of the tests
    Setup,
    /// Formatting
    Fmt,
    /// Lengths of files, widths of structs, prose of comments, circles of imports, names of files in the book
    House,
    /// The programs, libraries, tests and examples, with the lints of clippy and rustdoc
    Build,
    /// Licences, sources and duplicates of the dependencies
    Deny,
    /// Programs and modules without an operating system
    NoStd,
    /// Unit and integration tests
    Unit,
    /// The controller for hardware, simulated beside the core
    Hardware,
    /// Programs of RISC-V in the enclave, under an emulator
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
    /// The steps, all of them, in the order in which they begin as soon as they can.
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

    /// The name for `--only` and `--skip`.
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

    /// The promise that holds when it has passed.
    pub fn promise(self) -> &'static str {
        match self {
            Step::Setup => "what the tests need is installed",
            Step::Fmt => "the source is formatted",
            Step::House => {
                "files and structs are short and import in one direction, comments begin with a verb or a noun, the book names files that are there"
            }
            Step::Build => "every target builds, and no lint of code or documentation warns",
            Step::Deny => "the dependencies' licences and sources are allowed",
            Step::NoStd => {
                "core, sealing and fault path link for bare RISC-V, and serve faults in WebAssembly as they do here"
            }
            Step::Unit => "unit and integration tests pass, fuzz targets apart",
            Step::Hardware => {
                "the simulated controller shows what the core shows, and nothing more, in each cycle"
            }
            Step::Enclave => {
                "programs of RISC-V answer in the enclave as outside, and a host that tampers or looks is caught or sees nothing"
            }
            Step::Clients => "boto3, the AWS command line and rclone work against `ameles serve`",
            Step::Pager => {
                "sqlite3, picosat, redis-server and Python answer as unpaged under `ameles page run`"
            }
            Step::Web => "the visualizer steps every scheme in a browser, and each answers as an array does",
            Step::Compatibility => {
                "versitygw's S3 tests pass against `ameles serve`, but for those that are listed with a reason"
            }
            Step::Tempest => {
                "all of Tempest's object-storage tests pass against `ameles serve`, but for a list of skips"
            }
            Step::Docs => "the examples in the documentation run",
            Step::Examples => "every example runs to its end",
            Step::Fuzz => "no fuzz target finds a fault in a few seconds each",
            Step::Serve => "`cargo run --release -- serve` builds without a warning and answers",
            Step::Budget => "no step and no test binary takes more processor time than its line allows",
        }
    }

    /// The steps that end before it begins, if they are run at all.
    pub fn after(self) -> &'static [Step] {
        match self {
            Step::Setup | Step::Fmt | Step::House | Step::Serve => &[],
            Step::Deny => &[Step::Setup],
            // Cargo builds one at a time, and most of what the second needs is there by then.
            Step::Build => &[Step::Serve],
            // It asks for a program of `build`, and would build it if it came first.
            Step::NoStd => &[Step::Setup, Step::Serve],
            Step::Docs | Step::Examples => &[Step::Build],
            Step::Unit | Step::Hardware | Step::Pager | Step::Fuzz => &[Step::Setup, Step::Build],
            // They ask cargo for the program that `serve` builds, and cargo would wait for `build`.
            Step::Clients | Step::Compatibility | Step::Tempest => &[Step::Setup, Step::Build],
            // They build for the same targets into the same folder.
            Step::Enclave => &[Step::Setup, Step::Build, Step::NoStd],
            Step::Web => &[Step::Setup, Step::Build, Step::NoStd],
            Step::Budget => &Step::MEASURED,
        }
    }

    /// Tells whether nothing may run beside it. A copy that takes more than a second is answered before its version is
    /// known, and some of its tests ask for the version.
    pub fn is_alone(self) -> bool {
        self == Step::Compatibility
    }

    /// The steps that the budget looks at.
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
            assert!(step.after().iter().all(|before| Step::ALL[..nth].contains(before)), "{}", step.name());
        }
    }
}
