//! List and watch Kubernetes objects into a store or queue, whatever the server does.
