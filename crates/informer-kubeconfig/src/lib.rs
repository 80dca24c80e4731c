//! Kubernetes client configuration: kubeconfig files, their merging, and in-cluster configuration.
