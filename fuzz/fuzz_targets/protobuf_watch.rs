//! Feeds any bytes to `informer_fuzz::protobuf_watch`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| informer_fuzz::protobuf_watch(bytes));
