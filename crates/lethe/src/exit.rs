//! Exit codes: what a script may rely on.

use crate::config::{ConfigError, SettingsError};
use crate::listen::ListenError;
use lethe_core::schemes::path::PathParametersError;
use lethe_core::schemes::ring::RingParametersError;
use lethe_core::store::UntrustedError;
use lethe_seal::key_file::KeyFileError;
use lethe_store::OpenError;
use lethe_vault::VaultError;
use std::process::ExitCode;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Done.
    Success = 0,
    /// Failed for a reason that has no code of its own.
    Failure = 1,
    /// A flag or the configuration is wrong. Nothing was touched.
    Usage = 2,
    /// The untrusted side returned what the trusted state contradicts.
    Tampering = 3,
    /// Another gateway has the vault.
    Locked = 4,
    /// The store cannot be reached, or refuses.
    StoreUnavailable = 5,
}

/// The codes, for the end of `lethe --help`.
pub const HELP: &str = "Exit codes:
  0  done
  1  failed
  2  a flag or the configuration is wrong
  3  the untrusted store was tampered with
  4  the vault is in use by another gateway
  5  the untrusted store cannot be reached, or refuses";

impl Exit {
    /// The code of an error: that of the first known cause, from the outermost on.
    pub fn of(error: &anyhow::Error) -> Exit {
        error.chain().find_map(known).unwrap_or(Exit::Failure)
    }
}

fn known(cause: &(dyn std::error::Error + 'static)) -> Option<Exit> {
    if cause.is::<ConfigError>() || cause.is::<SettingsError>() {
        return Some(Exit::Usage);
    }
    if let Some(error) = cause.downcast_ref::<ListenError>() {
        return Some(match error {
            ListenError::Taken { .. } => Exit::Failure,
            ListenError::Impossible { .. } => Exit::Usage,
        });
    }
    if let Some(error) = cause.downcast_ref::<VaultError>() {
        return Some(match error {
            tampering if tampering.is_tampering() => Exit::Tampering,
            VaultError::Receipt(_) => Exit::Tampering,
            VaultError::Locked | VaultError::Displaced { .. } | VaultError::TakeoverNeeded(_) => Exit::Locked,
            VaultError::Unavailable(_) | VaultError::Refused(_) | VaultError::StoreEmpty => {
                Exit::StoreUnavailable
            }
            VaultError::Parameters(_) | VaultError::NotAReceipt(_) => Exit::Usage,
            _ => Exit::Failure,
        });
    }
    if let Some(error) = cause.downcast_ref::<OpenError>() {
        let is_typing = matches!(error, OpenError::BadLocation { .. });
        return Some(if is_typing { Exit::Usage } else { Exit::StoreUnavailable });
    }
    if matches!(cause.downcast_ref::<KeyFileError>(), Some(KeyFileError::Unset(_))) {
        return Some(Exit::Usage);
    }
    if cause.is::<RingParametersError>() || cause.is::<PathParametersError>() {
        return Some(Exit::Usage);
    }
    match cause.downcast_ref::<UntrustedError>()? {
        UntrustedError::Missing(_) | UntrustedError::Truncated(_) => Some(Exit::Tampering),
        _ => Some(Exit::StoreUnavailable),
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lethe_core::store::BucketVersion;
    use lethe_core::words::{Bucket, Version};

    #[test]
    fn a_missing_bucket_is_tampering_however_deep_it_lies() {
        let version = Version { epoch: 1, counter: 1 };
        let missing = UntrustedError::Missing(BucketVersion { bucket: Bucket(5), version });
        let error = anyhow::Error::new(missing).context("reading").context("checking the vault");
        assert_eq!(Exit::of(&error), Exit::Tampering);
    }

    #[test]
    fn a_wrong_setting_is_a_usage_error() {
        assert_eq!(Exit::of(&SettingsError::EndpointAlone.into()), Exit::Usage);
    }

    #[test]
    fn an_unreachable_store_has_its_own_code() {
        let error = UntrustedError::Unavailable("no route".into());
        assert_eq!(Exit::of(&error.into()), Exit::StoreUnavailable);
    }

    #[test]
    fn the_help_names_every_code() {
        for exit in
            [Exit::Success, Exit::Failure, Exit::Usage, Exit::Tampering, Exit::Locked, Exit::StoreUnavailable]
        {
            assert!(HELP.contains(&format!("\n  {}  ", exit as u8)));
        }
        assert_eq!(HELP.lines().count(), 1 + 6);
    }
}
