//! Feeds any bytes to `informer_fuzz::server`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| informer_fuzz::server(bytes));
