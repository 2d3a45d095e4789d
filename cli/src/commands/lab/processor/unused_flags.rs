//! Flags that none of the parts uses.

use ameles_lab::processor::Part;

/// A flag that was given, in words, and the parts that use it.
pub(super) struct Given {
    pub(super) flag: String,
    pub(super) used_by: &'static [Part],
}

/// The sentence that refuses flags which none of the parts uses, if there are any.
pub(super) fn refusal(parts: &[Part], given: &[Given]) -> Option<String> {
    let is_unused = |given: &&Given| !given.used_by.iter().any(|part| parts.contains(part));
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
    fn a_flag_that_no_part_uses_is_refused_and_the_sentence_says_what_to_leave_out() {
        let flag = |flag: &str, used_by| Given { flag: flag.to_owned(), used_by };
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
