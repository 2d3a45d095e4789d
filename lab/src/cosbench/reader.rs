//! The reader of a workload: elements, their attributes, and the place of each fault.

use super::config::Config;
use super::error::{CosbenchError, Problem};
use super::workload::{Service, Stage, Workload};
use roxmltree::{Attribute, Document, Node};

impl Workload {
    /// Reads a workload from the text of its file.
    ///
    /// # Errors
    /// [`CosbenchError`], with the line.
    pub fn parse(text: &str) -> Result<Self, CosbenchError> {
        let document = Document::parse(text).map_err(|error| CosbenchError {
            line: error.pos().row,
            problem: Problem::Xml(error.to_string()),
        })?;
        let reader = Reader { document: &document };
        let root = document.root_element();
        if root.tag_name().name() != "workload" {
            return Err(reader.unknown_element(root, "a file", &["workload"]));
        }
        reader.workload(root)
    }
}

/// The document that is read.
pub(super) struct Reader<'a, 'i> {
    document: &'a Document<'i>,
}

/// The configurations, stores and services inherited from the enclosing elements.
#[derive(Default)]
pub(super) struct ElementContext {
    pub(super) config: Config,
    pub(super) storage: Option<Service>,
    pub(super) auth: Option<Service>,
}

impl<'a, 'i> Reader<'a, 'i> {
    fn workload(&self, root: Node<'a, 'i>) -> Result<Workload, CosbenchError> {
        self.check_attributes(root, &["name", "description", "trigger", "config"])?;
        let context = self.context(root, &Config::default(), &["storage", "auth", "workflow"])?;
        let is_flow = |node: &Node| node.tag_name().name() == "workflow";
        let flow = root.children().find(is_flow).ok_or_else(|| self.missing_error(root, "<workflow>"))?;
        self.check_attributes(flow, &["config"])?;
        let outer = self.context(flow, &context.config, &["workstage"])?;
        let stages = elements(flow).map(|node| self.stage(node, &outer.config)).collect::<Result<_, _>>()?;
        Ok(Workload {
            name: self.required(root, "name")?.to_owned(),
            description: root.attribute("description").unwrap_or_default().to_owned(),
            storage: context.storage,
            auth: context.auth,
            stages,
        })
    }

    fn stage(&self, node: Node<'a, 'i>, outer: &Config) -> Result<Stage, CosbenchError> {
        self.check_attributes(node, &["name", "closuredelay", "trigger", "config"])?;
        let context = self.context(node, outer, &["storage", "auth", "work"])?;
        let works = elements(node).filter(|child| child.tag_name().name() == "work");
        let works = works.map(|work| self.work(work, &context.config)).collect::<Result<Vec<_>, _>>()?;
        if works.is_empty() {
            return Err(self.missing_error(node, "<work>"));
        }
        Ok(Stage {
            name: self.required(node, "name")?.to_owned(),
            closure_delay_seconds: self.number(node, "closuredelay", 0, 0, u32::MAX.into())?,
            storage: context.storage,
            auth: context.auth,
            works,
        })
    }

    /// Checks the names of the elements in `node`, and reads those that are allowed in any element.
    pub(super) fn context(
        &self,
        node: Node<'a, 'i>,
        outer: &Config,
        known: &[&str],
    ) -> Result<ElementContext, CosbenchError> {
        let mut context =
            ElementContext { config: self.config(node)?.over(outer), ..ElementContext::default() };
        for child in elements(node) {
            let name = child.tag_name().name();
            if !known.contains(&name) {
                return Err(self.unknown_element(child, &format!("<{}>", node.tag_name().name()), known));
            }
            match name {
                "storage" => context.storage = Some(self.service(child)?),
                "auth" => context.auth = Some(self.service(child)?),
                _ => {}
            }
        }
        Ok(context)
    }

    fn service(&self, node: Node<'a, 'i>) -> Result<Service, CosbenchError> {
        self.check_attributes(node, &["type", "config"])?;
        Ok(Service { kind: self.required(node, "type")?.to_owned(), config: self.config(node)? })
    }

    /// The configuration of an element, or nothing if it has none.
    fn config(&self, node: Node<'a, 'i>) -> Result<Config, CosbenchError> {
        let read = |attribute: Attribute| {
            Config::parse(attribute.value())
                .map_err(|problem| self.error_at(attribute.range().start, problem))
        };
        node.attribute_node("config").map_or_else(|| Ok(Config::default()), read)
    }

    pub(super) fn check_attributes(&self, node: Node<'a, 'i>, known: &[&str]) -> Result<(), CosbenchError> {
        let unknown = node.attributes().find(|attribute| !known.contains(&attribute.name()));
        unknown.map_or(Ok(()), |attribute| {
            let problem = Problem::Attribute {
                name: attribute.name().to_owned(),
                element: node.tag_name().name().to_owned(),
                known: known.join(", "),
            };
            Err(self.error_at(attribute.range().start, problem))
        })
    }

    pub(super) fn required(&self, node: Node<'a, 'i>, name: &'static str) -> Result<&'a str, CosbenchError> {
        let value = node.attribute(name).filter(|value| !value.trim().is_empty());
        value.ok_or_else(|| self.missing_error(node, name))
    }

    pub(super) fn number(
        &self,
        node: Node<'a, 'i>,
        name: &'static str,
        unless_given: u64,
        min: u64,
        max: u64,
    ) -> Result<u64, CosbenchError> {
        let Some(attribute) = node.attribute_node(name) else { return Ok(unless_given) };
        let value = attribute.value().trim();
        let number = value.parse().ok().filter(|number| (min..=max).contains(number));
        number.ok_or_else(|| {
            let value = value.to_owned();
            self.error_at(attribute.range().start, Problem::Number { name, value, min, max })
        })
    }

    pub(super) fn missing_error(&self, node: Node<'a, 'i>, missing: &'static str) -> CosbenchError {
        let element = node.tag_name().name().to_owned();
        self.error_in(node, Problem::Missing { element, missing })
    }

    fn unknown_element(&self, node: Node<'a, 'i>, within: &str, known: &[&str]) -> CosbenchError {
        let known = known.iter().map(|name| format!("<{name}>")).collect::<Vec<_>>().join(", ");
        let name = node.tag_name().name().to_owned();
        self.error_in(node, Problem::Element { name, within: within.to_owned(), known })
    }

    /// The fault of an element.
    pub(super) fn error_in(&self, node: Node<'a, 'i>, problem: Problem) -> CosbenchError {
        self.error_at(node.range().start, problem)
    }

    /// The fault at an offset of the text.
    pub(super) fn error_at(&self, offset: usize, problem: Problem) -> CosbenchError {
        CosbenchError { line: self.document.text_pos_at(offset).row, problem }
    }
}

/// The elements in an element.
pub(super) fn elements<'a, 'i>(node: Node<'a, 'i>) -> impl Iterator<Item = Node<'a, 'i>> {
    node.children().filter(Node::is_element)
}
