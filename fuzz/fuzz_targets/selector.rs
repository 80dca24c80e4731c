//! Feeds any bytes to `informer_fuzz::selector`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| informer_fuzz::selector(bytes));
