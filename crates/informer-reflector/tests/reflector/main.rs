//! The reflector at work: a scripted source on one side, a naive sink on the other, in virtual time.

mod failures;
mod held_back;
mod histories;
mod lists;
mod logs;
mod mirror;
mod objects;
mod observed;
mod running;
mod streaming;
mod support;
mod watches;
