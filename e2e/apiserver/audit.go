package main

import (
	"fmt"
	"os"
)

// auditPolicy has every request logged twice, when it is received and when it is answered, each time with both
// moments. Writes of leases are answered with the lease, so that the log tells who held it until when. What the server
// asks of itself is left out.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [ResponseStarted]
rules:
- level: None
  users: ["system:apiserver"]
- level: RequestResponse
  verbs: [create, update, patch]
  resources: [{group: coordination.k8s.io, resources: [leases]}]
- level: Metadata
`

// auditFlags writes the policy and returns the flags for a log by it. No request goes on before it is in the log.
func auditFlags(s state) ([]string, error) {
	policy := s.path("audit-policy.yaml")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		return nil, fmt.Errorf("write the audit policy: %w", err)
	}
	return []string{
		"--audit-policy-file=" + policy,
		"--audit-log-path=" + s.auditLog(),
		"--audit-log-mode=blocking-strict",
	}, nil
}
