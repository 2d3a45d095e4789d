//! A file in memory, for tests.

use redb::StorageBackend;
use std::io::{self, ErrorKind};
use std::sync::{Arc, RwLock};

/// A file in memory that outlives its database.
#[derive(Clone, Debug, Default)]
pub(crate) struct MemoryFile(Arc<RwLock<Vec<u8>>>);

impl StorageBackend for MemoryFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.read().unwrap().len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let file = self.0.read().unwrap();
        let bytes = file.get(offset as usize..offset as usize + out.len());
        out.copy_from_slice(bytes.ok_or(ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let (mut file, len) = (self.0.write().unwrap(), len as usize);
        // `Vec::resize` would fill a new database byte by byte in a build for tests.
        let mut resized = vec![0; len];
        let kept = len.min(file.len());
        resized[..kept].copy_from_slice(&file[..kept]);
        *file = resized;
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let (mut file, at) = (self.0.write().unwrap(), offset as usize);
        let length = file.len().max(at + data.len());
        file.resize(length, 0);
        file[at..at + data.len()].copy_from_slice(data);
        Ok(())
    }
}

impl MemoryFile {
    /// A file with these bytes.
    pub(crate) fn of(bytes: Vec<u8>) -> Self {
        MemoryFile(Arc::new(RwLock::new(bytes)))
    }

    /// The bytes of the file.
    pub(crate) fn copy(&self) -> Vec<u8> {
        self.0.read().unwrap().clone()
    }
}
