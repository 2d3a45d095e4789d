//! Numbers of bytes, for people to read.

/// The units, each 1024 times the previous one.
const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

/// Formats a number of bytes in the unit in which it is below a thousand, with at most three significant digits.
pub(super) fn bytes(count: u64) -> String {
    let (mut value, mut unit) = (count as f64, 0);
    while value >= 999.5 && unit + 1 < UNITS.len() {
        (value, unit) = (value / 1024.0, unit + 1);
    }
    let decimals = match value {
        small if small < 9.995 => 2,
        middle if middle < 99.95 => 1,
        _ => 0,
    };
    let written = format!("{value:.decimals$}");
    let digits = match written.contains('.') {
        true => written.trim_end_matches('0').trim_end_matches('.'),
        false => &written,
    };
    format!("{digits} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_three_significant_digits_and_their_unit() {
        for (count, written) in [
            (0, "0 B"),
            (999, "999 B"),
            (1000, "0.98 KiB"),
            (4096, "4 KiB"),
            (320_000, "312 KiB"),
            (2 << 20, "2 MiB"),
            (200_000_000 << 6, "11.9 GiB"),
            (1023 << 20, "1 GiB"),
            (u64::MAX, "16384 PiB"),
        ] {
            assert_eq!(bytes(count), written);
        }
    }
}
