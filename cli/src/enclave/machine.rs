//! The machine: its memory with its first contents, its start and its end.

use super::device_tree::{self, MAX_PACKAGE_BYTES, MachineLayout, PACKAGE_START, TREE_START};
use super::emulator;
use super::program::Image;
use super::runtime::Runtime;
use super::service::{Next, Service};
use super::streams::Streams;
use super::untrusted::Untrusted;
use ameles_enclave_boundary::exit::ExitRecord;
use ameles_enclave_boundary::launch::{self, LaunchOptions, SealedStorage};
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

/// The maximum untrusted memory: one region of the processor's memory protection.
const MAX_UNTRUSTED_BYTES: u64 = 1 << 30;
/// The maximum bytes of sealed pages.
pub const MAX_PAGES_BYTES: u64 = MAX_UNTRUSTED_BYTES - (2 << 20);
/// The default program of the host's hart: it waits (`wfi`, and a jump back).
const WAIT_LOOP: [u32; 2] = [0x1050_0073, 0xffdf_f06f];
/// The start of the last line of the firmware's banner.
const BANNER_END: &str = "Boot HART MEDELEG";
/// The maximum bytes of console output in an error.
const MAX_CONSOLE_BYTES: u64 = 2000;

/// The settings of the machine that are not in the launch package.
#[derive(Clone, Debug, Default)]
pub struct MachineSettings {
    /// True if each instruction takes a nanosecond of the machine's time. Counts are then the same in every run, and
    /// the host's hart is idle.
    pub counts: bool,
    /// The program of the host's hart: bytes that begin with an instruction. Without it, the hart waits.
    pub host: Option<Vec<u8>>,
}

/// A running machine.
#[derive(Debug)]
pub struct Machine {
    process: Child,
    untrusted: Untrusted,
    /// The output of the firmware and of the emulator.
    console: File,
    host_page_bytes: usize,
    start_time: Instant,
}

/// The result of a run.
#[derive(Debug)]
pub struct RunResult {
    /// The runtime's record; `None` if the machine was switched off.
    pub record: Option<ExitRecord>,
    /// The wall-clock time from start to end.
    pub elapsed: Duration,
}

impl Machine {
    /// Starts a machine with a program in its private memory.
    ///
    /// # Errors
    /// The launch package cannot be built; the emulator is missing.
    pub fn start(
        runtime: &Runtime,
        launch: &LaunchOptions,
        image: &Image,
        setting: &MachineSettings,
    ) -> Result<Self> {
        let bytes = map::untrusted_bytes(launch.paging.untrusted_bytes);
        let bytes =
            bytes.filter(|bytes| *bytes <= MAX_UNTRUSTED_BYTES).context("too much untrusted memory")?;
        let untrusted = Untrusted::new(bytes)?;
        let host = bytes - HOST_BYTES;
        let wait_loop: Vec<u8> = WAIT_LOOP.iter().flat_map(|word| word.to_le_bytes()).collect();
        let program = setting.host.as_deref().unwrap_or(&wait_loop);
        ensure!(program.len() as u64 <= HOST_BYTES, "the program of the host's hart is longer than 64 KiB");
        untrusted.write(host, program)?;

        let package = Zeroizing::new(launch::encode(launch, image.bytes())?);
        let layout = MachineLayout {
            harts: launch.paging.harts,
            untrusted_bytes: bytes,
            host: UNTRUSTED_START + host,
            package_bytes: package.len() as u64,
        };
        ensure!(
            layout.package_bytes <= MAX_PACKAGE_BYTES,
            "the program is larger than the machine's private memory"
        );
        let tree = device_tree::blob(&layout).map_err(|error| anyhow!("{error}"))?;
        let package = memory_file("ameles-package", &package)?;
        let tree = memory_file("ameles-device-tree", &tree)?;
        let console = memory_file("ameles-console", &[])?;

        let mut command = emulator::command()?;
        let memory = format!(
            "memory-backend-file,id=untrusted,size={bytes},share=on,mem-path={}",
            inherited_path(untrusted.file())
        );
        let harts = launch.paging.harts;
        let all = harts + 1;
        // The default interrupt controller of the board does not support nodes with different numbers of harts (QEMU
        // 7.2). The machine uses no interrupt controller.
        command.args(["-machine", "virt,aia=aplic", "-smp"]).arg(format!("{all},sockets={all},cores=1"));
        command.arg("-m").arg(format!("{}M", (PRIVATE_BYTES + bytes) >> 20));
        command.arg("-object").arg(format!("memory-backend-ram,id=private,size={PRIVATE_BYTES}"));
        command.arg("-object").arg(memory);
        command.arg("-numa").arg(format!("node,nodeid=0,memdev=private,cpus=0-{}", harts - 1));
        command.arg("-numa").arg(format!("node,nodeid=1,memdev=untrusted,cpus={harts}"));
        command.args(["-bios", "default", "-kernel"]).arg(runtime.path());
        command.arg("-dtb").arg(inherited_path(&tree));
        for (file, start) in [(&tree, TREE_START), (&package, PACKAGE_START)] {
            let loaded = format!("loader,file={},addr={start:#x},force-raw=on", inherited_path(file));
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
        command.stdin(Stdio::null()).stdout(console.try_clone()?).stderr(console.try_clone()?);
        let start_time = Instant::now();
        let process = command.spawn().context("the emulator cannot be started")?;
        let host_page_bytes = match launch.paging.storage {
            SealedStorage::Backing => 0,
            SealedStorage::Intermediary => usize::try_from(launch.paging.untrusted_bytes)?,
        };
        // The file of the package, which holds the seed, is closed here: now only the emulator has it.
        Ok(Machine { process, untrusted, console, host_page_bytes, start_time })
    }

    /// Returns the emulator's process.
    pub fn process(&self) -> &Child {
        &self.process
    }

    /// Returns the untrusted memory.
    pub fn untrusted(&self) -> &Untrusted {
        &self.untrusted
    }

    /// Serves the program to its end, and calls the listener at each fault that the runtime reports.
    ///
    /// # Errors
    /// The machine ended without a record; errors of the listener.
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
        let service = Service::new(&self.untrusted, self.host_page_bytes, streams, &mut listen);
        let result = service.serve(&mut self.process);
        if result.is_err() {
            // Its requests would get no response.
            let _ = self.process.kill();
            let _ = self.process.wait();
        }
        let status = result?;
        let elapsed = self.start_time.elapsed();
        let record = match self.untrusted.exit_record()? {
            _ if switched_off => None,
            Some(record) => Some(record.context("the record of the enclave's runtime cannot be read")?),
            None => bail!("{}", self.missing_record_message(status)),
        };
        Ok(RunResult { record, elapsed })
    }

    /// Returns the error of an end without a record.
    fn missing_record_message(&self, status: ExitStatus) -> String {
        let bytes = self.console.metadata().map_or(0, |console| console.len());
        let mut last = vec![0; bytes.min(MAX_CONSOLE_BYTES) as usize];
        let _ = self.console.read_exact_at(&mut last, bytes - bytes.min(MAX_CONSOLE_BYTES));
        let console = String::from_utf8_lossy(&last);
        // The firmware's banner is of no use.
        let console = console
            .rsplit_once(BANNER_END)
            .map_or(&*console, |(_, after)| after.split_once('\n').unwrap_or_default().1);
        let console = console.trim();
        let console = if console.is_empty() { String::new() } else { format!("; its output: {console}") };
        format!("the machine ended ({status}) before the program{console}")
    }
}

/// Creates a file in memory that the emulator inherits.
fn memory_file(name: &str, bytes: &[u8]) -> Result<File> {
    let mut file = File::from(memfd_create(name, MemfdFlags::empty())?);
    file.write_all(bytes)?;
    Ok(file)
}

/// Returns the path by which a process opens a file that it inherited.
fn inherited_path(file: &impl AsRawFd) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}
