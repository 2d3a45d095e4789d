//! The command that serves a vault, for a shell.

use super::Home;
use crate::config::{EtcdSettings, KeySettings};
use std::borrow::Cow;
use std::path::Path;

impl Home<'_> {
    /// Returns the command that serves this vault, without values of store options, which may be secrets.
    pub fn serve_line(&self) -> String {
        let (settings, store) = (self.settings, &self.settings.store);
        let mut words = vec!["ameles".to_owned(), "serve".into()];
        let mut flag = |name: &str, value: String| words.extend([name.to_owned(), quoted(&value)]);
        flag("--data", settings.data.root().display().to_string());
        if let Some(url) = &store.url {
            flag("--store", url.clone());
        }
        if let Some(endpoint) = &store.endpoint {
            flag("--endpoint", endpoint.clone());
        }
        if let Some(EtcdSettings { address, ca, identity }) = &store.etcd {
            flag("--etcd", address.to_string());
            let (cert, key) = identity.as_ref().map(|tls| (&tls.cert, &tls.key)).unzip();
            for (name, file) in [("--etcd-ca", ca.as_ref()), ("--etcd-cert", cert), ("--etcd-key", key)] {
                file.into_iter().for_each(|file| flag(name, file.display().to_string()));
            }
        }
        for key in store.options.0.keys() {
            flag("--store-option", format!("{key}=…"));
        }
        match &settings.key {
            KeySettings::File(file) if *file == settings.data.master_key() => {}
            KeySettings::File(file) => flag("--key-file", file.display().to_string()),
            KeySettings::Env(variable) => flag("--key-env", variable.clone()),
            KeySettings::Passphrase(_) => words.push("--passphrase".into()),
        }
        words.join(" ")
    }
}

/// Returns the URL of a folder. Only characters that end a path or begin an escape are escaped.
pub fn url_of(folder: &Path) -> String {
    let path = std::path::absolute(folder).unwrap_or_else(|_| folder.to_path_buf());
    let path = path.display().to_string().replace('%', "%25").replace('?', "%3F").replace('#', "%23");
    format!("file://{path}")
}

/// Quotes a word for a shell. Words of commands never contain NUL, which cannot be quoted.
pub(super) fn quoted(word: &str) -> String {
    shlex::try_quote(word).map_or_else(|_| word.to_owned(), Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Settings;

    #[test]
    fn the_line_that_serves_a_restored_vault_can_be_pasted_and_shows_no_secret() {
        let settings = Settings::from_toml(
            "data = \"/my data\"\n[store]\nurl = \"s3://b/p\"\noptions = { secret_access_key = \"hush\" }\n\
             [key]\nfile = \"/k\"",
        );
        assert_eq!(
            Home::new(&settings).serve_line(),
            "ameles serve --data '/my data' --store s3://b/p --store-option 'secret_access_key=…' --key-file /k"
        );
    }
}
