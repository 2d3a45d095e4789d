//! Refuses flags that no chosen part uses.

use ameles_lab::processor::Part;

/// A given flag, as text, and the parts that use it.
pub(super) struct GivenFlag {
    pub(super) flag: String,
    pub(super) used_by: &'static [Part],
}

/// Returns an error message for flags that no part uses, if there are any.
pub(super) fn refusal(parts: &[Part], given: &[GivenFlag]) -> Option<String> {
    let is_unused = |given: &&GivenFlag| !given.used_by.iter().any(|part| parts.contains(part));
    let unused: Vec<&str> = given.iter().filter(is_unused).map(|given| given.flag.as_str()).collect();
    let (last, others) = unused.split_last()?;
    let names = parts.iter().map(Part::to_string).collect::<Vec<_>>().join(",");
    let (flags, them) = match others {
        [] => ((*last).to_owned(), "it"),
        others => (format!("{} and {last}", others.join(", ")), "them"),
    };
    Some(format!("--part {names} does not use {flags}: leave {them} out, or add the part figures"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_that_no_part_uses_is_refused_with_a_message_that_names_it() {
        let flag = |flag: &str, used_by| GivenFlag { flag: flag.to_owned(), used_by };
        let given = [
            flag("--program", &[Part::Figures]),
            flag("--pace", &[Part::Figures, Part::Scaling]),
            flag("--scheme", &[Part::Figures]),
        ];
        assert_eq!(
            refusal(&[Part::Utilisation], &given).unwrap(),
            "--part utilisation does not use --program, --pace and --scheme: leave them out, or add the part figures"
        );
        assert_eq!(
            refusal(&[Part::Utilisation, Part::Scaling], &given[..2]).unwrap(),
            "--part utilisation,scaling does not use --program: leave it out, or add the part figures"
        );
        assert_eq!(refusal(&[Part::Figures, Part::Scaling], &given), None);
        assert_eq!(refusal(&[Part::Scaling], &given[1..2]), None);
    }
}
