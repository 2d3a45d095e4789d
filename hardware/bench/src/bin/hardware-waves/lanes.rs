//! The lanes of a picture: spans of cycles with the same activity.

use ameles_hardware_bench::{BackendSample, Configuration, PortSample, enumeration_names};
use std::collections::VecDeque;
use std::fmt;
use std::io;

/// A span of cycles with the same activity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) from: usize,
    /// The first cycle after the span.
    pub(crate) to: usize,
    pub(crate) label: String,
    pub(crate) shade: Shade,
}

/// The meaning of a colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shade {
    Plain,
    Header,
    Body,
    Interest,
    Write,
    Ahead,
}

/// All spans of one kind.
pub(crate) struct Lane {
    pub(crate) name: &'static str,
    pub(crate) spans: Vec<Span>,
    /// Names of short spans are worth their height.
    pub(crate) is_high: bool,
}

impl fmt::Display for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  {:<13}", self.name)?;
        for span in &self.spans {
            let last = span.to - 1;
            if last == span.from {
                write!(f, " {}", span.from)?;
            } else {
                write!(f, " {}-{last}", span.from)?;
            }
            let label = if span.label.is_empty() { format!("{:?}", span.shade) } else { span.label.clone() };
            write!(f, " {label};")?;
        }
        Ok(())
    }
}

/// The names of states and purposes, as in the RTL.
pub(crate) struct Names {
    states: Vec<String>,
    streams: Vec<String>,
}

impl Names {
    pub(crate) fn read() -> io::Result<Self> {
        let streams = enumeration_names("ameles_mask_engine.sv", "stream_e")?;
        Ok(Names { states: enumeration_names("ameles_stash.sv", "state_e")?, streams })
    }

    fn shade(&self, stream: usize) -> Shade {
        match self.streams[stream].as_str() {
            "Read" => Shade::Header,
            "Interest" => Shade::Interest,
            "Write" => Shade::Write,
            _ => Shade::Ahead,
        }
    }
}

/// The lanes of a backend, in the order in which data pass.
pub(crate) fn lanes_of(samples: &[PortSample], configuration: &Configuration, names: &Names) -> Vec<Lane> {
    let backend_samples: Vec<BackendSample> = samples.iter().map(BackendSample::of).collect();
    let bus = Bus { samples, configuration };
    let backend_spans =
        |what: &dyn Fn(&BackendSample) -> Option<(String, Shade)>| spans(backend_samples.iter().map(what));
    let mark = |is: bool, shade: Shade| is.then_some((String::new(), shade));
    let low = |name, spans| Lane { name, spans, is_high: false };
    vec![
        low(
            "request",
            bus.spans(|m| mark(m.inputs.request_valid & m.outputs.request_ready == 1, Shade::Plain)),
        ),
        low("AR", bus.addresses(|m| Some(read_burst(m)?.0))),
        low("R", bus.beats(read_burst, |m| m.inputs.r_valid & m.outputs.r_ready == 1)),
        low("AES begins", backend_spans(&|w| w.stream.map(|stream| (String::new(), names.shade(stream))))),
        low("header taken", backend_spans(&|w| w.header.then(|| (w.level.to_string(), Shade::Header)))),
        low(
            "beat taken",
            backend_spans(&|w| mark(w.body, if w.interest { Shade::Interest } else { Shade::Body })),
        ),
        Lane {
            name: "stash",
            spans: backend_spans(&|w| {
                let name = &names.states[w.state];
                (name != "Idle").then(|| (name.clone(), Shade::Plain))
            }),
            is_high: true,
        },
        low("list scanned", backend_spans(&|w| mark(w.scanning, Shade::Plain))),
        low("PushToLeaf in", backend_spans(&|w| mark(w.push, Shade::Body))),
        Lane {
            name: "out: level",
            spans: backend_spans(&|w| {
                let level = w.out?;
                let label = level.map_or("stuck".to_owned(), |level| level.to_string());
                Some((label, if level.is_some() { Shade::Write } else { Shade::Plain }))
            }),
            is_high: true,
        },
        low("answer", bus.spans(|m| mark(m.outputs.answer_valid == 1, Shade::Interest))),
        low("AW", bus.addresses(|m| Some(written_burst(m)?.0))),
        low("W", bus.beats(written_burst, |m| m.outputs.w_valid & m.inputs.w_ready == 1)),
        low("B", bus.spans(|m| mark(m.inputs.b_valid & m.outputs.b_ready == 1, Shade::Plain))),
    ]
}

fn read_burst(sample: &PortSample) -> Option<([u32; 2], u32)> {
    let PortSample { inputs, outputs } = sample;
    (outputs.ar_valid & inputs.ar_ready == 1).then_some((outputs.ar_address, outputs.ar_length))
}

fn written_burst(sample: &PortSample) -> Option<([u32; 2], u32)> {
    let PortSample { inputs, outputs } = sample;
    (outputs.aw_valid & inputs.aw_ready == 1).then_some((outputs.aw_address, outputs.aw_length))
}

struct Bus<'a> {
    samples: &'a [PortSample],
    configuration: &'a Configuration,
}

impl Bus<'_> {
    fn spans(&self, what: impl Fn(&PortSample) -> Option<(String, Shade)>) -> Vec<Span> {
        spans(self.samples.iter().map(what))
    }

    /// Addresses, as levels of their buckets; the rest of a bucket that crosses 4096 bytes has the same level.
    fn addresses(&self, passes: impl Fn(&PortSample) -> Option<[u32; 2]>) -> Vec<Span> {
        let bytes = (self.configuration.max_bucket_beats() * self.configuration.beat_bytes()) as u32;
        self.spans(|sample| {
            let level = (passes(sample)?[0] / bytes + 1).ilog2();
            Some((level.to_string(), Shade::Plain))
        })
    }

    /// Beats that pass, as headers and bodies, identified by each burst's address.
    fn beats(
        &self,
        burst: impl Fn(&PortSample) -> Option<([u32; 2], u32)>,
        passes: impl Fn(&PortSample) -> bool,
    ) -> Vec<Span> {
        let (beat, bucket) =
            (self.configuration.beat_bytes() as u32, self.configuration.max_bucket_beats() as u32);
        let headers = self.configuration.header_beats() as u32;
        let mut coming = VecDeque::new();
        let of_moment = |sample: &PortSample| {
            if let Some((address, length)) = burst(sample) {
                coming.extend((0..=length).map(|nth| (address[0] / beat + nth) % bucket));
            }
            let nth = if passes(sample) { coming.pop_front() } else { None };
            nth.map(|nth: u32| (String::new(), if nth < headers { Shade::Header } else { Shade::Body }))
        };
        spans(self.samples.iter().map(of_moment))
    }
}

/// Joins cycles with the same activity. Spans with a label of a level stay apart.
fn spans(cycles: impl Iterator<Item = Option<(String, Shade)>>) -> Vec<Span> {
    let mut found: Vec<Span> = Vec::new();
    for (cycle, what) in cycles.enumerate() {
        let Some((label, shade)) = what else { continue };
        match found.last_mut() {
            Some(last) if last.to == cycle && last.label == label && last.shade == shade => last.to += 1,
            _ => found.push(Span { from: cycle, to: cycle + 1, label, shade }),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_in_which_the_same_goes_on_are_one_span() {
        let body = || Some((String::new(), Shade::Body));
        let level = |level: &str| Some((level.to_owned(), Shade::Body));
        let cycles = [body(), body(), None, body(), level("1"), level("2")];
        let found: Vec<(usize, usize)> =
            spans(cycles.into_iter()).iter().map(|span| (span.from, span.to)).collect();
        assert_eq!(found, [(0, 2), (3, 4), (4, 5), (5, 6)]);
    }
}
