//! The figures for programs: a line for each run and seed.

use super::published::Published;
use super::row::{self, RELATIVE, Row, TRAFFIC};
use crate::prices;
use crate::report::field;
use std::io::{self, Write};

/// Writes the whole file. A figure that the thesis does not print is empty.
///
/// # Errors
/// The errors of the writer.
pub(super) fn write(into: &mut impl Write, rows: &[Row], printed: &Published) -> io::Result<()> {
    let providers = prices::thesis_providers();
    let columns = || TRAFFIC.iter().chain(&RELATIVE);
    let mut header: Vec<String> =
        ["workload", "scheme", "block_kib", "seed", "accesses", "period", "emergencies"]
            .map(str::to_owned)
            .into();
    header.extend(columns().flat_map(|column| [column.name.to_owned(), format!("{}_thesis", column.name)]));
    header.extend(providers.iter().map(|provider| format!("dollars_{}", provider.name.to_lowercase())));
    header.push("dollars_thesis".to_owned());
    writeln!(into, "{}", header.join(","))?;
    for row in rows {
        let theirs = row::printed_line(row, printed);
        let theirs = |name| number(theirs.and_then(|line| line.number(name)));
        let mut fields = vec![
            field(&row.workload),
            row.scheme.to_owned(),
            row.block_kib.map_or_else(String::new, |kib| kib.to_string()),
            row.seed.to_string(),
            row.result.accesses.to_string(),
            row.result.period.to_string(),
            row.result.emergencies.to_string(),
        ];
        for column in columns() {
            fields.extend([number(Some((column.of)(row))), theirs(column.printed)]);
        }
        fields.extend(providers.iter().map(|provider| format!("{:.6}", row.dollars(provider))));
        fields.push(theirs("cost_usd"));
        writeln!(into, "{}", fields.join(","))?;
    }
    into.flush()
}

fn number(number: Option<f64>) -> String {
    number.filter(|number| number.is_finite()).map_or_else(String::new, |number| format!("{number:.4}"))
}
