//! Feeds any bytes to `informer_fuzz::kubeconfig`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| informer_fuzz::kubeconfig(bytes));
