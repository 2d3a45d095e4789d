//! The public shape of a trace: everything but which leaf and which slot.

use super::intercepted::Request;
use super::recorder::{TimedEvent, TraceEvent};
use ameles_core::schemes::ring::RingParameters;
use ameles_core::types::{Bucket, Level};
use std::time::Duration;

/// An event without its random choices.
#[derive(Debug, PartialEq)]
pub enum Shape {
    /// A read with its number, its step, and the level of every slot.
    Reads(usize, u64, Vec<Level>),
    /// Any other event; it contains no random choice.
    Other(TraceEvent),
}

/// The shape of a trace, with the time of every event and the step of each request.
pub fn shape(parameters: &RingParameters, trace: &[TimedEvent]) -> Vec<(Duration, Shape)> {
    let tree = parameters.geometry();
    let level = |bucket: Bucket| tree.level_of(bucket);
    let shape = |event: &TraceEvent| match event {
        TraceEvent::Asks { nth, step, request: Request::Read(places), .. } => {
            Shape::Reads(*nth, *step, places.iter().map(|at| level(at.slot.bucket)).collect())
        }
        other => Shape::Other(other.clone()),
    };
    trace.iter().map(|(at, event)| (*at, shape(event))).collect()
}
