//! The names of the pieces of checkpoints in the store.

/// The name of a piece of a shipped checkpoint.
pub(crate) fn piece_name(epoch: u32, number: u64, piece: u64) -> String {
    format!("{PREFIX}{epoch:08x}-{number:016x}-{piece:08x}")
}

/// The prefix of the names of pieces.
pub(crate) const PREFIX: &str = "piece/";

/// The epoch and the number of the checkpoint in a piece's name, if [`piece_name`] makes exactly this name.
pub(crate) fn parse_piece_name(name: &str) -> Option<(u32, u64)> {
    let mut parts = name.strip_prefix(PREFIX)?.splitn(3, '-');
    let epoch = u32::from_str_radix(parts.next()?, 16).ok()?;
    let number = u64::from_str_radix(parts.next()?, 16).ok()?;
    let piece = u64::from_str_radix(parts.next()?, 16).ok()?;
    (piece_name(epoch, number, piece) == name).then_some((epoch, number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_name_as_the_vault_gives_it_is_a_pieces() {
        assert_eq!(parse_piece_name(&piece_name(3, 18, 2)), Some((3, 18)));
        for other in
            ["piece/3-12-0", "piece/00000003-0000000000000012", "piece/00000003-0000000000000012-+0000000"]
        {
            assert_eq!(parse_piece_name(other), None, "{other}");
        }
    }
}
