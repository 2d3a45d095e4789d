//! The public shape of a trace: all of it but which leaf and which slot.

use super::recorder::{Request, TimedEvent, TraceEvent};
use ameles_core::schemes::ring::RingParameters;
use ameles_core::types::{Bucket, Level};
use std::time::Duration;

/// A moment without its random choices.
#[derive(Debug, PartialEq)]
pub enum Shape {
    /// The number of a read, its step, and the level of every slot.
    Reads(usize, u64, Vec<Level>),
    /// Any other moment shows nothing else.
    Other(TraceEvent),
}

/// The shape of a trace, with the time of everything and the step of each request.
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
