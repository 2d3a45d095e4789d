//! What `lethe serve` and `lethe init` say about a vault.

use crate::credentials::Credentials;
use crate::size::Size;
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::net::SocketAddr;

/// A vault in the figures that its owner wants to know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VaultSummary {
    /// Whether it was made just now.
    pub fresh: bool,
    /// The scheme's name, as its paper calls it.
    pub scheme: String,
    /// The scheme's parameters by name.
    pub parameters: Vec<(String, String)>,
    /// Bytes that the user can store.
    pub capacity: Size,
    /// Bytes of a block.
    pub block_size: Size,
    /// Where the untrusted side is.
    pub store: String,
    /// The most bytes that the provider stores for it.
    pub stored: Size,
    /// Bytes moved, both ways together, per byte that the user reads or writes.
    pub moved_per_byte: f64,
    /// Bytes of trusted memory as a rule: maps, the stash with the tree top at its mean, a batch. 0 in figures that an
    /// older version has left.
    #[serde(default)]
    pub trusted_usual: Size,
    /// The most bytes of trusted memory: maps, and room for the stash at its hard bound and for evictions in flight.
    pub trusted: Size,
    /// What storing costs, in US dollars a month, if a table of prices was given.
    pub dollars_per_month: Option<f64>,
}

impl VaultSummary {
    /// The vault, a line a fact.
    pub fn render(&self) -> String {
        let mut text = String::new();
        let parameters: Vec<String> =
            self.parameters.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        let mut line = |name: &str, value: String| {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "  {name:<15} {value}");
        };
        line("capacity", format!("{} in blocks of {}", self.capacity, self.block_size));
        line("scheme", format!("{} ({})", self.scheme, parameters.join(", ")));
        line("untrusted side", self.store.clone());
        line("provider stores", format!("at most {}", self.stored));
        line("bytes moved", format!("{:.1} per byte that you read or write", self.moved_per_byte));
        line("trusted memory", format!("about {}, at most {}", self.trusted_usual, self.trusted));
        if let Some(dollars) = self.dollars_per_month {
            line("storage costs", format!("${dollars:.2} a month when full; requests and traffic apart"));
        }
        text
    }
}

/// Everything that `lethe serve` prints before it serves.
pub fn serving(
    vault: &VaultSummary,
    listen: SocketAddr,
    admin: SocketAddr,
    credentials: &Credentials,
) -> String {
    let opened = if vault.fresh { "A new vault" } else { "The vault of before" };
    format!(
        "\
{opened}
{vault}
Serving S3 on http://{listen}, health and metrics on http://{admin}

  export AWS_ACCESS_KEY_ID={id}
  export AWS_SECRET_ACCESS_KEY={secret}
  export AWS_DEFAULT_REGION=us-east-1 AWS_ENDPOINT_URL=http://{listen}

With these set, try:

  aws s3 mb s3://first
  aws s3 cp README.md s3://first/

Ctrl-C stops.
",
        vault = vault.render(),
        id = credentials.access_key_id,
        secret = credentials.secret_access_key,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary() -> VaultSummary {
        VaultSummary {
            fresh: true,
            scheme: "Ring ORAM".into(),
            parameters: vec![("Z".into(), "16".into()), ("S".into(), "27".into())],
            capacity: Size(1 << 30),
            block_size: Size(64 << 10),
            store: "file:///srv/untrusted".into(),
            stored: Size(3 << 30),
            moved_per_byte: 12.345,
            trusted_usual: Size(40 << 20),
            trusted: Size(96 << 20),
            dollars_per_month: None,
        }
    }

    #[test]
    fn a_summary_names_every_figure() {
        let text = summary().render();
        for part in [
            "1 GiB in blocks of 64 KiB",
            "Ring ORAM (Z = 16, S = 27)",
            "file:///srv/untrusted",
            "at most 3 GiB",
            "12.3 per byte",
            "about 40 MiB, at most 96 MiB",
        ] {
            assert!(text.contains(part), "{part} is missing in\n{text}");
        }
        assert!(!text.contains('$'));
        let priced = VaultSummary { dollars_per_month: Some(0.069), ..summary() };
        assert!(priced.render().contains("$0.07 a month"));
    }

    #[test]
    fn the_commands_to_try_can_be_pasted() {
        let folder = tempfile::tempdir().unwrap();
        let credentials = Credentials::make(&folder.path().join("c.toml")).unwrap();
        let listen = "127.0.0.1:9317".parse().unwrap();
        let admin = "127.0.0.1:9318".parse().unwrap();
        let text = serving(&summary(), listen, admin, &credentials);
        assert!(text.contains("AWS_ENDPOINT_URL=http://127.0.0.1:9317\n"));
        assert!(text.contains(&format!("AWS_ACCESS_KEY_ID={}\n", credentials.access_key_id)));
        assert!(text.contains(&format!("AWS_SECRET_ACCESS_KEY={}\n", credentials.secret_access_key)));
        assert!(text.contains("aws s3 mb s3://first\n"));
        assert_eq!(text.lines().filter(|line| line.contains("aws s3 ")).count(), 2);
    }
}
