//! The exit codes, which are stable for scripts.

use crate::config::{ConfigError, SettingsError};
use crate::runtime::interrupt::Interrupted;
use crate::runtime::listen::ListenError;
use crate::runtime::logging::LoggingError;
use crate::users::UserError;
use ameles_core::store::UntrustedError;
use ameles_gateway::{DeviceError, TlsError};
use ameles_seal::key_file::KeyFileError;
use ameles_store::{EtcdError, OpenError, PriceError};
use ameles_vault::VaultError;
use std::process::ExitCode;

/// The exit code of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Success.
    Success = 0,
    /// Failure for a reason without its own code.
    Failure = 1,
    /// A flag or the configuration is wrong. Nothing was changed.
    Usage = 2,
    /// The untrusted side returned data that contradicts the trusted state.
    Tampering = 3,
    /// Another gateway has the vault.
    Locked = 4,
    /// The store cannot be reached, refuses requests, or holds no vault.
    StoreUnavailable = 5,
    /// Ctrl-C before the command was done, or before all requests to a server were. Files that it had begun to create
    /// are removed.
    Interrupted = 130,
}

/// The exit codes in `ameles --help`.
pub const HELP: &str = "Exit codes:
  0    success
  1    failure
  2    a flag or the configuration is wrong
  3    the untrusted store was tampered with
  4    the vault is in use by another gateway
  5    the untrusted store cannot be reached, is full, refuses requests, or holds no vault
  130  interrupted by Ctrl-C";

impl Exit {
    /// Returns the code of an error: that of its first known cause, from the outermost one.
    pub fn of(error: &anyhow::Error) -> Exit {
        error.chain().find_map(code_of).unwrap_or(Exit::Failure)
    }
}

type Cause = dyn std::error::Error + 'static;

/// Returns the code of a cause, if it has one.
fn code_of(cause: &Cause) -> Option<Exit> {
    usage_code(cause).or_else(|| vault_code(cause)).or_else(|| file_code(cause)).or_else(|| store_code(cause))
}

/// Returns the code of errors of flags, the configuration and signals.
fn usage_code(cause: &Cause) -> Option<Exit> {
    if cause.is::<ConfigError>()
        || cause.is::<SettingsError>()
        || cause.is::<PriceError>()
        || cause.is::<TlsError>()
        || cause.is::<EtcdError>()
    {
        return Some(Exit::Usage);
    }
    if cause.is::<Interrupted>() {
        return Some(Exit::Interrupted);
    }
    if let Some(error) = cause.downcast_ref::<LoggingError>() {
        return Some(match error {
            LoggingError::Level { .. } => Exit::Usage,
            LoggingError::AlreadySet => Exit::Failure,
        });
    }
    let error = cause.downcast_ref::<ListenError>()?;
    Some(match error {
        ListenError::Taken { .. } => Exit::Failure,
        ListenError::Impossible { .. } => Exit::Usage,
    })
}

/// Returns the code of errors of the vault and of the gateway's device.
fn vault_code(cause: &Cause) -> Option<Exit> {
    if let Some(error) = cause.downcast_ref::<VaultError>() {
        return Some(match error {
            tampering if tampering.is_tampering() => Exit::Tampering,
            VaultError::Receipt(_) => Exit::Tampering,
            VaultError::Locked
            | VaultError::Copied(_)
            | VaultError::Resumed
            | VaultError::Displaced { .. }
            | VaultError::StaleTrustedState(_)
            | VaultError::TakeoverNeeded(_) => Exit::Locked,
            VaultError::Unavailable(_)
            | VaultError::Refused(_)
            | VaultError::StoreFull
            | VaultError::LeaseExpired
            | VaultError::StoreEmpty => Exit::StoreUnavailable,
            VaultError::Parameters(_) | VaultError::NotAReceipt(_) | VaultError::AlreadyExists(_) => {
                Exit::Usage
            }
            _ => Exit::Failure,
        });
    }
    let ameles_gateway::OpenError::Device(error) = cause.downcast_ref()? else { return None };
    Some(match error {
        DeviceError::Tampered(_) => Exit::Tampering,
        DeviceError::Unavailable(_) | DeviceError::StoreFull => Exit::StoreUnavailable,
        DeviceError::DiskFull | DeviceError::Full | DeviceError::RowsFull | DeviceError::Closed => {
            Exit::Failure
        }
    })
}

/// Returns the code of errors of key files and user files.
fn file_code(cause: &Cause) -> Option<Exit> {
    if let Some(error) = cause.downcast_ref::<KeyFileError>() {
        return Some(match error {
            KeyFileError::Io { doing: "create", .. } => Exit::Failure,
            // The key file holds no key, or does not exist.
            _ => Exit::Usage,
        });
    }
    let error = cause.downcast_ref::<UserError>()?;
    Some(match error {
        UserError::File(_) => Exit::Failure,
        _ => Exit::Usage,
    })
}

/// Returns the code of errors of the untrusted store.
fn store_code(cause: &Cause) -> Option<Exit> {
    if let Some(error) = cause.downcast_ref::<OpenError>() {
        return Some(match error {
            OpenError::BadLocation { .. }
            | OpenError::UnknownScheme { .. }
            | OpenError::UnknownOption { .. }
            | OpenError::PlainHttp
            | OpenError::BadEndpoint { .. }
            | OpenError::BadValue { .. }
            | OpenError::NotAFolder { .. }
            | OpenError::Options(_) => Exit::Usage,
            OpenError::NoFolder { .. }
            | OpenError::Folder { .. }
            | OpenError::NoBucket { .. }
            | OpenError::Denied { .. }
            | OpenError::NoAccessKey { .. }
            | OpenError::Unreachable { .. } => Exit::StoreUnavailable,
        });
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
    use ameles_core::store::BucketVersion;
    use ameles_core::types::{Bucket, Version};
    use ameles_vault::ExistsIn;

    #[test]
    fn a_missing_bucket_is_tampering_at_any_depth_of_causes() {
        let version = Version { epoch: 1, counter: 1 };
        let missing = UntrustedError::Missing(BucketVersion { bucket: Bucket(5), version });
        let error = anyhow::Error::new(missing).context("reading").context("checking the vault");
        assert_eq!(Exit::of(&error), Exit::Tampering);
    }

    #[test]
    fn a_wrong_setting_is_a_usage_error() {
        assert_eq!(Exit::of(&SettingsError::EndpointWithoutStore("--endpoint".into()).into()), Exit::Usage);
        let level = LoggingError::Level { name: "--log".into(), level: "loud".into() };
        assert_eq!(Exit::of(&level.into()), Exit::Usage);
        let prices = "[".parse::<ameles_store::PriceTable>().unwrap_err();
        assert_eq!(Exit::of(&anyhow::Error::new(prices).context("--prices")), Exit::Usage);
        let receipt = "nonsense".parse::<ameles_vault::Receipt>().unwrap_err();
        assert_eq!(Exit::of(&anyhow::Error::new(receipt).context("--expect")), Exit::Usage);
        assert_eq!(Exit::of(&KeyFileError::Unset("AMELES_KEY".into()).into()), Exit::Usage);
    }

    #[test]
    fn every_failure_of_a_vault_has_the_code_that_the_documentation_gives_it() {
        for (error, exit) in [
            (VaultError::NoVault, Exit::Failure),
            (VaultError::AlreadyExists(ExistsIn::Store), Exit::Usage),
            (VaultError::AlreadyExists(ExistsIn::TrustedFolder), Exit::Usage),
            (VaultError::NotAVault, Exit::Failure),
            (VaultError::NewerFormat { found: 2, known: 1 }, Exit::Failure),
            (VaultError::WrongKey, Exit::Failure),
            (VaultError::OtherVault, Exit::Failure),
            (VaultError::DiskFull, Exit::Failure),
            (VaultError::LocalCopy("".into()), Exit::Failure),
            (VaultError::Damaged("".into()), Exit::Failure),
            (VaultError::RestoreUnfinished, Exit::Failure),
            (VaultError::NotAReceipt(String::new()), Exit::Usage),
            (VaultError::Tampered("".into()), Exit::Tampering),
            (VaultError::HeaderVanished, Exit::Tampering),
            (VaultError::Receipt(String::new()), Exit::Tampering),
            (VaultError::Locked, Exit::Locked),
            (VaultError::Displaced { ours: 1, theirs: 2 }, Exit::Locked),
            (VaultError::Copied(String::new()), Exit::Locked),
            (VaultError::Resumed, Exit::Locked),
            (VaultError::TakeoverNeeded(1), Exit::Locked),
            (VaultError::StaleTrustedState(String::new()), Exit::Locked),
            (VaultError::StoreEmpty, Exit::StoreUnavailable),
            (VaultError::LeaseExpired, Exit::StoreUnavailable),
            (VaultError::Unavailable("".into()), Exit::StoreUnavailable),
            (VaultError::Refused("".into()), Exit::StoreUnavailable),
            (VaultError::StoreFull, Exit::StoreUnavailable),
        ] {
            assert_eq!(Exit::of(&error.clone().into()), exit, "{error}");
        }
    }

    #[test]
    fn a_full_trusted_disk_has_the_same_code_from_the_gateway() {
        let error = ameles_gateway::OpenError::Device(DeviceError::DiskFull);
        assert_eq!(Exit::of(&error.into()), Exit::Failure);
    }

    #[test]
    fn an_unreachable_store_has_its_own_code() {
        let error = UntrustedError::Unavailable("no route".into());
        assert_eq!(Exit::of(&error.into()), Exit::StoreUnavailable);
    }

    #[test]
    fn the_help_names_every_code() {
        let all = [
            Exit::Success,
            Exit::Failure,
            Exit::Usage,
            Exit::Tampering,
            Exit::Locked,
            Exit::StoreUnavailable,
            Exit::Interrupted,
        ];
        for exit in all {
            assert!(HELP.contains(&format!("\n  {:<5}", exit as u8)));
        }
        assert_eq!(HELP.lines().count(), 1 + all.len());
    }
}
