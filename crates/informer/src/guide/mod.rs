//! Guides: from a first informer to a controller in production, and for people who come from elsewhere.
//!
//! | guide | for |
//! |---|---|
//! | [`production`] | everyone: one step after the other |
//! | [`testing_your_controller`] | who writes tests, also coming from a fake clientset, envtest or a mock |
//! | [`coming_from_client_go`] | who knows informers in Go |
//! | [`coming_from_kube_rs`] | who knows kube's watchers, reflectors and controllers |
//!
//! Every piece of code in them is compiled with the crate's tests.

#[doc = include_str!("production.md")]
pub mod production {}

#[doc = include_str!("testing_your_controller.md")]
pub mod testing_your_controller {}

#[doc = include_str!("coming_from_client_go.md")]
pub mod coming_from_client_go {}

#[doc = include_str!("coming_from_kube_rs.md")]
pub mod coming_from_kube_rs {}
