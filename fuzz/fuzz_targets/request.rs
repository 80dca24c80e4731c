//! Feeds any bytes to `informer_fuzz::request`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| informer_fuzz::request(bytes));
