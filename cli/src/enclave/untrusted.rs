//! The machine's untrusted memory: a file in memory, which the emulator maps and this process reads and writes.

use ameles_enclave_boundary::exit::{ExitError, ExitRecord};
use ameles_enclave_boundary::mailbox::{ANSWER_BYTES, Answer, REQUEST_BYTES, Request, RequestError};
use ameles_enclave_boundary::map::{
    ANSWER_AT, ANSWER_NUMBER_AT, DATA_AT, EXIT_AT, EXIT_LENGTH_AT, MAX_EXIT_BYTES, REQUEST_AT,
    REQUEST_NUMBER_AT,
};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Untrusted memory. Another process writes to it at any moment.
#[derive(Debug)]
pub struct Untrusted {
    file: File,
    bytes: u64,
}

impl Untrusted {
    /// Zeros, so many bytes of them. Processes that are started inherit the file.
    pub(super) fn new(bytes: u64) -> io::Result<Self> {
        let file = File::from(memfd_create("ameles-untrusted", MemfdFlags::ALLOW_SEALING)?);
        file.set_len(bytes)?;
        fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW)?;
        Ok(Untrusted { file, bytes })
    }

    /// The file itself, for those who map it.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Its length in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Copies out what is there now.
    ///
    /// # Errors
    /// The system's; bytes beyond the end.
    pub fn read(&self, at: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(buffer, at)
    }

    /// Writes bytes.
    ///
    /// # Errors
    /// The system's; bytes beyond the end.
    pub fn write(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, at)
    }

    /// The runtime's request with this number, if it is there.
    ///
    /// Numbers are asked for one by one: of a number that is half written, no other is taken for it.
    pub(super) fn request(&self, number: u64) -> io::Result<Option<Result<Request, RequestError>>> {
        if self.word(REQUEST_NUMBER_AT)? != number {
            return Ok(None);
        }
        let mut request = [0; REQUEST_BYTES];
        self.read(REQUEST_AT, &mut request)?;
        Ok(Some(Request::parse(&request)))
    }

    /// The bytes that go with a request.
    pub(super) fn data(&self, bytes: u32) -> io::Result<Vec<u8>> {
        let mut data = vec![0; bytes as usize];
        self.read(DATA_AT, &mut data)?;
        Ok(data)
    }

    /// Answers a request, with data that go with the answer.
    pub(super) fn answer(&self, number: u64, answer: Answer, data: &[u8]) -> io::Result<()> {
        let answer: [u8; ANSWER_BYTES] = answer.encode();
        self.write(DATA_AT, data)?;
        self.write(ANSWER_AT, &answer)?;
        self.write(ANSWER_NUMBER_AT, &number.to_le_bytes())
    }

    /// The record that the runtime left, if it left any.
    pub(super) fn exit_record(&self) -> io::Result<Option<Result<ExitRecord, ExitError>>> {
        let length = self.word(EXIT_LENGTH_AT)?;
        if length == 0 {
            return Ok(None);
        }
        let mut record = vec![0; length.min(MAX_EXIT_BYTES) as usize];
        self.read(EXIT_AT, &mut record)?;
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
    fn a_request_is_there_when_its_number_is() {
        let memory = memory();
        assert_eq!(memory.request(1).unwrap(), None);
        memory.write(REQUEST_AT, &Request::Read { max: 7 }.encode()).unwrap();
        memory.write(REQUEST_NUMBER_AT, &1u64.to_le_bytes()).unwrap();
        assert_eq!(memory.request(1).unwrap(), Some(Ok(Request::Read { max: 7 })));
        assert_eq!(memory.request(2).unwrap(), None);
    }

    #[test]
    fn bytes_that_are_no_request_and_no_record_are_errors() {
        let memory = memory();
        memory.write(REQUEST_AT, &[0xff; REQUEST_BYTES]).unwrap();
        memory.write(REQUEST_NUMBER_AT, &1u64.to_le_bytes()).unwrap();
        assert!(matches!(memory.request(1).unwrap(), Some(Err(_))));
        assert!(memory.exit_record().unwrap().is_none());
        memory.write(EXIT_LENGTH_AT, &u64::MAX.to_le_bytes()).unwrap();
        assert!(matches!(memory.exit_record().unwrap(), Some(Err(_))));
    }

    #[test]
    fn an_answer_and_its_data_stand_where_the_runtime_looks() {
        let memory = memory();
        memory.answer(3, Answer::Done { bytes: 5 }, b"hello").unwrap();
        let mut answer = [0; ANSWER_BYTES];
        memory.read(ANSWER_AT, &mut answer).unwrap();
        let request = Request::Read { max: MAX_DATA_BYTES };
        assert_eq!(Answer::parse(&answer, &request), Ok(Answer::Done { bytes: 5 }));
        assert_eq!((memory.data(5).unwrap(), memory.word(ANSWER_NUMBER_AT).unwrap()), (b"hello".to_vec(), 3));
    }
}
