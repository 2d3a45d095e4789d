//! Tests of the schemes, in one program: each would link the same libraries again.

#![allow(unreachable_pub, reason = "a test binary has no outside")]

mod circuit;
mod conformance;
mod model;
mod obliviousness;
mod pages;
mod parallel;
mod raw;
mod replay;
mod ring;
mod scheduling;
