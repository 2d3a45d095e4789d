//! Times in Swift's forms.

use crate::catalogue::UnixMillis;
use std::time::SystemTime;
use time::OffsetDateTime;
use time::format_description::BorrowedFormatItem;
use time::macros::format_description;

const ISO: &[BorrowedFormatItem<'_>] =
    format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:3]000");

/// Formats `Sun, 06 Nov 1994 08:49:37 GMT`, rounded up as in Swift, so that nothing is newer than it says.
pub(super) fn http_date(time: UnixMillis) -> String {
    httpdate::fmt_http_date(UnixMillis(time.0.next_multiple_of(1000)).into())
}

/// Parses an HTTP date in any of its three forms.
pub(super) fn read_http_date(text: &str) -> Option<UnixMillis> {
    let since = httpdate::parse_http_date(text).ok()?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    Some(UnixMillis(u64::try_from(since.as_millis()).ok()?))
}

/// Formats `1389727543.65372`: seconds.
pub(super) fn timestamp(time: UnixMillis) -> String {
    format!("{}.{:03}00", time.0 / 1000, time.0 % 1000)
}

/// Formats `2014-01-14T19:25:43.653000`, as in listings.
pub(super) fn iso(time: UnixMillis) -> String {
    OffsetDateTime::from(SystemTime::from(time)).format(ISO).unwrap_or_default()
}

/// Formats `2014-01-14T19:25:43.653000Z`, as in Keystone.
pub(super) fn iso_utc(time: UnixMillis) -> String {
    format!("{}Z", iso(time))
}

/// Parses seconds since 1970, or `2014-01-14T19:25:43Z`.
pub(super) fn read_seconds_or_iso(text: &str) -> Option<u64> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse().ok();
    }
    let format = &time::format_description::well_known::Iso8601::PARSING;
    let time = OffsetDateTime::parse(text, format).ok()?;
    u64::try_from(time.unix_timestamp()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_swift_writes_them() {
        let time = UnixMillis(1_389_727_543_653);
        assert_eq!(timestamp(time), "1389727543.65300");
        assert_eq!(iso(time), "2014-01-14T19:25:43.653000");
        assert_eq!(http_date(time), "Tue, 14 Jan 2014 19:25:44 GMT");
        assert_eq!(http_date(UnixMillis(1_389_727_543_000)), "Tue, 14 Jan 2014 19:25:43 GMT");
    }

    #[test]
    fn times_are_read_in_every_form() {
        for text in
            ["Tue, 14 Jan 2014 19:25:43 GMT", "Tuesday, 14-Jan-14 19:25:43 GMT", "Tue Jan 14 19:25:43 2014"]
        {
            assert_eq!(read_http_date(text), Some(UnixMillis(1_389_727_543_000)), "{text}");
        }
        assert_eq!(read_http_date("soon"), None);
        for text in ["1389727543", "2014-01-14T19:25:43Z"] {
            assert_eq!(read_seconds_or_iso(text), Some(1_389_727_543), "{text}");
        }
        for text in ["", "-5", "1e3", "99999999999999999999", "2014-01-14"] {
            assert_eq!(read_seconds_or_iso(text), None, "{text}");
        }
    }
}
