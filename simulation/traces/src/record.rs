//! Recording: runs a program of the table in QEMU with the recorder, without anything that differs between runs.

use crate::error::RecordError;
use crate::inputs;
use crate::measure::Figures;
use crate::programs::{Input, Program};
use ameles_processor::trace;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The folders of the distribution's programs. Those of the user before them may be scripts.
const PATH: &str = "/usr/bin:/bin";
/// The name of the project's own programs in a command.
const OWN_PROGRAM: &str = "ameles-programs";
/// The emulator, and the program that gives it the same addresses each time.
const TOOLS: [(&str, &str); 2] = [("qemu-x86_64", "qemu-user"), ("setarch", "util-linux")];
/// The environment of a program: nothing of the machine or the user.
const ENVIRONMENT: [(&str, &str); 5] = [
    ("PATH", PATH),
    ("HOME", "/nonexistent"),
    ("LC_ALL", "C"),
    ("PERL_HASH_SEED", "0"),
    ("PYTHONHASHSEED", "0"),
];

/// A recorder of programs.
pub struct Recorder<'a> {
    /// The plugin of QEMU.
    pub plugin: &'a Path,
    /// The project's own programs.
    pub own: &'a Path,
    /// The inputs of the table.
    pub inputs: &'a BTreeMap<String, Input>,
    /// The folder in which the programs run.
    pub folder: &'a Path,
    /// The number of misses of a trace, without the warm-up.
    pub misses: u64,
}

/// Checks that all programs exist. The error names every missing one.
///
/// # Errors
/// [`RecordError::Missing`].
pub fn check<'a>(programs: impl IntoIterator<Item = &'a Program>) -> Result<(), RecordError> {
    let wanted = programs.into_iter().map(|program| (program.command[0].as_str(), program.package.as_str()));
    let (mut missing, mut packages) = (BTreeSet::new(), BTreeSet::new());
    for (name, package) in
        wanted.chain(TOOLS).filter(|(name, _)| *name != OWN_PROGRAM && find(name).is_none())
    {
        missing.insert(name.to_owned());
        packages.insert(package.to_owned());
    }
    if missing.is_empty() {
        return Ok(());
    }
    Err(RecordError::Missing {
        programs: missing.into_iter().collect(),
        packages: packages.into_iter().collect(),
    })
}

/// The path of a program of the distribution.
fn find(name: &str) -> Option<PathBuf> {
    if name == "cc1" {
        // It is in a folder of its compiler's version.
        let output = Command::new(find("gcc")?).arg("-print-prog-name=cc1").output().ok()?;
        let path = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim_end());
        return path.is_absolute().then_some(path);
    }
    PATH.split(':').map(|folder| Path::new(folder).join(name)).find(|path| path.is_file())
}

fn file_error<'a>(path: &'a Path) -> impl Fn(std::io::Error) -> RecordError + 'a {
    |why| RecordError::File { path: path.to_path_buf(), why }
}

impl Recorder<'_> {
    /// Records a program into a file, and takes the figures of its trace.
    ///
    /// # Errors
    /// [`RecordError`].
    pub fn record(&self, program: &Program, into: &Path) -> Result<Figures, RecordError> {
        self.prepare_files(program)?;
        if let [name, arguments @ ..] = program.prepare.as_slice() {
            run(self.command(self.program(name)?).args(arguments))?;
        }
        let [name, arguments @ ..] = program.command.as_slice() else { return Ok(Figures::default()) };
        let mut plugin = OsString::from(self.plugin);
        plugin.push(format!(",skip={},misses={},out=", program.skip, self.misses));
        plugin.push(into);
        // The seed is that of the random bytes which a program is given at its start.
        run(self
            .command("setarch".into())
            .args(["--addr-no-randomize", "qemu-x86_64", "-cpu", "max", "-seed", "1", "-plugin"])
            .arg(plugin)
            .arg(self.program(name)?)
            .args(arguments))?;
        let trace = trace::open(into, None)?;
        let figures = Figures::of(trace.warm_up(), trace)?;
        let found = figures.records - figures.warm_up;
        if found < self.misses {
            return Err(RecordError::Short { name: program.name.clone(), found, wanted: self.misses });
        }
        Ok(figures)
    }

    /// Writes a program's files. Also writes its inputs, unless an earlier program wrote them already.
    fn prepare_files(&self, program: &Program) -> Result<(), RecordError> {
        for (name, text) in &program.files {
            let path = self.folder.join(name);
            fs::write(&path, text).map_err(file_error(&path))?;
        }
        for name in &program.inputs {
            let path = self.folder.join(name);
            if let (Some(input), false) = (self.inputs.get(name), path.exists()) {
                let mut file = BufWriter::new(File::create(&path).map_err(file_error(&path))?);
                inputs::write(input, &mut file).map_err(file_error(&path))?;
            }
        }
        let own = self.folder.join(OWN_PROGRAM);
        if program.command[0] == OWN_PROGRAM && !own.exists() {
            fs::copy(self.own, &own).map_err(file_error(self.own))?;
        }
        Ok(())
    }

    /// The program as it is started. The project's own are copied into the folder, so that their path is always the
    /// same.
    fn program(&self, name: &str) -> Result<PathBuf, RecordError> {
        if name == OWN_PROGRAM {
            return Ok(Path::new(".").join(OWN_PROGRAM));
        }
        let missing = || RecordError::Missing { programs: vec![name.to_owned()], packages: Vec::new() };
        find(name).ok_or_else(missing)
    }

    fn command(&self, program: PathBuf) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.folder).env_clear().envs(ENVIRONMENT).stdin(Stdio::null());
        command
    }
}

/// Runs a command to completion. Its output is dropped unless it fails.
fn run(command: &mut Command) -> Result<(), RecordError> {
    let failed = |command: &Command, why: String| {
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        let words: Vec<_> = words.map(|word| word.to_string_lossy().into_owned()).collect();
        RecordError::Failed { command: words.join(" "), why }
    };
    let output = command.stdout(Stdio::null()).stderr(Stdio::piped()).output();
    let output = output.map_err(|why| failed(command, why.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(failed(command, format!("{}: {}", output.status, said.trim_end())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::{Class, tables};

    fn program(command: &[&str], package: &str) -> Program {
        Program {
            name: "test".into(),
            package: package.into(),
            version: String::new(),
            licence: String::new(),
            does: String::new(),
            command: command.iter().map(|word| (*word).to_owned()).collect(),
            prepare: Vec::new(),
            inputs: Vec::new(),
            files: BTreeMap::new(),
            skip: 0,
            class: Class::Silent,
            stands_for: Vec::new(),
        }
    }

    #[test]
    fn missing_programs_are_listed_all_at_once_with_their_packages() {
        let programs = [program(&["no-such-b"], "package-b"), program(&["no-such-a"], "package-a")];
        let error = check(&programs).unwrap_err().to_string();
        assert!(error.contains("missing on this machine: no-such-a, no-such-b"), "{error}");
        assert!(error.ends_with("apt-get install package-a package-b"), "{error}");
    }

    #[test]
    fn files_and_inputs_of_a_program_exist_when_it_starts_and_failures_are_reported_with_their_reason() {
        let folder = tempfile::tempdir().unwrap();
        let inputs = tables().unwrap().inputs;
        let recorder = Recorder {
            plugin: Path::new("/none.so"),
            own: Path::new("/none"),
            inputs: &inputs,
            folder: folder.path(),
            misses: 10,
        };
        let mut program = program(&["true"], "coreutils");
        program.files.insert("script".into(), "text".into());
        program.inputs.push("functions.c".into());
        let into = folder.path().join("test.trace");
        let error = recorder.record(&program, &into).unwrap_err().to_string();
        assert!(
            error.starts_with("`setarch --addr-no-randomize qemu-x86_64") && error.contains("/none.so"),
            "{error}"
        );
        assert_eq!(fs::read_to_string(folder.path().join("script")).unwrap(), "text");
        assert!(fs::metadata(folder.path().join("functions.c")).unwrap().len() > 500_000);
        program.command = vec!["ameles-programs".into()];
        let error = recorder.record(&program, &into).unwrap_err().to_string();
        assert!(error.starts_with("/none: No such file"), "{error}");
    }
}
