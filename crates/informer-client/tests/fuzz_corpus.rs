//! The fuzz targets for requests, run over what is in their corpora: no panic, and no more memory than the bytes
//! deserve.
#![cfg(feature = "tower")]
#![allow(missing_docs, reason = "these are tests")]

#[path = "../../../fuzz/replay.rs"]
mod replay;
#[allow(unreachable_pub, reason = "the fuzz targets use them")]
#[path = "../../../fuzz/src/requests.rs"]
mod requests;

use replay::replay;

macro_rules! targets {
    ($($target:ident)*) => {$(
        // INV-CLIENT-14
        #[test]
        fn $target() {
            replay(stringify!($target), 1_000_000, 200, requests::$target);
        }
    )*};
}

targets!(request selector);
