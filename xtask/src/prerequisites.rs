//! The tools that a machine must have before anything can be fetched, and the distribution's packages that have them.

use crate::enclave;
use crate::freestanding::{Toolchain, pinned_has};
use crate::setup::{fetched_rclone, versitygw_path};
use crate::step::Step;
use crate::tool::{command, output, run, succeeds};
use anyhow::{Context, Result, bail};
use std::collections::BTreeSet;
use std::io::{IsTerminal, Write};

/// The Go release that versitygw asks for.
const MIN_GO: (u32, u32) = (1, 25);

/// Programs that tests run, with the packages that have them and the steps that need them.
const PROGRAMS: [(&str, &[&str], &[Step]); 12] = [
    ("picosat", &["picosat"], &[Step::Unit, Step::Pager, Step::Enclave]),
    ("qemu-x86_64", &["qemu-user"], &[Step::Unit]),
    ("qemu-system-riscv64", &["qemu-system-misc"], &[Step::Enclave]),
    (enclave::COMPILER, &COMPILER_PACKAGES, &[Step::Enclave]),
    ("sqlite3", &["sqlite3"], &[Step::Pager, Step::Enclave]),
    ("make", &["make"], &[Step::Enclave]),
    // What Verilator makes is C++.
    ("c++", &["g++"], &[Step::Hardware]),
    // Sources are packed with it.
    ("xz", &["xz-utils"], &[Step::Enclave]),
    ("redis-server", &["redis-server"], &[Step::Pager]),
    ("restic", &["restic"], &[Step::Clients]),
    ("chromium-headless-shell", &["chromium-headless-shell"], &[Step::Web, Step::Clients]),
    ("psql", &["postgresql"], &[Step::Clients]),
];

/// The cross compiler, and the C library that it links statically.
const COMPILER_PACKAGES: [&str; 2] = ["gcc-riscv64-linux-gnu", "libc6-dev-riscv64-cross"];

/// Targets without an operating system.
const FREESTANDING: [&str; 2] = ["riscv64gc-unknown-none-elf", "wasm32-unknown-unknown"];

/// A program that must be there.
struct Prerequisite {
    what: String,
    steps: &'static [Step],
    /// Debian's and Ubuntu's packages that have it.
    packages: &'static [&'static str],
    /// Targets that rustup may be able to add.
    targets: &'static [&'static str],
    remedy: String,
}

/// Tells whether packages may be installed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Consent {
    /// Without a question.
    Given,
    /// After a question, if there is a person to answer it.
    Asked,
}

/// Installs what these steps lack and the distribution has.
///
/// Fails at once, and not after a quarter of an hour, when a step still cannot run on this machine.
pub fn provide(steps: &[Step], consent: Consent) -> Result<()> {
    let prerequisites = find(steps);
    let mut packages = all(&prerequisites, |prerequisites| prerequisites.packages);
    let targets = all(&prerequisites, |prerequisites| prerequisites.targets);
    if !succeeds(command("apt-get").arg("--version")) {
        packages.clear();
    }
    if (packages.is_empty() && targets.is_empty()) || !agreed(&packages, &targets, consent)? {
        return refuse(&prerequisites, steps);
    }
    if !targets.is_empty() && add_targets(&targets) && Toolchain::find().is_some() {
        packages.retain(|package| !FREESTANDING_PACKAGES.contains(package));
    }
    install(&packages)?;
    refuse(&find(steps), steps)
}

/// Fails at once if a step lacks what no package has, so that all else can be installed while others run.
pub fn refuse_what_cannot_be_installed(steps: &[Step]) -> Result<()> {
    let has_packages = succeeds(command("apt-get").arg("--version"));
    let is_beyond_reach = |prerequisites: &Prerequisite| {
        !has_packages || (prerequisites.packages.is_empty() && prerequisites.targets.is_empty())
    };
    refuse(&find(steps).into_iter().filter(is_beyond_reach).collect::<Vec<_>>(), steps)
}

/// All that is named, each once.
fn all(
    prerequisites: &[Prerequisite],
    named: impl Fn(&Prerequisite) -> &'static [&'static str],
) -> Vec<&'static str> {
    prerequisites.iter().flat_map(named).copied().collect::<BTreeSet<_>>().into_iter().collect()
}

fn find(steps: &[Step]) -> Vec<Prerequisite> {
    let found = [
        python_is_missing(),
        go_is_missing(),
        rclone_is_missing(),
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
        .filter(|prerequisites| prerequisites.steps.iter().any(|step| steps.contains(step)))
        .collect()
}

fn agreed(packages: &[&str], targets: &[&str], consent: Consent) -> Result<bool> {
    if !packages.is_empty() {
        println!("The tests need these packages of the distribution: {}", packages.join(" "));
    }
    if !targets.is_empty() {
        println!("The tests need these targets, which rustup adds: {}", targets.join(" "));
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

/// Adds targets by rustup, which may be there and not be able to.
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

fn refuse(prerequisites: &[Prerequisite], chosen: &[Step]) -> Result<()> {
    if prerequisites.is_empty() {
        return Ok(());
    }
    let mut message = String::from("this machine cannot run every step:");
    let mut skips = Vec::new();
    for Prerequisite { what, steps, remedy, .. } in prerequisites {
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
        "{message}\n  On Debian and Ubuntu, `cargo xtask test --yes` installs what their packages have.\n  Without it, \
         the other steps run by `cargo xtask test {}`.",
        skips.join(" ")
    );
}

/// Debian's Rust, where rustup cannot add the targets.
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
    // A client of the tests is built at each run, the server once.
    let is_built = versitygw_path().is_ok_and(|path| path.exists());
    let steps: &'static [Step] =
        if is_built { &[Step::Clients] } else { &[Step::Clients, Step::Compatibility] };
    let found = output(command("go").args(["env", "GOVERSION"])).unwrap_or_default();
    let what = match go_release(&found) {
        Some(release) if release >= MIN_GO => return None,
        // From 1.21 on, Go fetches the release that a module asks for, unless it is told not to.
        Some(release) if release >= (1, 21) && go_fetches_toolchains() => return None,
        Some(_) => format!("Go {}.{} or newer is missing (found: {})", MIN_GO.0, MIN_GO.1, found.trim()),
        None => format!("Go {}.{} or newer is missing", MIN_GO.0, MIN_GO.1),
    };
    Some(Prerequisite {
        what,
        steps,
        packages: &[],
        targets: &[],
        remedy: "install Go from your distribution or from go.dev; it builds versitygw, the S3 server of the tests, and \
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
    let answers = ["--version", "version"].iter().any(|asked| succeeds(command(program).arg(asked)));
    (!answers).then(|| Prerequisite {
        what: format!("{program} is missing"),
        steps,
        packages,
        targets: &[],
        remedy: format!("on Debian and Ubuntu: apt-get install {}", packages.join(" ")),
    })
}

fn freestanding_toolchain_is_missing() -> Option<Prerequisite> {
    Toolchain::find().is_none().then(|| Prerequisite {
        what: "a Rust toolchain for machines without an operating system is missing".into(),
        steps: &[Step::NoStd, Step::Web, Step::Enclave],
        packages: &FREESTANDING_PACKAGES,
        targets: &FREESTANDING,
        remedy: "rustup target add riscv64gc-unknown-none-elf wasm32-unknown-unknown; where that is not to be had, on \
                 Debian: apt-get install rustc-web cargo-web rust-web-src rust-web-llvm lld-22"
            .into(),
    })
}

fn enclave_target_is_missing() -> Option<Prerequisite> {
    let lacking: Vec<&str> = enclave::TARGETS.into_iter().filter(|target| !pinned_has(target)).collect();
    (!lacking.is_empty()).then(|| Prerequisite {
        what: format!("the Rust toolchain does not build for {}", lacking.join(" and ")),
        steps: &[Step::Enclave],
        packages: &[],
        targets: &enclave::TARGETS,
        remedy: format!("rustup target add {}", lacking.join(" ")),
    })
}

fn static_library_is_missing() -> Option<Prerequisite> {
    (!enclave::has_static_library()).then(|| Prerequisite {
        what: format!("{} has no C library to link statically", enclave::COMPILER),
        steps: &[Step::Enclave],
        packages: &COMPILER_PACKAGES,
        targets: &[],
        remedy: format!("on Debian and Ubuntu: apt-get install {}", COMPILER_PACKAGES.join(" ")),
    })
}

fn picolibc_is_missing() -> Option<Prerequisite> {
    (!enclave::has_picolibc()).then(|| Prerequisite {
        what: format!("{} or its C library, picolibc, is missing", enclave::BARE_COMPILER),
        steps: &[Step::Enclave],
        packages: &["gcc-riscv64-unknown-elf", "picolibc-riscv64-unknown-elf"],
        targets: &[],
        remedy: "on Debian and Ubuntu: apt-get install gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf"
            .into(),
    })
}

fn tcl_is_missing() -> Option<Prerequisite> {
    // It reads a script that is empty. It has no option that would say which release it is.
    let there = enclave::is_built("sqlite3") || succeeds(&mut command("tclsh"));
    (!there).then(|| Prerequisite {
        what: "tclsh is missing, which puts SQLite's source together".into(),
        steps: &[Step::Enclave],
        packages: &["tcl"],
        targets: &[],
        remedy: "on Debian and Ubuntu: apt-get install tcl".into(),
    })
}

fn dash_is_missing() -> Option<Prerequisite> {
    // It has no such option either: it runs a script that does nothing.
    (!succeeds(command("dash").args(["-c", ":"]))).then(|| Prerequisite {
        what: "dash is missing, which is compared with itself in the enclave".into(),
        steps: &[Step::Enclave],
        packages: &["dash"],
        targets: &[],
        remedy: "on Debian and Ubuntu: apt-get install dash".into(),
    })
}

fn rclone_is_missing() -> Option<Prerequisite> {
    let there = succeeds(command("rclone").arg("version"))
        || fetched_rclone().exists()
        || (succeeds(command("apt-get").arg("--version")) && succeeds(command("dpkg-deb").arg("--version")));
    (!there).then(|| Prerequisite {
        what: "rclone is missing, and this is no Debian or Ubuntu, where it would be fetched".into(),
        steps: &[Step::Clients],
        packages: &[],
        targets: &[],
        remedy: "install rclone 1.60 or newer so that it is found on PATH".into(),
    })
}
