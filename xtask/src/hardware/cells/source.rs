//! A source file of the controller, read as far as a page needs it. The files are regular: whatever is not is an error.

use anyhow::{Context, Result, bail, ensure};

/// The words with which a header says the things that a page needs.
pub(super) const LABELS: [&str; 3] = ["Interface:", "Timing:", "Keeps:"];

/// A line of a declaration, taken apart.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Item {
    /// `parameter`, `localparam`, `input` or `output`; of a package's constant or type: nothing.
    pub(super) kind: String,
    pub(super) of_type: String,
    pub(super) name: String,
    pub(super) default: String,
    pub(super) comment: String,
}

/// Ports, or fields, below the comment that tells what they have in common.
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

/// A module or a package.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Source {
    pub(super) is_package: bool,
    /// The comment at its beginning.
    pub(super) header: Vec<String>,
    pub(super) parameters: Vec<Item>,
    pub(super) ports: Vec<Group>,
    /// Modules that it instantiates, each once.
    pub(super) instances: Vec<String>,
    /// Packages that it imports.
    pub(super) packages: Vec<String>,
    pub(super) types: Vec<Type>,
    pub(super) constants: Vec<Item>,
    pub(super) functions: Vec<Item>,
}

impl Source {
    /// Reads the file of a module or package of that name.
    pub(super) fn parse(name: &str, text: &str) -> Result<Self> {
        let mut source = Source { header: comment(text), ..Source::default() };
        ensure!(!source.header.is_empty(), "{name}.sv does not begin with a comment");
        let mut lines = text.lines().enumerate().skip(source.header.len());
        let (_, first) = lines.next().with_context(|| format!("{name}.sv is only a comment"))?;
        if first == format!("package {name};") {
            source.is_package = true;
            source.contents(lines.map(|(_, line)| line));
            return Ok(source);
        }
        ensure!(
            first
                .strip_prefix(&format!("module {name}"))
                .is_some_and(|rest| ["", " #(", " ("].contains(&rest)),
            "{name}.sv: `{first}` does not begin the module of its file's name"
        );
        source.declaration(name, &mut lines)?;
        source.instances = instances(lines.map(|(_, line)| line));
        Ok(source)
    }

    /// The label that its header has not, if there is one.
    pub(super) fn prerequisites(&self) -> Option<&'static str> {
        let has = |label: &&str| self.header.iter().any(|line| line.contains(label));
        LABELS.into_iter().find(|label| !self.is_package && !has(label))
    }

    /// Reads parameters and ports, to the end of a module's declaration.
    fn declaration<'a>(
        &mut self,
        name: &str,
        lines: &mut impl Iterator<Item = (usize, &'a str)>,
    ) -> Result<()> {
        for (nth, line) in lines {
            let line = line.trim();
            if let Some(package) = line.strip_prefix("import ").and_then(|rest| rest.strip_suffix("::*;")) {
                self.packages.push(package.into());
            } else if let Some(comment) = line.strip_prefix("// ") {
                group(&mut self.ports, comment);
            } else if line == ");" || line == ") ();" {
                return Ok(());
            } else if !["#(", ") (", "("].contains(&line) {
                let item = Item::parse(line).with_context(|| format!("{name}.sv:{}", nth + 1))?;
                if item.kind.ends_with("put") {
                    last(&mut self.ports).items.push(item);
                } else {
                    self.parameters.push(item);
                }
            }
        }
        bail!("{name}.sv: the declaration has no end")
    }

    /// Reads the types, constants and functions of a package.
    fn contents<'a>(&mut self, lines: impl Iterator<Item = &'a str>) {
        let (mut comment, mut open) = (String::new(), None::<Type>);
        for line in lines.map(str::trim) {
            if let Some(mut of_type) = open.take() {
                if let Some(name) = line.strip_prefix("} ").and_then(|rest| rest.strip_suffix(';')) {
                    of_type.name = name.into();
                    self.types.push(of_type);
                    continue;
                }
                match line.strip_prefix("// ") {
                    Some(comment) => group(&mut of_type.groups, comment),
                    None => last(&mut of_type.groups).items.push(Item::field(line)),
                }
                open = Some(of_type);
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
    /// Reads a parameter or a port.
    fn parse(line: &str) -> Result<Self> {
        let (kind, rest) = line.split_once(' ').with_context(|| format!("`{line}` is no declaration"))?;
        ensure!(
            ["parameter", "localparam", "input", "output"].contains(&kind),
            "`{line}` is no parameter and no port"
        );
        let item = Item { kind: kind.into(), ..Item::field(rest) };
        ensure!(
            !item.of_type.is_empty() && item.name.chars().all(|c| c.is_alphanumeric() || c == '_'),
            "`{line}` is no declaration of one name with its type"
        );
        ensure!(
            item.kind.ends_with("put") == item.default.is_empty(),
            "`{line}` wants a default, or wants none"
        );
        Ok(item)
    }

    /// Reads a type, a name, and a default and a comment if there are any; of an enum's value, there is no type.
    fn field(line: &str) -> Self {
        let (code, comment) = line.split_once("//").unwrap_or((line, ""));
        let code = code.trim().trim_end_matches([',', ';']);
        let (declared, default) = code.split_once(" = ").unwrap_or((code, ""));
        let (of_type, name) = declared.trim().rsplit_once(' ').unwrap_or(("", declared.trim()));
        let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut default = plain(default);
        if default.ends_with('{') {
            // The other lines of the value are left out.
            default.push_str("…}");
        }
        Item {
            kind: String::new(),
            of_type: plain(of_type),
            name: name.into(),
            default,
            comment: plain(comment),
        }
    }
}

/// The comment at the beginning of a file, without its slashes.
pub(super) fn comment(text: &str) -> Vec<String> {
    let lines = text.lines().map_while(|line| line.strip_prefix("//"));
    lines.map(|line| line.strip_prefix(' ').unwrap_or(line).to_owned()).collect()
}

/// The modules that lines instantiate, each once: a name of ours with parameters, or with the instance's name.
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

/// Begins a group with a comment, or goes on with the comment of one that is empty.
fn group(groups: &mut Vec<Group>, comment: &str) {
    match groups.last_mut() {
        Some(group) if group.items.is_empty() => group.comment = join(&group.comment, comment),
        _ => groups.push(Group { comment: comment.into(), items: Vec::new() }),
    }
}

/// The group that is open; there is always one.
fn last(groups: &mut Vec<Group>) -> &mut Group {
    if groups.is_empty() {
        groups.push(Group::default());
    }
    groups.last_mut().expect("it is not empty")
}

fn join(before: &str, more: &str) -> String {
    format!("{before} {more}").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CELL: &str = "// A queue.\n//\n// Interface: two sides. Timing: a cycle. Keeps: words.\nmodule a\n  \
        import ameles_pkg::*;\n#(\n  parameter int unsigned Width = 8,  // of a word\n  \
        localparam int unsigned Bits = $clog2(Width)\n) (\n  input  logic             clk_i,\n  \
        // The way out.\n  output logic [Width-1:0] data_o  // a word\n);\n\n  ameles_ram #(\n    .Depth(4)\n  \
        ) u_ram (.clk_i);\n  ameles_ram u_other (.clk_i);\n  ameles_pkg::job_t job;\nendmodule\n";

    #[test]
    fn a_cell_is_read_with_its_parameters_ports_and_parts() {
        let source = Source::parse("a", CELL).unwrap();
        assert_eq!(source.header.len(), 3);
        assert_eq!(source.prerequisites(), None);
        assert_eq!(source.packages, ["ameles_pkg"]);
        assert_eq!(source.instances, ["ameles_ram"]);
        let kinds: Vec<&str> = source.parameters.iter().map(|item| item.kind.as_str()).collect();
        assert_eq!(kinds, ["parameter", "localparam"]);
        assert_eq!((&*source.parameters[0].default, &*source.parameters[0].comment), ("8", "of a word"));
        let groups: Vec<&str> = source.ports.iter().map(|group| group.comment.as_str()).collect();
        assert_eq!(groups, ["", "The way out."]);
        let port = &source.ports[1].items[0];
        assert_eq!((&*port.kind, &*port.of_type, &*port.name), ("output", "logic [Width-1:0]", "data_o"));
    }

    #[test]
    fn what_is_not_regular_is_refused() {
        for (from, to) in [
            ("module a\n", "module b\n"),
            ("// A queue.\n//\n", "\n"),
            ("  input  logic             clk_i,\n", "  logic clk_i,\n"),
            (" = $clog2(Width)", ""),
            (");\n\n", "\n"),
            ("data_o ", "data_o [2] "),
        ] {
            assert!(CELL.contains(from));
            Source::parse("a", &CELL.replacen(from, to, 1)).unwrap_err();
        }
        assert_eq!(
            Source::parse("a", &CELL.replace("Keeps:", "It keeps")).unwrap().prerequisites(),
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
