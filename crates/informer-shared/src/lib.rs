//! Shared Kubernetes informers: one cache and one watch for many handlers, and a factory of them.
