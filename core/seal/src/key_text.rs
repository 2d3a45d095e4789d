//! A master key as text: 64 hexadecimal digits, or base64 of 32 bytes.

use crate::master_key::{MASTER_KEY_BYTES, MasterKey};
use alloc::string::String;
use base64ct::{Base64, Base64Unpadded, Base64Url, Base64UrlUnpadded, Encoding};
use zeroize::Zeroizing;

/// The error for a text that is not a master key. It does not repeat the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a master key is 64 hexadecimal digits or base64 of 32 bytes; this text is {length} characters long and is neither"
)]
pub struct NotAKey {
    /// The number of characters of the text, without the white space around it.
    pub length: usize,
}

/// Parses a master key. White space around it is ignored; base64 may be of the URL kind and may lack its padding.
///
/// # Errors
/// [`NotAKey`].
pub fn parse(text: &str) -> Result<MasterKey, NotAKey> {
    let text = text.trim();
    let refusal = NotAKey { length: text.chars().count() };
    let mut bytes = Zeroizing::new([0; MASTER_KEY_BYTES]);
    let decoded = match text.len() {
        64 => base16ct::mixed::decode(text, &mut *bytes).is_ok_and(is_whole),
        44 => decodes::<Base64>(text, &mut bytes) || decodes::<Base64Url>(text, &mut bytes),
        43 => decodes::<Base64Unpadded>(text, &mut bytes) || decodes::<Base64UrlUnpadded>(text, &mut bytes),
        _ => false,
    };
    if !decoded {
        return Err(refusal);
    }
    Ok(MasterKey::take(&mut bytes))
}

/// Writes a master key as 64 hexadecimal digits. Wiped when dropped.
pub fn write(key: &MasterKey) -> Zeroizing<String> {
    Zeroizing::new(base16ct::lower::encode_string(key.expose()))
}

fn decodes<E: Encoding>(text: &str, bytes: &mut [u8; MASTER_KEY_BYTES]) -> bool {
    E::decode(text, bytes).is_ok_and(is_whole)
}

fn is_whole(decoded: &[u8]) -> bool {
    decoded.len() == MASTER_KEY_BYTES
}
