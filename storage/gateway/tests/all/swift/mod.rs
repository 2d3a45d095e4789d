//! The Swift server over loopback, in raw HTTP.

mod accesses_per_verb;
mod authorisation;
mod containers;
mod large;
mod links;
mod logins;
mod objects;
mod test_server;
mod versions;
