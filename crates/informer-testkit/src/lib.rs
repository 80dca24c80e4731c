//! A Kubernetes API server in memory, over real HTTP, for tests of controllers and informers.
