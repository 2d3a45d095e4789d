//! The dollars of a workload at today's prices, or at chosen ones.

use super::row::Row;
use crate::prices::Provider;
use crate::report::Sheet;

/// The dollars of a workload's rows at each provider, and as a multiple of the run without an ORAM.
pub(super) fn dollar_sheet(rows: &[Row], providers: &[Provider]) -> Sheet {
    let workload = rows.first().map_or("", |row| row.workload.as_str());
    let columns =
        providers.iter().flat_map(|Provider { name, .. }| [format!("{name}, $"), format!("{name}, ×")]);
    let header = ["scheme", "block, KiB"].map(str::to_owned).into_iter().chain(columns);
    let dates = providers.iter().map(|Provider { name, prices }| format!("{name} is {prices}"));
    let caption = format!("Dollars, storage not included: {}.", dates.collect::<Vec<_>>().join("; "));
    let mut sheet = Sheet::new(&format!("{}-dollars", workload.to_lowercase()), &caption, header);
    if providers.is_empty() {
        return sheet;
    }
    for row in rows {
        let mut cells = row.names();
        for provider in providers {
            let times = row.times_dollars(provider);
            cells.push(format!("{:.4}", row.dollars(provider)));
            cells.push(times.map_or_else(|| "–".to_owned(), |times| format!("{times:.1}")));
        }
        sheet.rows.push(cells);
    }
    sheet
}

#[cfg(test)]
mod tests {
    use super::super::{Options, run};
    use super::*;
    use crate::bench::Silent;

    #[test]
    fn dollars_of_today_are_what_one_adds_up_by_hand() {
        let schemes = vec!["blocks".to_owned()];
        let options =
            Options { workloads: vec!["D".to_owned()], schemes, quick: true, ..Options::standard() };
        let row = run(&options, &Silent).unwrap().rows.remove(1);
        let sheet = dollar_sheet(std::slice::from_ref(&row), &options.prices);
        let usage = row.usage();
        // R2: bytes that leave are free.
        let r2 = usage.gets() as f64 * 0.00036 / 1e3 + usage.puts() as f64 * 0.0045 / 1e3;
        assert_eq!(
            sheet.header[2..],
            ["r2-standard, $", "r2-standard, ×", "s3-standard, $", "s3-standard, ×"]
        );
        assert_eq!(sheet.rows[0][2], format!("{r2:.4}"));
        let s3 = usage.gets() as f64 * 0.0004 / 1e3
            + usage.puts() as f64 * 0.005 / 1e3
            + usage.bytes_down as f64 / f64::from(1 << 30) * 0.09;
        assert_eq!(sheet.rows[0][4], format!("{s3:.4}"));
        assert!(sheet.caption.contains("Cloudflare R2 Standard (prices of 2026-08)"), "{}", sheet.caption);
    }
}
