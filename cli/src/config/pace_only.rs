//! `--pace`, for a command that takes no other flag of the gateway.

use super::options::ServeConfig;
use crate::config::interval::Interval;
use clap::{ArgMatches, Args, Command, FromArgMatches};

const FLAG: &str = "pace";

/// `--pace` and nothing else of `[serve]`.
#[derive(Clone, Debug, Default)]
pub struct PaceOnly(Option<Interval>);

impl PaceOnly {
    /// Returns the table with only this value.
    pub fn serve(self) -> ServeConfig {
        ServeConfig { pace: self.0, ..ServeConfig::default() }
    }
}

impl Args for PaceOnly {
    fn augment_args(command: Command) -> Command {
        let all = ServeConfig::augment_args(Command::new("whole"));
        let pace = all.get_arguments().find(|option| option.get_id() == FLAG);
        command.arg(pace.expect("the gateway has the flag --pace"))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for PaceOnly {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(PaceOnly(matches.get_one(FLAG).copied()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
