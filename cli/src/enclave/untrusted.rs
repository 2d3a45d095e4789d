//! The machine's untrusted memory: a file in memory, which the emulator maps and this process reads and writes.

use ameles_enclave_boundary::exit::{ExitError, ExitRecord};
use ameles_enclave_boundary::mailbox::{ANSWER_BYTES, Answer, REQUEST_BYTES, Request, RequestError};
use ameles_enclave_boundary::map::{
    ANSWER_NUMBER_OFFSET, ANSWER_OFFSET, DATA_OFFSET, EXIT_LENGTH_OFFSET, EXIT_OFFSET, MAX_EXIT_BYTES,
    REQUEST_NUMBER_OFFSET, REQUEST_OFFSET,
};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Untrusted memory. Another process may write to it at any time.
#[derive(Debug)]
pub struct Untrusted {
    file: File,
    bytes: u64,
}

impl Untrusted {
    /// Creates this many bytes of zeros. Child processes inherit the file.
    pub(super) fn new(bytes: u64) -> io::Result<Self> {
        let file = File::from(memfd_create("ameles-untrusted", MemfdFlags::ALLOW_SEALING)?);
        file.set_len(bytes)?;
        fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW)?;
        Ok(Untrusted { file, bytes })
    }

    /// Returns the file, to be mapped.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Returns the length in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Reads bytes.
    ///
    /// # Errors
    /// The errors of the system; bytes beyond the end.
    pub fn read(&self, at: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(buffer, at)
    }

    /// Writes bytes.
    ///
    /// # Errors
    /// The errors of the system; bytes beyond the end.
    pub fn write(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, at)
    }

    /// Returns the runtime's request with this number, if it has arrived.
    ///
    /// Callers poll one number after the other, so a half-written number is never taken for another.
    pub(super) fn request(&self, number: u64) -> io::Result<Option<Result<Request, RequestError>>> {
        if self.word(REQUEST_NUMBER_OFFSET)? != number {
            return Ok(None);
        }
        let mut request = [0; REQUEST_BYTES];
        self.read(REQUEST_OFFSET, &mut request)?;
        Ok(Some(Request::parse(&request)))
    }

    /// Reads the data of a request.
    pub(super) fn data(&self, bytes: u32) -> io::Result<Vec<u8>> {
        let mut data = vec![0; bytes as usize];
        self.read(DATA_OFFSET, &mut data)?;
        Ok(data)
    }

    /// Writes the answer to a request, with its data.
    pub(super) fn answer(&self, number: u64, answer: Answer, data: &[u8]) -> io::Result<()> {
        let answer: [u8; ANSWER_BYTES] = answer.encode();
        self.write(DATA_OFFSET, data)?;
        self.write(ANSWER_OFFSET, &answer)?;
        self.write(ANSWER_NUMBER_OFFSET, &number.to_le_bytes())
    }

    /// Returns the exit record of the runtime, if there is one.
    pub(super) fn exit_record(&self) -> io::Result<Option<Result<ExitRecord, ExitError>>> {
        let length = self.word(EXIT_LENGTH_OFFSET)?;
        if length == 0 {
            return Ok(None);
        }
        let mut record = vec![0; length.min(MAX_EXIT_BYTES) as usize];
        self.read(EXIT_OFFSET, &mut record)?;
        Ok(Some(ExitRecord::parse(&record)))
    }

    fn word(&self, at: u64) -> io::Result<u64> {
        let mut word = [0; 8];
        self.read(at, &mut word)?;
        Ok(u64::from_le_bytes(word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ameles_enclave_boundary::map::MAX_DATA_BYTES;

    fn memory() -> Untrusted {
        Untrusted::new(2 << 20).unwrap()
    }

    #[test]
    fn a_request_is_read_once_its_number_is_written() {
        let memory = memory();
        assert_eq!(memory.request(1).unwrap(), None);
        memory.write(REQUEST_OFFSET, &Request::Read { max: 7 }.encode()).unwrap();
        memory.write(REQUEST_NUMBER_OFFSET, &1u64.to_le_bytes()).unwrap();
        assert_eq!(memory.request(1).unwrap(), Some(Ok(Request::Read { max: 7 })));
        assert_eq!(memory.request(2).unwrap(), None);
    }

    #[test]
    fn invalid_requests_and_records_are_errors() {
        let memory = memory();
        memory.write(REQUEST_OFFSET, &[0xff; REQUEST_BYTES]).unwrap();
        memory.write(REQUEST_NUMBER_OFFSET, &1u64.to_le_bytes()).unwrap();
        assert!(matches!(memory.request(1).unwrap(), Some(Err(_))));
        assert!(memory.exit_record().unwrap().is_none());
        memory.write(EXIT_LENGTH_OFFSET, &u64::MAX.to_le_bytes()).unwrap();
        assert!(matches!(memory.exit_record().unwrap(), Some(Err(_))));
    }

    #[test]
    fn an_answer_and_its_data_are_written_where_the_runtime_reads() {
        let memory = memory();
        memory.answer(3, Answer::Done { bytes: 5 }, b"hello").unwrap();
        let mut answer = [0; ANSWER_BYTES];
        memory.read(ANSWER_OFFSET, &mut answer).unwrap();
        let request = Request::Read { max: MAX_DATA_BYTES };
        assert_eq!(Answer::parse(&answer, &request), Ok(Answer::Done { bytes: 5 }));
        assert_eq!(
            (memory.data(5).unwrap(), memory.word(ANSWER_NUMBER_OFFSET).unwrap()),
            (b"hello".to_vec(), 3)
        );
    }
}
