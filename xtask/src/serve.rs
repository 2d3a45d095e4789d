//! The step `serve`: the README's first command, as a newcomer types it.

use crate::tool::{cargo, command};
use anyhow::{Context, Result, bail, ensure};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

/// Builds what `cargo run --release` runs, which has no feature that tests have. No compiler warns.
pub fn build() -> Result<()> {
    println!("    $ cargo build --release");
    let mut building = cargo().args(["build", "--release"]).stderr(Stdio::piped()).spawn()?;
    let mut has_warned = false;
    for line in BufReader::new(building.stderr.take().context("cargo says nothing")?).lines() {
        let line = line?;
        has_warned |= line.starts_with("warning");
        eprintln!("{line}");
    }
    ensure!(building.wait()?.success(), "`cargo build --release` failed");
    ensure!(!has_warned, "`cargo build --release` warns");
    Ok(())
}

/// Serves a new vault until it answers, and sees that what is not in this build is refused by name.
pub fn check(ameles: &Path) -> Result<()> {
    let home = tempfile::tempdir()?;
    let mut serving = command(ameles)
        .args(["serve", "--listen", "127.0.0.1:0", "--capacity", "64MiB", "--data"])
        .arg(home.path())
        .stdout(Stdio::piped())
        .spawn()?;
    let answered = answer(&mut serving);
    serving.kill()?;
    serving.wait()?;
    println!("    `ameles serve` answers: {}", answered?);

    let refused = command(ameles).args(["lab", "thesis", "--help"]).output()?;
    let why = String::from_utf8_lossy(&refused.stderr).into_owned();
    ensure!(refused.status.code() == Some(2), "`ameles lab` ended with {}", refused.status);
    ensure!(why.contains("`ameles lab` is not in this build") && why.contains("--features full"), "{why}");
    Ok(())
}

/// Asks for the list of buckets, without a key, at the address that is printed. Returns the first line of the answer.
fn answer(serving: &mut Child) -> Result<String> {
    let printed = BufReader::new(serving.stdout.take().context("it prints nothing")?);
    for line in printed.lines() {
        let line = line?;
        let Some((_, address)) = line.split_once("http://127.0.0.1:") else { continue };
        let port: String = address.chars().take_while(char::is_ascii_digit).collect();
        let mut stream = TcpStream::connect(("127.0.0.1", port.parse()?))?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
        let mut whole = String::new();
        stream.read_to_string(&mut whole)?;
        let first = whole.lines().next().unwrap_or_default().to_owned();
        ensure!(first == "HTTP/1.1 403 Forbidden", "it answers a stranger {first:?}");
        return Ok(first);
    }
    bail!("it ended without naming an address")
}
