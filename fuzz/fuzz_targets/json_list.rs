//! Feeds any bytes to `informer_fuzz::json_list`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| informer_fuzz::json_list(bytes));
