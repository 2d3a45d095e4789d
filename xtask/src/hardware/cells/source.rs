//! The parser of source files of the controller. It reads what a page needs, and expects the regular style of these
//! files: anything else is an error.

use anyhow::{Context, Result, bail, ensure};

/// The labels that the header of every cell must have.
pub(super) const LABELS: [&str; 3] = ["Interface:", "Timing:", "Keeps:"];

/// The parts of a line of a declaration.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Item {
    /// `parameter`, `localparam`, `input`, `output`, or the modport of an interface; empty for a constant or type of a
    /// package.
    pub(super) kind: String,
    pub(super) data_type: String,
    pub(super) name: String,
    pub(super) default: String,
    pub(super) comment: String,
}

/// Ports or fields below their common comment.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) comment: String,
    pub(super) items: Vec<Item>,
}

/// A type of a package.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Type {
    pub(super) name: String,
    pub(super) comment: String,
    pub(super) groups: Vec<Group>,
}

/// A module, an interface or a package.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Source {
    pub(super) is_package: bool,
    /// The comment at the beginning of the file.
    pub(super) header: Vec<String>,
    pub(super) parameters: Vec<Item>,
    pub(super) ports: Vec<Group>,
    /// The modules that the cell instantiates, without repeats.
    pub(super) instances: Vec<String>,
    /// The packages that the cell imports.
    pub(super) packages: Vec<String>,
    pub(super) types: Vec<Type>,
    pub(super) constants: Vec<Item>,
    pub(super) functions: Vec<Item>,
}

impl Source {
    /// Parses the file of the module, interface or package with this name.
    pub(super) fn parse(name: &str, text: &str) -> Result<Self> {
        let mut source = Source { header: comment(text), ..Source::default() };
        ensure!(!source.header.is_empty(), "{name}.sv does not begin with a comment");
        let mut lines = text.lines().enumerate().skip(source.header.len());
        let (_, first) = lines.next().with_context(|| format!("{name}.sv has only a comment"))?;
        if first == format!("package {name};") {
            source.is_package = true;
            source.parse_package(lines.map(|(_, line)| line));
            return Ok(source);
        }
        let declared = first.strip_prefix("module ").or(first.strip_prefix("interface "));
        ensure!(
            declared
                .and_then(|declared| declared.strip_prefix(name))
                .is_some_and(|rest| ["", " #(", " ("].contains(&rest)),
            "{name}.sv: expected `module {name}` or `interface {name}`, found `{first}`"
        );
        source.parse_declaration(name, &mut lines)?;
        source.instances = instances(lines.map(|(_, line)| line));
        Ok(source)
    }

    /// Returns a label that the header lacks.
    pub(super) fn missing_label(&self) -> Option<&'static str> {
        let has = |label: &&str| self.header.iter().any(|line| line.contains(label));
        LABELS.into_iter().find(|label| !self.is_package && !has(label))
    }

    /// Parses parameters and ports, to the end of a module's declaration.
    fn parse_declaration<'a>(
        &mut self,
        name: &str,
        lines: &mut impl Iterator<Item = (usize, &'a str)>,
    ) -> Result<()> {
        for (nth, line) in lines {
            let line = line.trim();
            if let Some(package) = line.strip_prefix("import ").and_then(|rest| rest.strip_suffix("::*;")) {
                self.packages.push(package.into());
            } else if let Some(comment) = line.strip_prefix("// ") {
                start_group(&mut self.ports, comment);
            } else if line == ");" || line == ") ();" {
                return Ok(());
            } else if !["#(", ") (", "("].contains(&line) {
                let item = Item::parse(line).with_context(|| format!("{name}.sv:{}", nth + 1))?;
                if item.is_parameter() {
                    self.parameters.push(item);
                } else {
                    current_group(&mut self.ports).items.push(item);
                }
            }
        }
        bail!("{name}.sv: the declaration of the module has no end")
    }

    /// Parses the types, constants and functions of a package.
    fn parse_package<'a>(&mut self, lines: impl Iterator<Item = &'a str>) {
        let (mut comment, mut open) = (String::new(), None::<Type>);
        for line in lines.map(str::trim) {
            if let Some(mut data_type) = open.take() {
                if let Some(name) = line.strip_prefix("} ").and_then(|rest| rest.strip_suffix(';')) {
                    data_type.name = name.into();
                    self.types.push(data_type);
                    continue;
                }
                match line.strip_prefix("// ") {
                    Some(comment) => start_group(&mut data_type.groups, comment),
                    None => current_group(&mut data_type.groups).items.push(Item::field(line)),
                }
                open = Some(data_type);
                continue;
            }
            if let Some(more) = line.strip_prefix("// ") {
                comment = join(&comment, more);
                continue;
            }
            let comment = std::mem::take(&mut comment);
            if line.starts_with("typedef ") && line.ends_with('{') {
                open = Some(Type { comment, ..Type::default() });
            } else if let Some(item) = line.strip_prefix("typedef ").map(Item::field) {
                self.constants.push(Item { comment: join(&comment, &item.comment), ..item });
            } else if let Some(item) = line.strip_prefix("localparam ").map(Item::field) {
                self.constants.push(Item { comment: join(&comment, &item.comment), ..item });
            } else if let Some(rest) = line.strip_prefix("function automatic ") {
                let item = Item::field(rest.split('(').next().unwrap_or_default());
                self.functions.push(Item { comment, ..item });
            }
        }
    }
}

impl Item {
    /// Parses a parameter or a port.
    fn parse(line: &str) -> Result<Self> {
        let (kind, rest) = line.split_once(' ').with_context(|| format!("`{line}` is not a declaration"))?;
        let item = match kind.split_once('.') {
            Some((interface, modport)) if interface.ends_with("_if") => {
                Item { kind: modport.into(), data_type: interface.into(), ..Item::field(rest) }
            }
            _ => Item { kind: kind.into(), ..Item::field(rest) },
        };
        ensure!(
            item.data_type.ends_with("_if") || ["parameter", "localparam", "input", "output"].contains(&kind),
            "`{line}` is neither a parameter nor a port"
        );
        ensure!(
            !item.data_type.is_empty() && item.name.chars().all(|c| c.is_alphanumeric() || c == '_'),
            "`{line}` does not declare one name with its type"
        );
        ensure!(
            item.is_parameter() != item.default.is_empty(),
            "`{line}`: a parameter must have a default, and a port must not"
        );
        Ok(item)
    }

    fn is_parameter(&self) -> bool {
        ["parameter", "localparam"].contains(&self.kind.as_str())
    }

    /// Parses a type, a name, and an optional default and comment. A value of an enum has no type.
    fn field(line: &str) -> Self {
        let (code, comment) = line.split_once("//").unwrap_or((line, ""));
        let code = code.trim().trim_end_matches([',', ';']);
        let (declared, default) = code.split_once(" = ").unwrap_or((code, ""));
        let (data_type, name) = declared.trim().rsplit_once(' ').unwrap_or(("", declared.trim()));
        let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut default = plain(default);
        if default.ends_with('{') {
            // The page leaves out the other lines of the value.
            default.push_str("…}");
        }
        Item {
            kind: String::new(),
            data_type: plain(data_type),
            name: name.into(),
            default,
            comment: plain(comment),
        }
    }
}

/// Returns the comment at the beginning of a file, without its slashes.
pub(super) fn comment(text: &str) -> Vec<String> {
    let lines = text.lines().map_while(|line| line.strip_prefix("//"));
    lines.map(|line| line.strip_prefix(' ').unwrap_or(line).to_owned()).collect()
}

/// Returns the first sentence of a header.
pub(super) fn first_sentence(header: &[String]) -> String {
    let paragraph: Vec<&str> =
        header.iter().map(String::as_str).take_while(|line| !line.is_empty()).collect();
    let text = paragraph.join(" ");
    let end = text.find(". ").map_or(text.len(), |at| at + 1);
    text[..end].to_owned()
}

/// Returns the modules that lines instantiate, without repeats: names that begin with `ameles_`, before parameters or
/// the name of the instance.
pub(super) fn instances<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for line in lines.map(str::trim_start).filter(|line| line.starts_with("ameles_")) {
        if let Some((name, rest)) = line.split_once(' ')
            && (rest.starts_with("#(") || rest.starts_with("u_"))
            && !found.iter().any(|other| other == name)
        {
            found.push(name.into());
        }
    }
    found
}

/// Starts a group with a comment, or continues the comment of an empty group.
fn start_group(groups: &mut Vec<Group>, comment: &str) {
    match groups.last_mut() {
        Some(group) if group.items.is_empty() => group.comment = join(&group.comment, comment),
        _ => groups.push(Group { comment: comment.into(), items: Vec::new() }),
    }
}

/// Returns the current group, and creates one if there is none.
fn current_group(groups: &mut Vec<Group>) -> &mut Group {
    if groups.is_empty() {
        groups.push(Group::default());
    }
    groups.last_mut().expect("it is not empty")
}

fn join(start: &str, more: &str) -> String {
    format!("{start} {more}").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CELL: &str = "// A queue.\n//\n// Interface: two sides. Timing: a cycle. Keeps: words.\nmodule a\n  \
        import ameles_pkg::*;\n#(\n  parameter int unsigned Width = 8,  // of a word\n  \
        localparam int unsigned Bits = $clog2(Width)\n) (\n  input  logic             clk_i,\n  \
        // The way out.\n  output logic [Width-1:0] data_o,  // a word\n  ameles_b_if.source       b\n);\n\n  ameles_ram
        // #(\n    .Depth(4)\n  \
        ) u_ram (.clk_i);\n  ameles_ram u_other (.clk_i);\n  ameles_pkg::job_t job;\nendmodule\n";

    #[test]
    fn a_cell_is_read_with_its_parameters_ports_and_parts() {
        let source = Source::parse("a", CELL).unwrap();
        assert_eq!(source.header.len(), 3);
        assert_eq!(source.missing_label(), None);
        assert_eq!(source.packages, ["ameles_pkg"]);
        assert_eq!(source.instances, ["ameles_ram"]);
        let kinds: Vec<&str> = source.parameters.iter().map(|item| item.kind.as_str()).collect();
        assert_eq!(kinds, ["parameter", "localparam"]);
        assert_eq!((&*source.parameters[0].default, &*source.parameters[0].comment), ("8", "of a word"));
        let groups: Vec<&str> = source.ports.iter().map(|group| group.comment.as_str()).collect();
        assert_eq!(groups, ["", "The way out."]);
        let port = &source.ports[1].items[0];
        assert_eq!((&*port.kind, &*port.data_type, &*port.name), ("output", "logic [Width-1:0]", "data_o"));
        let interface = &source.ports[1].items[1];
        assert_eq!(
            (&*interface.kind, &*interface.data_type, &*interface.name),
            ("source", "ameles_b_if", "b")
        );
    }

    #[test]
    fn an_irregular_file_is_refused() {
        for (from, to) in [
            ("module a\n", "module b\n"),
            ("// A queue.\n//\n", "\n"),
            ("  input  logic             clk_i,\n", "  logic clk_i,\n"),
            (" = $clog2(Width)", ""),
            (");\n\n", "\n"),
            ("data_o,", "data_o [2],"),
        ] {
            assert!(CELL.contains(from));
            Source::parse("a", &CELL.replacen(from, to, 1)).unwrap_err();
        }
        assert_eq!(
            Source::parse("a", &CELL.replace("Keeps:", "It keeps")).unwrap().missing_label(),
            Some("Keeps:")
        );
    }

    #[test]
    fn a_package_is_read_with_its_types_constants_and_functions() {
        let text = "// Words.\npackage a;\n  localparam int unsigned Rounds = 10;\n  // A shape.\n  typedef struct \
            packed {\n    logic x;  // so\n    // More.\n    logic [1:0] y;\n  } shape_t;\n\n  // Twice as \
            much.\n  function automatic int unsigned twice(int unsigned n);\n    return 2 * n;\n  endfunction\n";
        let source = Source::parse("a", text).unwrap();
        assert!(source.is_package);
        assert_eq!((&*source.types[0].name, &*source.types[0].comment), ("shape_t", "A shape."));
        assert_eq!(source.types[0].groups.len(), 2);
        assert_eq!((&*source.constants[0].name, &*source.constants[0].default), ("Rounds", "10"));
        assert_eq!((&*source.functions[0].name, &*source.functions[0].comment), ("twice", "Twice as much."));
    }
}
