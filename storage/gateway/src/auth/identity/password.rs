//! Passwords, stored as Argon2id hashes.

use argon2::password_hash::{self, PasswordHasher, PasswordVerifier, SaltString};
use argon2::{Algorithm, Argon2, Params, Version};
use std::fmt;
use std::str::FromStr;

/// The memory of one hash in KiB, its passes and its lanes: the minimum of OWASP's password cheat sheet.
const MEMORY_KIB: u32 = 19 * 1024;
const PASSES: u32 = 2;
const LANES: u32 = 1;
/// The maximal memory of a hash that another program made: a file must not make a login take all memory.
const MAX_MEMORY_KIB: u32 = 256 * 1024;
const MAX_PASSES: u32 = 16;

/// The reason why a hash cannot be computed or used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PasswordError {
    /// The text is not a PHC string of Argon2id.
    #[error("this is not an Argon2id hash in PHC form (`$argon2id$v=19$m=...,t=...,p=...$salt$hash`)")]
    NotAHash,
    /// The hash costs more than a login may take.
    #[error(
        "this Argon2id hash asks for {memory_kib} KiB and {passes} passes: at most {MAX_MEMORY_KIB} KiB and {MAX_PASSES} \
         passes are accepted"
    )]
    TooCostly {
        /// Memory in KiB.
        memory_kib: u32,
        /// The number of passes.
        passes: u32,
    },
    /// The system gave no random numbers for a salt.
    #[error("the system returned no random numbers for a salt")]
    NoRandomness,
    /// The password is longer than Argon2 allows.
    #[error("the password is too long")]
    TooLong,
}

/// An Argon2id hash of a password, with its salt and costs, as a PHC string. It is secret: anyone who has it can test
/// guessed passwords offline.
#[derive(Clone, PartialEq, Eq)]
pub struct PasswordHash(Box<str>);

impl PasswordHash {
    /// Hashes a password with a new salt. Takes 19 MiB of memory and some ten milliseconds.
    ///
    /// # Errors
    /// [`PasswordError::NoRandomness`]; [`PasswordError::TooLong`].
    pub fn of(password: &[u8]) -> Result<Self, PasswordError> {
        let params = Params::new(MEMORY_KIB, PASSES, LANES, None).map_err(|_| PasswordError::NotAHash)?;
        PasswordHash::with(params, password)
    }

    /// Returns a hash of no user, with the costs of another hash, or with the default ones.
    ///
    /// # Errors
    /// [`PasswordError::NoRandomness`].
    pub(super) fn dummy_as_costly_as(other: Option<&PasswordHash>) -> Result<Self, PasswordError> {
        match other.and_then(PasswordHash::params) {
            Some(params) => PasswordHash::with(params, b""),
            None => PasswordHash::of(b""),
        }
    }

    /// Returns the cost of a check in KiB times passes.
    pub(super) fn cost(&self) -> u64 {
        self.params().map_or(0, |params| u64::from(params.m_cost()) * u64::from(params.t_cost()))
    }

    fn params(&self) -> Option<Params> {
        Params::try_from(&password_hash::PasswordHash::new(&self.0).ok()?).ok()
    }

    fn with(params: Params, password: &[u8]) -> Result<Self, PasswordError> {
        let mut salt = [0; 16];
        getrandom::fill(&mut salt).map_err(|_| PasswordError::NoRandomness)?;
        let salt = SaltString::encode_b64(&salt).map_err(|_| PasswordError::NoRandomness)?;
        let hash = Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
            .hash_password(password, &salt)
            .map_err(|_| PasswordError::TooLong)?;
        Ok(PasswordHash(hash.to_string().into()))
    }

    /// Returns the PHC string.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether this is the password. Takes the same time in both cases, and compares in constant time.
    pub(super) fn verifies(&self, password: &[u8]) -> bool {
        // The costs are those of the hash; `FromStr` has bounded them.
        password_hash::PasswordHash::new(&self.0)
            .is_ok_and(|hash| Argon2::default().verify_password(password, &hash).is_ok())
    }
}

impl FromStr for PasswordHash {
    type Err = PasswordError;

    fn from_str(text: &str) -> Result<Self, PasswordError> {
        let hash = password_hash::PasswordHash::new(text).map_err(|_| PasswordError::NotAHash)?;
        if hash.algorithm != argon2::ARGON2ID_IDENT || hash.hash.is_none() || hash.salt.is_none() {
            return Err(PasswordError::NotAHash);
        }
        let params = Params::try_from(&hash).map_err(|_| PasswordError::NotAHash)?;
        let (memory_kib, passes) = (params.m_cost(), params.t_cost());
        if memory_kib > MAX_MEMORY_KIB || passes > MAX_PASSES {
            return Err(PasswordError::TooCostly { memory_kib, passes });
        }
        Ok(PasswordHash(text.into()))
    }
}

impl fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PasswordHash(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_password_fits_its_hash_and_no_other_does() {
        let hash = PasswordHash::of(b"correct horse").unwrap();
        assert!(hash.verifies(b"correct horse"));
        assert!(!hash.verifies(b"correct horsf"));
        assert!(!hash.verifies(b""));
        let read: PasswordHash = hash.as_str().parse().unwrap();
        assert!(read.verifies(b"correct horse"));
    }

    #[test]
    fn a_dummy_hash_costs_what_another_hash_costs() {
        let costly = PasswordHash::with(Params::new(32, 5, 2, None).unwrap(), b"x").unwrap();
        let dummy_hash = PasswordHash::dummy_as_costly_as(Some(&costly)).unwrap();
        assert!(dummy_hash.as_str().starts_with("$argon2id$v=19$m=32,t=5,p=2$"), "{}", dummy_hash.as_str());
        assert_eq!(dummy_hash.cost(), costly.cost());
        assert!(!dummy_hash.verifies(b"x"));
        let usual = PasswordHash::dummy_as_costly_as(None).unwrap();
        assert_eq!(usual.cost(), PasswordHash::of(b"x").unwrap().cost());
    }

    #[test]
    fn one_password_has_two_hashes() {
        assert_ne!(PasswordHash::of(b"x").unwrap(), PasswordHash::of(b"x").unwrap());
    }

    #[test]
    fn the_hash_is_argon2id_with_the_costs_that_the_documentation_gives() {
        let hash = PasswordHash::of(b"x").unwrap();
        assert!(hash.as_str().starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{}", hash.as_str());
    }

    #[test]
    fn what_is_no_argon2id_hash_or_costs_too_much_is_refused() {
        for text in [
            "",
            "secret",
            "$argon2i$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
            "$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA",
            "$argon2id$v=19$m=19456,t=2,p=1",
        ] {
            assert_eq!(text.parse::<PasswordHash>(), Err(PasswordError::NotAHash), "{text}");
        }
        let costly = "$argon2id$v=19$m=1000000,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
        assert!(matches!(costly.parse::<PasswordHash>(), Err(PasswordError::TooCostly { .. })));
    }

    #[test]
    fn the_hash_is_not_in_the_debug_output() {
        let hash = PasswordHash::of(b"x").unwrap();
        assert!(!format!("{hash:?}").contains("argon2"));
    }
}
