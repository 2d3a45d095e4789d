//! A local folder as the store: makes its sub-folders durable, and removes files that a crash left incomplete.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// The root of a local store and which of its sub-folders are known to be durable.
#[derive(Clone, Debug)]
pub(super) struct Folder {
    root: PathBuf,
    durable: Arc<Mutex<HashSet<PathBuf>>>,
}

impl Folder {
    pub(super) fn new(root: PathBuf) -> Self {
        Folder { root, durable: Arc::default() }
    }

    /// Makes the folder that `name` lies in and syncs each folder up to the root.
    ///
    /// `object_store` syncs the folders that it makes itself. But if two writers need the same new folder, the second
    /// finds it there, and may return before the first has synced it. Here each returns only after a sync that it
    /// waited for.
    pub(super) async fn make_durable_parent(&self, name: &str) -> Result<(), object_store::Error> {
        let Some((parent, _)) = name.rsplit_once('/') else {
            return Ok(());
        };
        let path = self.root.join(parent);
        if self.durable.lock().expect("no holder panicked").contains(&path) {
            return Ok(());
        }
        let (root, made) = (self.root.clone(), path.clone());
        blocking(move || {
            // The root itself is not made again: if it is gone, a disk may have been unmounted.
            let below: Vec<&Path> = made.ancestors().take_while(|folder| **folder != root).collect();
            for folder in below.iter().rev() {
                match fs::create_dir(folder) {
                    Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                        return Err(error);
                    }
                    _ => {}
                }
                sync_folder(folder.parent().unwrap_or(&root))?;
            }
            Ok(())
        })
        .await?;
        self.durable.lock().expect("no holder panicked").insert(path);
        Ok(())
    }

    /// Syncs a file and its entry in its folder.
    pub(super) async fn make_durable(&self, name: &str) -> Result<(), object_store::Error> {
        let path = self.root.join(name);
        blocking(move || {
            File::open(&path)?.sync_all()?;
            path.parent().map_or(Ok(()), sync_folder)
        })
        .await
    }

    /// Removes the temporary files of interrupted writes (`name#1`), and returns how many there were.
    pub(super) async fn sweep_unfinished(&self) -> Result<u64, object_store::Error> {
        let tops = [super::names::BUCKETS, super::names::BLOBS].map(|top| self.root.join(top));
        blocking(move || {
            let mut removed = 0;
            let mut open: Vec<PathBuf> = tops.into();
            while let Some(folder) = open.pop() {
                let entries = match fs::read_dir(&folder) {
                    Ok(entries) => entries,
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    Err(error) => return Err(error),
                };
                for entry in entries {
                    let entry = entry?;
                    let kind = entry.file_type()?;
                    if kind.is_dir() {
                        open.push(entry.path());
                    } else if kind.is_file() && is_unfinished(&entry.path()) {
                        fs::remove_file(entry.path())?;
                        removed += 1;
                    }
                }
            }
            Ok(removed)
        })
        .await
    }
}

fn is_unfinished(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.rsplit_once('#')
        .is_some_and(|(_, digits)| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Makes a folder's entries durable.
#[cfg(unix)]
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Makes a folder's entries durable: not possible here, as folders cannot be opened.
#[cfg(not(unix))]
pub(super) fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}

/// Runs blocking file work on the thread pool of the runtime, if there is one.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, object_store::Error> {
    let done = match tokio::runtime::Handle::try_current() {
        Ok(runtime) => runtime.spawn_blocking(work).await?,
        Err(_) => work(),
    };
    done.map_err(|source| object_store::Error::Generic { store: "files", source: Box::new(source) })
}
