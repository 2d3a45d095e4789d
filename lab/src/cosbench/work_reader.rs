//! The reader of works and their operations.

use super::config::Config;
use super::error::{CosbenchError, Problem};
use super::reader::{Reader, elements};
use super::selector::SelectorError;
use super::workload::{Division, FileOrder, Limit, Operation, OperationKind, Work};
use roxmltree::Node;
use std::str::FromStr;

/// The attributes of a work.
const WORK: [&str; 13] = [
    "name",
    "type",
    "workers",
    "interval",
    "division",
    "runtime",
    "rampup",
    "rampdown",
    "afr",
    "totalOps",
    "totalBytes",
    "driver",
    "config",
];

/// The keys that the configuration of an operation may have.
const KEYS: [&str; 16] = [
    "containers",
    "objects",
    "sizes",
    "files",
    "fileselection",
    "cprefix",
    "csuffix",
    "oprefix",
    "osuffix",
    "hashcheck",
    "hashCheck",
    "chunked",
    "content",
    "createContainer",
    "deleteContainer",
    "storage_url",
];

/// The maximum number of workers, operations and per cent of a work.
const MAX_NUMBER: u64 = i32::MAX as u64;

impl<'a, 'i> Reader<'a, 'i> {
    pub(super) fn work(&self, node: Node<'a, 'i>, outer: &Config) -> Result<Work, CosbenchError> {
        self.check_attributes(node, &WORK)?;
        let context = self.context(node, outer, &["storage", "auth", "operation"])?;
        let kind = node.attribute("type").unwrap_or("normal");
        let single_operation =
            OperationKind::ALL.into_iter().find(|one| one.is_a_work() && one.name() == kind);
        if single_operation.is_none() && kind != "normal" {
            let works = OperationKind::ALL.into_iter().filter(|kind| kind.is_a_work());
            let names: Vec<&str> = ["normal"].into_iter().chain(works.map(OperationKind::name)).collect();
            return Err(self.choice_error(node, "type", &names));
        }
        let name = match single_operation {
            Some(kind) => node.attribute("name").unwrap_or(kind.name()),
            None => self.required(node, "name")?,
        };
        let workers = match (single_operation, node.attribute("workers")) {
            (Some(OperationKind::Delay), _) => 1,
            (_, None) => return Err(self.missing_error(node, "workers")),
            _ => self.number(node, "workers", 1, 1, MAX_NUMBER)?,
        };
        self.check_numbers(node)?;
        let division = self.division(node)?;
        let (division, limit, operations) = match single_operation {
            Some(kind) => {
                let (division, limit) = implied_limits(kind, workers);
                (division, limit, vec![self.operation_of(node, kind, 100, context.config)?])
            }
            None => {
                let operations = self.operations(node, name, &context.config)?;
                (division.unwrap_or(Division::None), self.limit(node, name)?, operations)
            }
        };
        let (storage, auth) = (context.storage, context.auth);
        Ok(Work { name: name.to_owned(), workers, division, limit, storage, auth, operations })
    }

    /// Checks the numbers that do not affect the requests to the store.
    fn check_numbers(&self, node: Node<'a, 'i>) -> Result<(), CosbenchError> {
        self.number(node, "interval", 5, 1, MAX_NUMBER)?;
        self.number(node, "rampup", 0, 0, MAX_NUMBER)?;
        self.number(node, "rampdown", 0, 0, MAX_NUMBER)?;
        self.number(node, "afr", 0, 0, 1_000_000).map(|_| ())
    }

    fn limit(&self, node: Node<'a, 'i>, work: &str) -> Result<Limit, CosbenchError> {
        let limit = Limit {
            runtime_seconds: self.number(node, "runtime", 0, 0, MAX_NUMBER)?,
            operations: self.number(node, "totalOps", 0, 0, MAX_NUMBER)?,
            bytes: self.number(node, "totalBytes", 0, 0, i64::MAX as u64)?,
        };
        if limit == Limit::default() {
            return Err(self.error_in(node, Problem::NoEnd { work: work.to_owned() }));
        }
        Ok(limit)
    }

    fn operations(
        &self,
        node: Node<'a, 'i>,
        work: &str,
        outer: &Config,
    ) -> Result<Vec<Operation>, CosbenchError> {
        let read = |child: Node<'a, 'i>| self.operation(child, outer);
        let found = elements(node).filter(|child| child.tag_name().name() == "operation");
        let mut operations = found.map(read).collect::<Result<Vec<_>, _>>()?;
        if operations.is_empty() {
            return Err(self.missing_error(node, "<operation>"));
        }
        let sum = operations.iter().map(|operation| operation.ratio).sum();
        if sum != 100 {
            return Err(self.error_in(node, Problem::Ratios { work: work.to_owned(), sum }));
        }
        operations.retain(|operation| operation.ratio > 0);
        Ok(operations)
    }

    fn operation(&self, node: Node<'a, 'i>, outer: &Config) -> Result<Operation, CosbenchError> {
        self.check_attributes(node, &["type", "ratio", "division", "config", "id"])?;
        let context = self.context(node, outer, &[])?;
        let name = self.required(node, "type")?;
        let kind = OperationKind::ALL.into_iter().find(|kind| kind.name() == name);
        let Some(kind) = kind else {
            return Err(self.choice_error(node, "type", &OperationKind::ALL.map(OperationKind::name)));
        };
        self.division(node)?;
        let ratio = self.number(node, "ratio", 100, 0, 100)?;
        self.operation_of(node, kind, ratio, context.config)
    }

    /// The operation of a kind, with a configuration.
    fn operation_of(
        &self,
        node: Node<'a, 'i>,
        kind: OperationKind,
        ratio: u64,
        config: Config,
    ) -> Result<Operation, CosbenchError> {
        let offset = node.attribute_node("config").map_or(node.range().start, |config| config.range().start);
        let error = |problem| self.error_at(offset, problem);
        if let Some(key) = config.keys().find(|key| !KEYS.contains(key)) {
            let (operation, known) = (kind.name(), KEYS.join(", "));
            return Err(error(Problem::Key { key: key.to_owned(), operation, known }));
        }
        let missing_key = kind.needs().iter().find(|(key, _)| config.get(key).is_none());
        if let Some((key, example)) = missing_key {
            return Err(error(Problem::NoKey { operation: kind.name(), key, example }));
        }
        let file_order = match config.get("fileselection") {
            None | Some("s") => FileOrder::Sequence,
            Some("u") => FileOrder::Uniform,
            Some(other) => {
                let (value, known) = (other.to_owned(), "s or u".to_owned());
                return Err(error(Problem::Choice { name: "fileselection", value, known }));
            }
        };
        Ok(Operation {
            kind,
            ratio,
            containers: selector(&config, "containers").map_err(error)?,
            objects: selector(&config, "objects").map_err(error)?,
            sizes: selector(&config, "sizes").map_err(error)?,
            files: config.get("files").map(str::to_owned),
            file_order,
            config,
        })
    }

    fn division(&self, node: Node<'a, 'i>) -> Result<Option<Division>, CosbenchError> {
        match node.attribute("division") {
            None => Ok(None),
            Some("none") => Ok(Some(Division::None)),
            Some("container") => Ok(Some(Division::Container)),
            Some("object") => Ok(Some(Division::Object)),
            Some(_) => Err(self.choice_error(node, "division", &["none", "container", "object"])),
        }
    }

    /// The fault of an attribute whose value is not one of the valid ones.
    fn choice_error(&self, node: Node<'a, 'i>, name: &'static str, known: &[&str]) -> CosbenchError {
        let attribute = node.attribute_node(name);
        let value = attribute.map_or("", |attribute| attribute.value()).to_owned();
        let offset = attribute.map_or(node.range().start, |attribute| attribute.range().start);
        self.error_at(offset, Problem::Choice { name, value, known: known.join(", ") })
    }
}

/// The division and the end of a work that is a single operation. The file's values for them are ignored, as in
/// COSBench.
fn implied_limits(kind: OperationKind, workers: u64) -> (Division, Limit) {
    let division = match kind {
        OperationKind::Init | OperationKind::Dispose => Division::Container,
        OperationKind::Prepare | OperationKind::Cleanup => Division::Object,
        _ => Division::None,
    };
    (division, Limit { operations: workers, ..Limit::default() })
}

fn selector<T: FromStr<Err = SelectorError>>(
    config: &Config,
    key: &'static str,
) -> Result<Option<T>, Problem> {
    let parsed = config.get(key).map(str::parse).transpose();
    parsed.map_err(|reason| Problem::Selector { key, reason })
}
