//! The host's side of the mailbox: it polls for requests, serves them and answers.

use super::streams::Streams;
use super::untrusted::Untrusted;
use ameles_enclave_boundary::mailbox::{Answer, Clock, Request, Stream};
use anyhow::{Context, Result, anyhow};
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};
use std::io;
use std::process::{Child, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

/// The time after a request during which the host polls without a pause: the runtime waits for it.
const BUSY_POLL: Duration = Duration::from_micros(200);
/// The first pause after that. Each pause is twice as long as the previous one, up to the last.
const FIRST_PAUSE: Duration = Duration::from_micros(20);
const LAST_PAUSE: Duration = Duration::from_millis(2);

/// The listener's decision at a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The program continues.
    Continue,
    /// The machine is switched off.
    SwitchOff,
}

/// The listener for faults.
pub(super) type Listener<'a> = dyn FnMut(&Untrusted, Request) -> Result<Next> + 'a;

/// The service of a machine.
pub(super) struct Service<'a> {
    untrusted: &'a Untrusted,
    streams: &'a mut Streams,
    listener: &'a mut Listener<'a>,
    /// The sealed pages that the host stores (the paper's Figure 1).
    host_pages: Vec<u8>,
    next_number: u64,
}

impl<'a> Service<'a> {
    /// Creates a service with this many bytes of sealed pages in the host.
    pub(super) fn new(
        untrusted: &'a Untrusted,
        host_page_bytes: usize,
        streams: &'a mut Streams,
        listener: &'a mut Listener<'a>,
    ) -> Self {
        Service { untrusted, streams, listener, host_pages: vec![0; host_page_bytes], next_number: 1 }
    }

    /// Serves requests until the machine ends or is switched off.
    ///
    /// # Errors
    /// An invalid request; errors of the listener.
    pub(super) fn serve(mut self, machine: &mut Child) -> Result<ExitStatus> {
        let (mut last, mut pause) = (Instant::now(), FIRST_PAUSE);
        loop {
            if let Some(request) = self.untrusted.request(self.next_number)? {
                let request = request.map_err(|error| anyhow!("the enclave's runtime: {error}"))?;
                if self.answer(request, machine)? == Next::SwitchOff {
                    machine.kill()?;
                    return Ok(machine.wait()?);
                }
                self.next_number += 1;
                (last, pause) = (Instant::now(), FIRST_PAUSE);
            } else if last.elapsed() > BUSY_POLL {
                if let Some(status) = machine.try_wait()? {
                    return Ok(status);
                }
                thread::sleep(pause);
                pause = (pause * 2).min(LAST_PAUSE);
            } else {
                thread::yield_now();
            }
        }
    }

    fn answer(&mut self, request: Request, machine: &mut Child) -> Result<Next> {
        let mut data = Vec::new();
        let result = match request {
            Request::Write { stream, bytes } => self.write(stream, &self.untrusted.data(bytes)?),
            Request::Read { max } => match self.read(max, machine)? {
                Some(read) => read.map(|read| {
                    data = read;
                    done(data.len())
                }),
                // The machine has ended: no answer is needed.
                None => return Ok(Next::Continue),
            },
            Request::Clock(clock) => Ok(time(clock)),
            Request::Store { at, bytes } => {
                let stored = self.untrusted.data(bytes)?;
                match self.host_page(at, bytes) {
                    Some(page) => {
                        page.copy_from_slice(&stored);
                        Ok(done(stored.len()))
                    }
                    None => Err(Errno::INVAL.into()),
                }
            }
            Request::Load { at, bytes } => match self.host_page(at, bytes) {
                Some(page) => {
                    data = page.to_vec();
                    Ok(done(data.len()))
                }
                None => Err(Errno::INVAL.into()),
            },
            Request::AfterFault { .. } => {
                if (self.listener)(self.untrusted, request)? == Next::SwitchOff {
                    return Ok(Next::SwitchOff);
                }
                Ok(done(0))
            }
        };
        let answer = result.unwrap_or_else(|error: io::Error| failed(&error));
        self.untrusted
            .answer(self.next_number, answer, &data)
            .context("writing an answer to untrusted memory")?;
        Ok(Next::Continue)
    }

    fn write(&mut self, stream: Stream, bytes: &[u8]) -> io::Result<Answer> {
        let output = self.streams.output;
        let written = match stream {
            Stream::Output => output.write(io::stdout(), bytes),
            Stream::Error => output.write(io::stderr(), bytes),
        };
        written.map(done)
    }

    /// Waits for input while the machine runs.
    fn read(&mut self, max: u32, machine: &mut Child) -> Result<Option<io::Result<Vec<u8>>>> {
        loop {
            match self.streams.input.read(max) {
                Ok(Some(bytes)) => return Ok(Some(Ok(bytes))),
                Err(error) => return Ok(Some(Err(error))),
                Ok(None) if machine.try_wait()?.is_some() => return Ok(None),
                Ok(None) => {}
            }
        }
    }

    /// Returns the sealed page at an offset.
    fn host_page(&mut self, at: u64, bytes: u32) -> Option<&mut [u8]> {
        let at = usize::try_from(at).ok()?;
        self.host_pages.get_mut(at..at.checked_add(bytes as usize)?)
    }
}

fn done(bytes: usize) -> Answer {
    // A request is never larger than this type.
    Answer::Done { bytes: bytes as u32 }
}

fn failed(error: &io::Error) -> Answer {
    let errno = error.raw_os_error().and_then(|errno| u16::try_from(errno).ok());
    Answer::Failed { errno: errno.filter(|errno| *errno > 0).unwrap_or(Errno::IO.raw_os_error() as u16) }
}

fn time(clock: Clock) -> Answer {
    let time = clock_gettime(match clock {
        Clock::Realtime => ClockId::Realtime,
        Clock::Monotonic => ClockId::Monotonic,
    });
    Answer::Time { seconds: time.tv_sec.unsigned_abs(), nanos: time.tv_nsec as u32 }
}
