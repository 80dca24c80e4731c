//! Feeds any bytes to `informer_fuzz::exec_credential`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| informer_fuzz::exec_credential(bytes));
