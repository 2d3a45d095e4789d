//! The workloads of the thesis, as they come with the lab.

use super::error::ThesisError;
use crate::cosbench::Workload;
use crate::sizes::Folders;
use std::fs;
use std::path::Path;

/// The workloads by their letters, as COSBench's XML.
pub(super) const WORKLOADS: [(&str, &str); 5] = [
    ("A", include_str!("../../workloads/a.xml")),
    ("B", include_str!("../../workloads/b.xml")),
    ("C", include_str!("../../workloads/c.xml")),
    ("D", include_str!("../../workloads/d.xml")),
    ("E", include_str!("../../workloads/e.xml")),
];

/// Reads the workload of a letter, or that of a file of COSBench's XML. Returns the name that it has in tables, too.
pub(super) fn read(name: &str) -> Result<(String, Workload), ThesisError> {
    let letter = name.to_uppercase();
    if let Some((_, text)) = WORKLOADS.iter().find(|(known, _)| *known == letter) {
        let workload = parse(name, text)?;
        return Ok((letter, workload));
    }
    let path = Path::new(name);
    if path.extension().is_none_or(|extension| extension != "xml") {
        let known = format!(
            "{}, or a file of COSBench that ends with .xml",
            WORKLOADS.map(|(name, _)| name).join(", ")
        );
        return Err(ThesisError::Unknown { what: "workload", name: name.to_owned(), known });
    }
    let text = fs::read_to_string(path).map_err(|error| ThesisError::File(path.to_owned(), error))?;
    let workload = parse(name, &text)?;
    Ok((workload.name.clone(), workload))
}

fn parse(name: &str, text: &str) -> Result<Workload, ThesisError> {
    Workload::parse(text).map_err(|error| ThesisError::Workload(name.to_owned(), error))
}

/// The sizes of the files that they write.
pub(super) fn folders() -> Folders {
    include_str!("../../workloads/sizes.toml").parse().expect("a test reads the sizes that are compiled in")
}
