//! The machine: its memory, what lies in it at the start, and its end.

use super::device_tree::{self, MAX_PACKAGE_BYTES, PACKAGE_START, Places, TREE_START};
use super::emulator;
use super::program::Image;
use super::runtime::Runtime;
use super::service::{Next, Service};
use super::streams::Streams;
use super::untrusted::Untrusted;
use ameles_enclave_boundary::exit::ExitRecord;
use ameles_enclave_boundary::launch::{self, Launch, SealedStorage};
use ameles_enclave_boundary::mailbox::Request;
use ameles_enclave_boundary::map::{self, HOST_BYTES, PRIVATE_BYTES, UNTRUSTED_START};
use anyhow::{Context, Result, anyhow, bail, ensure};
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use zeroize::Zeroizing;

/// The most untrusted memory: one region of the processor's memory protection.
const MAX_UNTRUSTED_BYTES: u64 = 1 << 30;
/// The most sealed pages that there is room for, in bytes.
pub const MAX_PAGES_BYTES: u64 = MAX_UNTRUSTED_BYTES - (2 << 20);
/// The program of the host's hart if there is no other: it waits (`wfi`, and a jump back to it).
const WAITS: [u32; 2] = [0x1050_0073, 0xffdf_f06f];
/// The beginning of the last line of the firmware's banner.
const LAST_OF_BANNER: &str = "Boot HART MEDELEG";
/// The most bytes of the emulator's words that an error repeats.
const MAX_WORDS: u64 = 2000;

/// The settings of the machine itself, beside those of the package.
#[derive(Clone, Debug, Default)]
pub struct MachineSettings {
    /// True if each instruction takes a nanosecond of the machine's time: counts are the same in every run then, and
    /// the host's hart rests.
    pub counts: bool,
    /// The program of the host's hart: bytes that begin with an instruction. It waits if there is none.
    pub host: Option<Vec<u8>>,
}

/// A machine that runs.
#[derive(Debug)]
pub struct Machine {
    process: Child,
    untrusted: Untrusted,
    /// The firmware's words, and the emulator's.
    said: File,
    kept_bytes: usize,
    begin: Instant,
}

/// The end of a run.
#[derive(Debug)]
pub struct RunResult {
    /// The runtime's record; nothing if the machine was switched off.
    pub record: Option<ExitRecord>,
    /// The time from start to end on a clock on the wall.
    pub took: Duration,
}

impl Machine {
    /// Starts a machine with a program in its private memory.
    ///
    /// # Errors
    /// The package cannot be made; the emulator is missing.
    pub fn start(
        runtime: &Runtime,
        launch: &Launch,
        image: &Image,
        setting: &MachineSettings,
    ) -> Result<Self> {
        let bytes = map::untrusted_bytes(launch.paging.untrusted_bytes);
        let bytes =
            bytes.filter(|bytes| *bytes <= MAX_UNTRUSTED_BYTES).context("too much untrusted memory")?;
        let untrusted = Untrusted::new(bytes)?;
        let host = bytes - HOST_BYTES;
        let waits: Vec<u8> = WAITS.iter().flat_map(|word| word.to_le_bytes()).collect();
        let program = setting.host.as_deref().unwrap_or(&waits);
        ensure!(program.len() as u64 <= HOST_BYTES, "the program of the host's hart is longer than 64 KiB");
        untrusted.write(host, program)?;

        let package = Zeroizing::new(launch::encode(launch, image.bytes())?);
        let places = Places {
            harts: launch.paging.harts,
            untrusted_bytes: bytes,
            host: UNTRUSTED_START + host,
            package_bytes: package.len() as u64,
        };
        ensure!(
            places.package_bytes <= MAX_PACKAGE_BYTES,
            "the program is larger than the machine's private memory"
        );
        let tree = device_tree::blob(&places).map_err(|error| anyhow!("{error}"))?;
        let package = in_memory("ameles-package", &package)?;
        let tree = in_memory("ameles-device-tree", &tree)?;
        let said = in_memory("ameles-console", &[])?;

        let mut command = emulator::command()?;
        let memory = format!(
            "memory-backend-file,id=untrusted,size={bytes},share=on,mem-path={}",
            path(untrusted.file())
        );
        let harts = launch.paging.harts;
        let all = harts + 1;
        // The interrupt controller that the board has otherwise cannot be made for nodes of unlike numbers of harts
        // (QEMU 7.2). The machine uses none.
        command.args(["-machine", "virt,aia=aplic", "-smp"]).arg(format!("{all},sockets={all},cores=1"));
        command.arg("-m").arg(format!("{}M", (PRIVATE_BYTES + bytes) >> 20));
        command.arg("-object").arg(format!("memory-backend-ram,id=private,size={PRIVATE_BYTES}"));
        command.arg("-object").arg(memory);
        command.arg("-numa").arg(format!("node,nodeid=0,memdev=private,cpus=0-{}", harts - 1));
        command.arg("-numa").arg(format!("node,nodeid=1,memdev=untrusted,cpus={harts}"));
        command.args(["-bios", "default", "-kernel"]).arg(runtime.path());
        command.arg("-dtb").arg(path(&tree));
        for (file, start) in [(&tree, TREE_START), (&package, PACKAGE_START)] {
            let loaded = format!("loader,file={},addr={start:#x},force-raw=on", path(file));
            command.arg("-device").arg(loaded);
        }
        command.args([
            "-nodefaults",
            "-no-user-config",
            "-no-reboot",
            "-display",
            "none",
            "-monitor",
            "none",
        ]);
        command.args(["-chardev", "stdio,id=console,signal=off", "-serial", "chardev:console"]);
        if setting.counts {
            command.args(["-icount", "shift=0"]);
        } else if harts > 1 {
            command.args(["-accel", "tcg,thread=multi"]);
        }
        command.stdin(Stdio::null()).stdout(said.try_clone()?).stderr(said.try_clone()?);
        let begin = Instant::now();
        let process = command.spawn().context("the emulator cannot be started")?;
        let kept_bytes = match launch.paging.storage {
            SealedStorage::Backing => 0,
            SealedStorage::Intermediary => usize::try_from(launch.paging.untrusted_bytes)?,
        };
        // The package's file, with the seed in it, is closed here: from now on only the emulator has it.
        Ok(Machine { process, untrusted, said, kept_bytes, begin })
    }

    /// The emulator's process.
    pub fn process(&self) -> &Child {
        &self.process
    }

    /// Untrusted memory.
    pub fn untrusted(&self) -> &Untrusted {
        &self.untrusted
    }

    /// Serves the program to its end, and tells the listener of each fault that the runtime tells of.
    ///
    /// # Errors
    /// The machine ended without a record; the listener's.
    pub fn serve(
        mut self,
        streams: &mut Streams,
        mut listener: impl FnMut(&Untrusted, Request) -> Result<Next>,
    ) -> Result<RunResult> {
        let mut switched_off = false;
        let mut listen = |untrusted: &Untrusted, request| {
            let next = listener(untrusted, request)?;
            switched_off |= next == Next::SwitchOff;
            Ok(next)
        };
        let service = Service::new(&self.untrusted, self.kept_bytes, streams, &mut listen);
        let served = service.serve(&mut self.process);
        if served.is_err() {
            // Nobody would answer it any longer.
            let _ = self.process.kill();
            let _ = self.process.wait();
        }
        let status = served?;
        let took = self.begin.elapsed();
        let record = match self.untrusted.exit_record()? {
            _ if switched_off => None,
            Some(record) => Some(record.context("the enclave's runtime left no record that can be read")?),
            None => bail!("{}", self.silence(status)),
        };
        Ok(RunResult { record, took })
    }

    /// An end without a record, in words.
    fn silence(&self, status: ExitStatus) -> String {
        let bytes = self.said.metadata().map_or(0, |said| said.len());
        let mut last = vec![0; bytes.min(MAX_WORDS) as usize];
        let _ = self.said.read_exact_at(&mut last, bytes - bytes.min(MAX_WORDS));
        let said = String::from_utf8_lossy(&last);
        // The firmware's banner tells nothing.
        let said = said
            .rsplit_once(LAST_OF_BANNER)
            .map_or(&*said, |(_, after)| after.split_once('\n').unwrap_or_default().1);
        let said = said.trim();
        let said = if said.is_empty() { String::new() } else { format!("; it said: {said}") };
        format!("the machine ended ({status}) before the program did{said}")
    }
}

/// A file in memory that the emulator inherits.
fn in_memory(name: &str, bytes: &[u8]) -> Result<File> {
    let mut file = File::from(memfd_create(name, MemfdFlags::empty())?);
    file.write_all(bytes)?;
    Ok(file)
}

/// The path by which a process that inherited a file opens it anew.
fn path(file: &impl AsRawFd) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}
