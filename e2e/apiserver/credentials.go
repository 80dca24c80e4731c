package main

import (
	"encoding/csv"
	"fmt"
	"os"
	"strings"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

const (
	// adminToken may do everything.
	adminToken = "admin-token"
	// nobodyToken is known to the server but may do nothing.
	nobodyToken = "nobody-token"
)

// writeCredentials writes the token file and a kubeconfig for each way in.
func writeCredentials(s state) error {
	if err := writeTokens(s); err != nil {
		return fmt.Errorf("write tokens: %w", err)
	}
	ca, err := os.ReadFile(s.pki("ca.crt"))
	if err != nil {
		return err
	}
	byFile := clientcmdapi.Cluster{Server: s.serverURL(), CertificateAuthority: s.pki("ca.crt")}
	inline := clientcmdapi.Cluster{Server: s.serverURL(), CertificateAuthorityData: ca}
	// The three differ in how they give the authority and the user, so that tests meet each form.
	configs := []struct {
		file    string
		cluster clientcmdapi.Cluster
		user    clientcmdapi.AuthInfo
	}{
		{"kubeconfig", byFile, clientcmdapi.AuthInfo{ClientCertificate: s.pki("admin.crt"), ClientKey: s.pki("admin.key")}},
		{"kubeconfig-token", inline, clientcmdapi.AuthInfo{Token: adminToken}},
		{"kubeconfig-nobody", inline, clientcmdapi.AuthInfo{Token: nobodyToken}},
	}
	for _, c := range configs {
		if err := writeKubeconfig(s.path(c.file), c.cluster, c.user); err != nil {
			return fmt.Errorf("write %s: %w", c.file, err)
		}
	}
	return nil
}

// writeTokens writes kube-apiserver's static token file: token, user, uid, groups.
func writeTokens(s state) error {
	var text strings.Builder
	w := csv.NewWriter(&text)
	records := [][]string{
		{adminToken, "e2e-admin", "e2e-admin", "system:masters"},
		{nobodyToken, "e2e-nobody", "e2e-nobody", "nobodies"},
	}
	if err := w.WriteAll(records); err != nil {
		return err
	}
	return os.WriteFile(s.tokens(), []byte(text.String()), 0o600)
}

func writeKubeconfig(file string, cluster clientcmdapi.Cluster, user clientcmdapi.AuthInfo) error {
	config := clientcmdapi.NewConfig()
	config.Clusters["e2e"] = &cluster
	config.AuthInfos["e2e"] = &user
	config.Contexts["e2e"] = &clientcmdapi.Context{Cluster: "e2e", AuthInfo: "e2e"}
	config.CurrentContext = "e2e"
	return clientcmd.WriteToFile(*config, file)
}
