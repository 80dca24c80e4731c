//! The fuzz targets, run over what is in their corpora: no panic, and no more memory than the bytes deserve.
#![allow(missing_docs, reason = "these are tests")]

#[allow(unreachable_pub, reason = "the fuzz targets use them")]
#[path = "../../../fuzz/src/decoders.rs"]
mod decoders;
#[path = "../../../fuzz/replay.rs"]
mod replay;

use replay::replay;

macro_rules! targets {
    ($($target:ident)*) => {$(
        // INV-WIRE-13
        #[test]
        fn $target() {
            let left = replay(stringify!($target), 400_000, 60, decoders::$target);
            assert!(left.is_empty(), "something is left of {left:?}");
        }
    )*};
}

targets!(json_list protobuf_list json_watch protobuf_watch object status);
