//! A connection to a Kubernetes API server: TLS, credentials, and typed requests.
