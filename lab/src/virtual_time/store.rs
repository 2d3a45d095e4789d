//! A simulated object store as a scheme sees it: slots and buckets. Headers have their contents, payloads are empty,
//! and sizes are counted as if payloads were full.

use super::clock::Clock;
use super::network::{Network, RequestKind};
use ameles_core::store::Store;
use ameles_core::tree::layout::Layout;
use ameles_core::types::{Bucket, Slot};
use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::rc::Rc;
use std::time::Duration;

/// The mapping of reads of slots and writes of buckets to requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestMapping {
    /// The requests of Ameles's store. A written bucket is one PUT, and one removal of its old version. Adjacent slots
    /// of one bucket are one GET.
    Ameles,
    /// The requests of the thesis's proxy for Ring ORAM, whose metadata is in the store. For a slot, the bucket's
    /// record is read three times and written once. Where several slots of a bucket are read, the bucket and its record
    /// are read whole.
    ThesisProxy {
        /// The number of bytes of the record of a bucket.
        record_bytes: u64,
    },
}

/// The shape of a simulated store.
#[derive(Clone, Debug)]
pub struct StoreShape {
    /// The layout that the scheme has, with blocks of no bytes.
    pub empty: Layout,
    /// The layout with real blocks. Its extents are the same.
    pub real: Layout,
    /// The number of bytes that sealing adds to a slot.
    pub sealing_bytes: u64,
    /// True if every bucket counts as written from the beginning. If false, no request is sent for a bucket that was
    /// never written, as below Ameles's sealing layer.
    pub filled: bool,
    /// The mapping to requests.
    pub requests: RequestMapping,
}

impl StoreShape {
    /// Returns the number of bytes of the whole store.
    pub fn bytes(&self) -> u64 {
        self.real.bytes().0 + self.real.slots() * self.sealing_bytes
    }
}

/// A run of equal buckets.
struct BucketRun {
    first_bucket: u64,
    /// The number of the bucket after its last one.
    end_bucket: u64,
    first_byte: usize,
    slots: u32,
    empty_bytes: usize,
    real_bytes: u64,
}

/// The simulated store.
pub struct SimulatedStore {
    clock: Rc<Clock>,
    network: Rc<RefCell<Network>>,
    runs: Vec<BucketRun>,
    /// The number of the run that was searched for last: most buckets are in the run of the one before.
    last_run: Cell<usize>,
    requests: RequestMapping,
    contents: RefCell<Contents>,
}

struct Contents {
    bytes: Vec<u8>,
    written: Vec<bool>,
}

impl SimulatedStore {
    /// A store of zeros.
    pub fn new(shape: &StoreShape, clock: Rc<Clock>, network: Rc<RefCell<Network>>) -> Self {
        let (mut runs, mut first_bucket, mut first_byte) = (Vec::new(), 0, 0);
        for (empty, real) in shape.empty.extents().iter().zip(shape.real.extents()) {
            let (slots, empty_bytes) = (empty.slots, empty.slot_bytes as usize);
            let real_bytes = u64::from(real.slot_bytes) + shape.sealing_bytes;
            let end_bucket = first_bucket + empty.buckets;
            runs.push(BucketRun { first_bucket, end_bucket, first_byte, slots, empty_bytes, real_bytes });
            first_bucket = end_bucket;
            first_byte += empty.buckets as usize * slots as usize * empty_bytes;
        }
        let contents =
            Contents { bytes: vec![0; first_byte], written: vec![shape.filled; first_bucket as usize] };
        let (last_run, contents) = (Cell::new(0), RefCell::new(contents));
        SimulatedStore { clock, network, runs, last_run, requests: shape.requests, contents }
    }

    /// Lays the contents of a slot down, before the run begins: no request, and no time.
    pub fn preload(&self, slot: Slot, contents: &[u8]) {
        let (start, len) = self.place(slot);
        let mut stored = self.contents.borrow_mut();
        stored.bytes[start..start + len].copy_from_slice(contents);
        stored.written[slot.bucket.0 as usize] = true;
    }

    fn run_of(&self, bucket: Bucket) -> &BucketRun {
        let last = &self.runs[self.last_run.get()];
        if last.first_bucket <= bucket.0 && bucket.0 < last.end_bucket {
            return last;
        }
        let behind = self.runs.partition_point(|run| run.first_bucket <= bucket.0);
        self.last_run.set(behind - 1);
        &self.runs[behind - 1]
    }

    /// The first byte of a slot, and its length.
    fn place(&self, slot: Slot) -> (usize, usize) {
        let run = self.run_of(slot.bucket);
        let nth = (slot.bucket.0 - run.first_bucket) as usize * run.slots as usize + slot.index as usize;
        (run.first_byte + nth * run.empty_bytes, run.empty_bytes)
    }

    /// Sends the requests that read the slots. Returns the instant of the last answer.
    fn send_reads(&self, slots: &[Slot]) -> Duration {
        let contents = self.contents.borrow();
        let is_written = |slot: &Slot| contents.written[slot.bucket.0 as usize];
        let mut wanted: Vec<Slot> = slots.iter().copied().filter(is_written).collect();
        wanted.sort_unstable();
        let (now, network) = (self.clock.now(), &mut *self.network.borrow_mut());
        let mut answered = now;
        let mut send_request = |kind, bytes| answered = answered.max(network.request(now, kind, bytes));
        for of_bucket in wanted.chunk_by(|one, next| one.bucket == next.bucket) {
            let run = self.run_of(of_bucket[0].bucket);
            match self.requests {
                RequestMapping::Ameles => {
                    for range in of_bucket.chunk_by(|one, next| one.index + 1 == next.index) {
                        send_request(RequestKind::Get, range.len() as u64 * run.real_bytes);
                    }
                }
                RequestMapping::ThesisProxy { record_bytes } if of_bucket.len() == 1 => {
                    (0..3).for_each(|_| send_request(RequestKind::GetMetadata, record_bytes));
                    send_request(RequestKind::Get, run.real_bytes);
                    send_request(RequestKind::PutMetadata, record_bytes);
                }
                RequestMapping::ThesisProxy { record_bytes } => {
                    send_request(RequestKind::GetMetadata, record_bytes);
                    send_request(RequestKind::Get, u64::from(run.slots) * run.real_bytes);
                }
            }
        }
        answered
    }

    /// Sends the requests that write the buckets. Returns the instant of the last answer.
    fn send_writes(&self, buckets: &[Bucket]) -> Duration {
        let (now, network) = (self.clock.now(), &mut *self.network.borrow_mut());
        let written = &mut self.contents.borrow_mut().written;
        let mut answered = now;
        for bucket in buckets {
            let run = self.run_of(*bucket);
            answered =
                answered.max(network.request(now, RequestKind::Put, u64::from(run.slots) * run.real_bytes));
            let replaces = std::mem::replace(&mut written[bucket.0 as usize], true);
            match self.requests {
                RequestMapping::Ameles => network.remove(replaces.into()),
                RequestMapping::ThesisProxy { record_bytes } => {
                    answered = answered.max(network.request(now, RequestKind::PutMetadata, record_bytes));
                }
            }
        }
        answered
    }
}

/// A read returns the content at the time of the request, as [`Store`] promises. A write changes the content at once:
/// no bucket is read while its write is in flight.
impl Store for SimulatedStore {
    type Error = Infallible;

    async fn read(&self, slots: &[Slot], into: &mut [u8]) -> Result<(), Infallible> {
        let mut rest = into;
        for slot in slots {
            let (start, len) = self.place(*slot);
            let (one, behind) = rest.split_at_mut(len);
            one.copy_from_slice(&self.contents.borrow().bytes[start..start + len]);
            rest = behind;
        }
        let answered = self.send_reads(slots);
        self.clock.sleep_until(answered).await;
        Ok(())
    }

    async fn write(&self, buckets: &[Bucket], from: &[u8]) -> Result<(), Infallible> {
        let mut rest = from;
        for bucket in buckets {
            let (start, len) = self.place(Slot::only(*bucket));
            let len = len * self.run_of(*bucket).slots as usize;
            let (one, behind) = rest.split_at(len);
            self.contents.borrow_mut().bytes[start..start + len].copy_from_slice(one);
            rest = behind;
        }
        let answered = self.send_writes(buckets);
        self.clock.sleep_until(answered).await;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::network::{LinkModel, ServerTime};
    use super::*;
    use ameles_core::tree::layout::Extent;
    use ameles_store::{BitsPerSecond, LinkSpeed, Usage};

    /// Two buckets of 4 slots of 2 + 100 bytes, and one of 1 slot of 3 + 50 bytes; 10 ms a round trip.
    fn store(filled: bool, requests: RequestMapping) -> (Rc<Clock>, Rc<RefCell<Network>>, SimulatedStore) {
        let layout = |bytes: [u32; 2]| {
            Layout::new(vec![
                Extent { buckets: 2, slots: 4, slot_bytes: bytes[0] },
                Extent { buckets: 1, slots: 1, slot_bytes: bytes[1] },
            ])
        };
        let shape =
            StoreShape { empty: layout([2, 3]), real: layout([92, 43]), sealing_bytes: 10, filled, requests };
        assert_eq!(shape.bytes(), 8 * 102 + 53);
        let unlimited = BitsPerSecond(0);
        let speed = LinkSpeed { round_trip: Duration::from_millis(10), up: unlimited, down: unlimited };
        let model = LinkModel {
            speed,
            server: ServerTime::default(),
            request_bandwidth: BitsPerSecond(0),
            in_flight: 100,
        };
        let (clock, network) = (Rc::new(Clock::default()), Rc::new(RefCell::new(Network::new(model))));
        let store = SimulatedStore::new(&shape, clock.clone(), network.clone());
        (clock, network, store)
    }

    fn slots(slots: &[(u64, u32)]) -> Vec<Slot> {
        slots.iter().map(|(bucket, index)| Slot { bucket: Bucket(*bucket), index: *index }).collect()
    }

    fn traffic(usage: &Usage) -> [u64; 5] {
        [usage.gets(), usage.puts(), usage.deletes(), usage.bytes_down, usage.bytes_up]
    }

    #[test]
    fn what_was_written_is_read_and_both_take_a_round_trip() {
        let (clock, _, store) = store(false, RequestMapping::Ameles);
        let read = async {
            store.write(&[Bucket(2), Bucket(1)], &[7, 8, 9, 0, 1, 2, 3, 4, 5, 6, 7]).await.unwrap();
            let mut into = [0; 5];
            store.read(&slots(&[(1, 3), (2, 0)]), &mut into).await.unwrap();
            into
        };
        assert_eq!(clock.run(read).unwrap(), [6, 7, 7, 8, 9]);
        assert_eq!(clock.now(), Duration::from_millis(20));
    }

    #[test]
    fn adjacent_slots_are_one_request_and_a_bucket_is_one() {
        let (clock, network, store) = store(true, RequestMapping::Ameles);
        let mut into = [0; 11];
        clock.run(store.read(&slots(&[(0, 2), (2, 0), (0, 1), (1, 0), (1, 2)]), &mut into)).unwrap().unwrap();
        assert_eq!(traffic(&network.borrow().usage()), [4, 0, 0, 4 * 102 + 53, 0]);
        clock.run(store.write(&[Bucket(0)], &[0; 8])).unwrap().unwrap();
        assert_eq!(traffic(&network.borrow().usage())[1..3], [1, 1], "the old version is removed");
        assert_eq!(network.borrow().usage().bytes_up, 4 * 102);
    }

    #[test]
    fn nothing_is_asked_for_what_was_never_written() {
        let (clock, network, store) = store(false, RequestMapping::Ameles);
        let mut into = [9; 2];
        clock.run(store.read(&slots(&[(0, 2)]), &mut into)).unwrap().unwrap();
        assert_eq!((into, clock.now()), ([0; 2], Duration::ZERO));
        clock.run(store.write(&[Bucket(0)], &[0; 8])).unwrap().unwrap();
        clock.run(store.read(&slots(&[(0, 2)]), &mut into)).unwrap().unwrap();
        assert_eq!(traffic(&network.borrow().usage()), [1, 1, 0, 102, 4 * 102]);
    }

    #[test]
    fn the_proxy_reads_a_record_three_times_for_a_slot_and_buckets_whole() {
        let (clock, network, store) = store(true, RequestMapping::ThesisProxy { record_bytes: 7 });
        let mut into = [0; 2];
        clock.run(store.read(&slots(&[(0, 2)]), &mut into)).unwrap().unwrap();
        assert_eq!(traffic(&network.borrow().usage()), [4, 1, 0, 3 * 7 + 102, 7]);
        let mut into = [0; 4];
        clock.run(store.read(&slots(&[(0, 0), (0, 2)]), &mut into)).unwrap().unwrap();
        assert_eq!(traffic(&network.borrow().usage()), [6, 1, 0, 4 * 7 + 5 * 102, 7]);
        clock.run(store.write(&[Bucket(0)], &[0; 8])).unwrap().unwrap();
        assert_eq!(traffic(&network.borrow().usage())[1], 3);
    }
}
