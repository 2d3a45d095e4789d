//! The sums of a meter, with a clock that advances by one at every reading.

use super::setup::{layout, memory, pool, read, region, slot, snapshot, write};
use ameles_seal::pages::{PageCipher, PageMeter};
use std::sync::Arc;

const PAGE: usize = 4096;

thread_local! {
    static LOOKS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// A clock for each thread: its work between two readings takes one.
fn clock() -> u64 {
    LOOKS.set(LOOKS.get() + 1);
    LOOKS.get()
}

fn meter() -> &'static PageMeter {
    Box::leak(Box::new(PageMeter::new(clock)))
}

#[test]
fn each_page_counts_with_its_cipher_and_its_copies_on_one_thread_as_on_several() {
    for threads in [1, 3] {
        let layout = layout(9, 1, PAGE as u32);
        let meter = meter();
        let cipher = PageCipher::Aes256Gcm;
        let pages =
            region(memory(&layout, cipher), &layout, cipher, 1).with_pool(pool(threads)).with_meter(meter);
        write(&pages, &[0, 1, 2, 3], &[7; 4 * PAGE]).unwrap();
        assert_eq!((meter.crypto_nanos(), meter.copying_nanos()), (4, 8), "{threads} threads");
        // The last one was never written, and nothing is opened or copied for it.
        read(&pages, &[slot(1, 0), slot(2, 0), slot(8, 0)], PAGE).unwrap();
        assert_eq!((meter.crypto_nanos(), meter.copying_nanos()), (6, 10), "{threads} threads");
    }
}

#[test]
fn a_meter_changes_nothing_of_what_is_sealed() {
    let layout = layout(3, 1, PAGE as u32);
    let cipher = PageCipher::Aegis256X2;
    let sealed = |metered: bool| {
        let memory = memory(&layout, cipher);
        let mut pages = region(Arc::clone(&memory), &layout, cipher, 1);
        if metered {
            pages = pages.with_meter(meter());
        }
        write(&pages, &[2, 0], &[9; 2 * PAGE]).unwrap();
        snapshot(&*memory)
    };
    assert_eq!(sealed(true), sealed(false));
}
