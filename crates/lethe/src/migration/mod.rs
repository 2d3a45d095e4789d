//! The vault that is to take the place of this one, as the command line knows it: where it is, which shape it has, and
//! how its trusted disk takes the place of the old one. What happens to blocks and rows is `lethe_vault`'s.

pub mod flags;
pub mod note;
pub mod shape;
pub mod switch;
