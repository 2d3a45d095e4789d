//! The tools that a machine must have before the tests can fetch anything, and the distribution's packages that contain
//! them.

use crate::enclave;
use crate::freestanding::{Toolchain, pinned_has};
use crate::setup::{ETCD, PackagedProgram, RCLONE, versitygw_path};
use crate::step::Step;
use crate::tool::{command, output, run, succeeds};
use anyhow::{Context, Result, bail};
use std::collections::BTreeSet;
use std::io::{IsTerminal, Write};

/// The Go release that versitygw needs.
const MIN_GO: (u32, u32) = (1, 25);

/// The programs that tests run, with the packages that contain them and the steps that need them.
const PROGRAMS: [(&str, &[&str], &[Step]); 12] = [
    ("picosat", &["picosat"], &[Step::Unit, Step::Pager, Step::Enclave]),
    ("qemu-x86_64", &["qemu-user"], &[Step::Unit]),
    ("qemu-system-riscv64", &["qemu-system-misc"], &[Step::Enclave]),
    (enclave::COMPILER, &COMPILER_PACKAGES, &[Step::Enclave]),
    ("sqlite3", &["sqlite3"], &[Step::Pager, Step::Enclave]),
    ("make", &["make"], &[Step::Enclave]),
    // Verilator generates C++.
    ("c++", &["g++"], &[Step::Hardware]),
    // Source archives are compressed with it.
    ("xz", &["xz-utils"], &[Step::Enclave]),
    ("redis-server", &["redis-server"], &[Step::Pager]),
    ("restic", &["restic"], &[Step::Clients]),
    ("chromium-headless-shell", &["chromium-headless-shell"], &[Step::Web, Step::Clients]),
    ("psql", &["postgresql"], &[Step::Clients]),
];

/// The cross compiler, and the C library that it links statically.
const COMPILER_PACKAGES: [&str; 2] = ["gcc-riscv64-linux-gnu", "libc6-dev-riscv64-cross"];

/// The targets without an operating system.
const FREESTANDING: [&str; 2] = ["riscv64gc-unknown-none-elf", "wasm32-unknown-unknown"];

/// A missing tool.
struct Prerequisite {
    what: String,
    steps: &'static [Step],
    /// The packages of Debian and Ubuntu that contain it.
    packages: &'static [&'static str],
    /// The targets that rustup may be able to add.
    targets: &'static [&'static str],
    remedy: String,
}

impl Prerequisite {
    /// A tool that is in packages of the distribution.
    fn in_packages(
        what: impl Into<String>,
        steps: &'static [Step],
        packages: &'static [&'static str],
    ) -> Prerequisite {
        let remedy = format!("on Debian and Ubuntu: apt-get install {}", packages.join(" "));
        Prerequisite { what: what.into(), steps, packages, targets: &[], remedy }
    }
}

/// The permission to install packages.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Consent {
    /// Packages are installed without a question.
    Given,
    /// Packages are installed after a question, if stdin is a terminal.
    Asked,
}

/// Installs what these steps need, from packages of the distribution.
///
/// Fails now, and not after a quarter of an hour, if a step still cannot run on this machine.
pub fn install_missing(steps: &[Step], consent: Consent) -> Result<()> {
    let missing = find_missing(steps);
    let mut packages = union(&missing, |prerequisite| prerequisite.packages);
    let targets = union(&missing, |prerequisite| prerequisite.targets);
    if !succeeds(command("apt-get").arg("--version")) {
        packages.clear();
    }
    if (packages.is_empty() && targets.is_empty()) || !confirm(&packages, &targets, consent)? {
        return fail_if_missing(&missing, steps);
    }
    if !targets.is_empty() && add_targets(&targets) && Toolchain::find().is_some() {
        packages.retain(|package| !FREESTANDING_PACKAGES.contains(package));
    }
    install(&packages)?;
    fail_if_missing(&find_missing(steps), steps)
}

/// Fails if a step needs something that no package contains. Packages can then be installed while other steps run.
pub fn check_installable(steps: &[Step]) -> Result<()> {
    let has_packages = succeeds(command("apt-get").arg("--version"));
    let is_not_installable = |prerequisite: &Prerequisite| {
        !has_packages || (prerequisite.packages.is_empty() && prerequisite.targets.is_empty())
    };
    fail_if_missing(&find_missing(steps).into_iter().filter(is_not_installable).collect::<Vec<_>>(), steps)
}

/// Returns the union of a list of every prerequisite, without repeats.
fn union(
    missing: &[Prerequisite],
    select: impl Fn(&Prerequisite) -> &'static [&'static str],
) -> Vec<&'static str> {
    missing.iter().flat_map(select).copied().collect::<BTreeSet<_>>().into_iter().collect()
}

fn find_missing(steps: &[Step]) -> Vec<Prerequisite> {
    let found = [
        python_is_missing(),
        go_is_missing(),
        packaged_program_is_missing(&RCLONE, "install rclone 1.60 or newer on PATH"),
        packaged_program_is_missing(&ETCD, "install etcd 3.4 or newer on PATH"),
        freestanding_toolchain_is_missing(),
        enclave_target_is_missing(),
        static_library_is_missing(),
        picolibc_is_missing(),
        tcl_is_missing(),
        dash_is_missing(),
    ];
    found
        .into_iter()
        .chain(PROGRAMS.map(program_is_missing))
        .flatten()
        .filter(|prerequisite| prerequisite.steps.iter().any(|step| steps.contains(step)))
        .collect()
}

fn confirm(packages: &[&str], targets: &[&str], consent: Consent) -> Result<bool> {
    if !packages.is_empty() {
        println!("The tests need these packages of the distribution: {}", packages.join(" "));
    }
    if !targets.is_empty() {
        println!("The tests need these targets of rustup: {}", targets.join(" "));
    }
    if consent == Consent::Given {
        return Ok(true);
    }
    if !std::io::stdin().is_terminal() {
        return Ok(false);
    }
    print!("Install them now? [y/N] ");
    std::io::stdout().flush()?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// Adds targets with rustup. Returns false if rustup is missing or fails.
fn add_targets(targets: &[&str]) -> bool {
    succeeds(command("rustup").args(["target", "add"]).args(targets))
}

fn install(packages: &[&str]) -> Result<()> {
    if packages.is_empty() {
        return Ok(());
    }
    let is_root = output(command("id").arg("-u"))?.trim() == "0";
    let apt_get = || {
        let mut apt_get = command(if is_root { "env" } else { "sudo" });
        apt_get.args(["DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq"]);
        apt_get
    };
    run(apt_get().arg("update"))?;
    run(apt_get().args(["install", "--yes", "--no-install-recommends"]).args(packages))
        .context("the distribution's packages could not be installed")
}

fn fail_if_missing(missing: &[Prerequisite], chosen: &[Step]) -> Result<()> {
    if missing.is_empty() {
        return Ok(());
    }
    let mut message = String::from("this machine cannot run every step:");
    let mut skips = Vec::new();
    for Prerequisite { what, steps, remedy, .. } in missing {
        let names: Vec<&str> = steps.iter().map(|step| step.name()).collect();
        message += &format!("\n  {what} (needed by: {})\n    {remedy}", names.join(", "));
        for step in steps.iter().filter(|step| chosen.contains(step)) {
            let skip = format!("--skip {}", step.name());
            if !skips.contains(&skip) {
                skips.push(skip);
            }
        }
    }
    bail!(
        "{message}\n  On Debian and Ubuntu, `cargo xtask test --yes` installs missing packages.\n  To run only the other \
         steps: `cargo xtask test {}`.",
        skips.join(" ")
    );
}

/// Debian's Rust, for machines where rustup cannot add the targets.
const FREESTANDING_PACKAGES: [&str; 5] =
    ["cargo-web", "lld-22", "rust-web-llvm", "rust-web-src", "rustc-web"];

fn python_is_missing() -> Option<Prerequisite> {
    let probe = "import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 9))";
    (!succeeds(command("python3").args(["-c", probe]))).then(|| Prerequisite {
        what: "Python 3.9 or newer with its venv module is missing".into(),
        steps: &[
            Step::Deny,
            Step::NoStd,
            Step::Unit,
            Step::Fuzz,
            Step::Web,
            Step::Clients,
            Step::Compatibility,
            Step::Tempest,
            Step::Pager,
            Step::Enclave,
            Step::Hardware,
        ],
        packages: &["python3", "python3-venv"],
        targets: &[],
        remedy: "install it".into(),
    })
}

fn go_is_missing() -> Option<Prerequisite> {
    // The client is built in each run, and the server is built once.
    let is_built = versitygw_path().is_ok_and(|path| path.exists());
    let steps: &'static [Step] =
        if is_built { &[Step::Clients] } else { &[Step::Clients, Step::Compatibility] };
    let found = output(command("go").args(["env", "GOVERSION"])).unwrap_or_default();
    let what = match go_release(&found) {
        Some(release) if release >= MIN_GO => return None,
        // Go 1.21 and newer fetch the release that a module requires, unless GOTOOLCHAIN forbids it.
        Some(release) if release >= (1, 21) && go_fetches_toolchains() => return None,
        Some(_) => format!("Go {}.{} or newer is missing (found: {})", MIN_GO.0, MIN_GO.1, found.trim()),
        None => format!("Go {}.{} or newer is missing", MIN_GO.0, MIN_GO.1),
    };
    Some(Prerequisite {
        what,
        steps,
        packages: &[],
        targets: &[],
        remedy: "install Go from your distribution or from go.dev: it builds versitygw, the S3 server of the tests, and \
                 a client"
            .into(),
    })
}

fn go_fetches_toolchains() -> bool {
    output(command("go").args(["env", "GOTOOLCHAIN"])).is_ok_and(|choice| choice.trim() != "local")
}

/// `go1.26.8` is release (1, 26).
fn go_release(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.trim().strip_prefix("go")?.split('.');
    let major = parts.next()?.parse().ok()?;
    let minor: String = parts.next()?.chars().take_while(char::is_ascii_digit).collect();
    Some((major, minor.parse().ok()?))
}

fn program_is_missing(
    (program, packages, steps): (&str, &'static [&'static str], &'static [Step]),
) -> Option<Prerequisite> {
    let is_installed =
        ["--version", "version"].iter().any(|argument| succeeds(command(program).arg(argument)));
    (!is_installed).then(|| Prerequisite::in_packages(format!("{program} is missing"), steps, packages))
}

fn freestanding_toolchain_is_missing() -> Option<Prerequisite> {
    Toolchain::find().is_none().then(|| Prerequisite {
        what: "a Rust toolchain for machines without an operating system is missing".into(),
        steps: &[Step::NoStd, Step::Web, Step::Enclave],
        packages: &FREESTANDING_PACKAGES,
        targets: &FREESTANDING,
        remedy:
            "rustup target add riscv64gc-unknown-none-elf wasm32-unknown-unknown; without rustup, on Debian: \
                 apt-get install rustc-web cargo-web rust-web-src rust-web-llvm lld-22"
                .into(),
    })
}

fn enclave_target_is_missing() -> Option<Prerequisite> {
    let missing: Vec<&str> = enclave::TARGETS.into_iter().filter(|target| !pinned_has(target)).collect();
    (!missing.is_empty()).then(|| Prerequisite {
        what: format!("the Rust toolchain does not build for {}", missing.join(" and ")),
        steps: &[Step::Enclave],
        packages: &[],
        targets: &enclave::TARGETS,
        remedy: format!("rustup target add {}", missing.join(" ")),
    })
}

fn static_library_is_missing() -> Option<Prerequisite> {
    let what = format!("{} has no C library to link statically", enclave::COMPILER);
    (!enclave::has_static_library())
        .then(|| Prerequisite::in_packages(what, &[Step::Enclave], &COMPILER_PACKAGES))
}

fn picolibc_is_missing() -> Option<Prerequisite> {
    let what = format!("{} or its C library, picolibc, is missing", enclave::BARE_COMPILER);
    let packages = &["gcc-riscv64-unknown-elf", "picolibc-riscv64-unknown-elf"];
    (!enclave::has_picolibc()).then(|| Prerequisite::in_packages(what, &[Step::Enclave], packages))
}

fn tcl_is_missing() -> Option<Prerequisite> {
    // tclsh has no option for its version: it runs an empty script.
    let is_available = enclave::is_built("sqlite3") || succeeds(&mut command("tclsh"));
    let what = "tclsh is missing, which generates SQLite's source";
    (!is_available).then(|| Prerequisite::in_packages(what, &[Step::Enclave], &["tcl"]))
}

fn dash_is_missing() -> Option<Prerequisite> {
    // dash has no option for its version: it runs a script that does nothing.
    let is_available = succeeds(command("dash").args(["-c", ":"]));
    let what = "dash is missing, whose output is compared with that of dash in the enclave";
    (!is_available).then(|| Prerequisite::in_packages(what, &[Step::Enclave], &["dash"]))
}

fn packaged_program_is_missing(program: &PackagedProgram, remedy: &'static str) -> Option<Prerequisite> {
    let is_available = program.is_available()
        || (succeeds(command("apt-get").arg("--version")) && succeeds(command("dpkg-deb").arg("--version")));
    (!is_available).then(|| Prerequisite {
        what: format!("{} is missing, and it can be fetched only on Debian and Ubuntu", program.name),
        steps: &[Step::Clients],
        packages: &[],
        targets: &[],
        remedy: remedy.into(),
    })
}
