//! The reflector at work: a scripted source on one side, a naive sink on the other, in virtual time.

mod failures;
mod lists;
mod logs;
mod objects;
mod observed;
mod properties;
mod running;
mod streaming;
mod support;
mod tools;
mod watches;
