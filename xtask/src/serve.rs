//! The step `serve`: the README's first command.

use crate::tool::{cargo, command};
use anyhow::{Context, Result, bail, ensure};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

/// Builds the program that `cargo run --release` runs, without the features of tests. A warning is an error.
pub fn build() -> Result<()> {
    println!("    $ cargo build --release");
    let mut build = cargo().args(["build", "--release"]).stderr(Stdio::piped()).spawn()?;
    let mut has_warned = false;
    for line in BufReader::new(build.stderr.take().context("cargo has no stderr")?).lines() {
        let line = line?;
        has_warned |= line.starts_with("warning");
        eprintln!("{line}");
    }
    ensure!(build.wait()?.success(), "`cargo build --release` failed");
    ensure!(!has_warned, "`cargo build --release` warns");
    Ok(())
}

/// Serves a new vault until it answers. Then checks that a command of the feature `full` is refused with a hint.
pub fn check(ameles: &Path) -> Result<()> {
    let home = tempfile::tempdir()?;
    let mut server = command(ameles)
        .args(["serve", "--listen", "127.0.0.1:0", "--capacity", "64MiB", "--data"])
        .arg(home.path())
        .stdout(Stdio::piped())
        .spawn()?;
    let response = first_response_line(&mut server);
    server.kill()?;
    server.wait()?;
    println!("    `ameles serve` answers: {}", response?);

    let refusal = command(ameles).args(["lab", "thesis", "--help"]).output()?;
    let message = String::from_utf8_lossy(&refusal.stderr).into_owned();
    ensure!(refusal.status.code() == Some(2), "`ameles lab` exited with {}", refusal.status);
    ensure!(
        message.contains("`ameles lab` is not in this build") && message.contains("--features full"),
        "{message}"
    );
    Ok(())
}

/// Requests the list of buckets without a key, at the printed address. Returns the first line of the response.
fn first_response_line(server: &mut Child) -> Result<String> {
    let stdout = BufReader::new(server.stdout.take().context("`ameles serve` has no stdout")?);
    for line in stdout.lines() {
        let line = line?;
        let Some((_, address)) = line.split_once("http://127.0.0.1:") else { continue };
        let port: String = address.chars().take_while(char::is_ascii_digit).collect();
        let mut stream = TcpStream::connect(("127.0.0.1", port.parse()?))?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
        let mut response = String::new();
        stream.read_to_string(&mut response)?;
        let first = response.lines().next().unwrap_or_default().to_owned();
        ensure!(first == "HTTP/1.1 403 Forbidden", "a request without a key got {first:?}, and not 403");
        return Ok(first);
    }
    bail!("`ameles serve` ended without printing an address")
}
