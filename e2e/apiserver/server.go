package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"k8s.io/kubernetes/cmd/kube-apiserver/app"
)

// serve runs kube-apiserver until a signal or genericapiserver.RequestShutdown stops it.
func serve(s state, extra []string) error {
	command := app.NewAPIServerCommand()
	command.SetArgs(append(serverFlags(s), extra...))
	return command.Execute()
}

// serverFlags are the least that kube-apiserver needs to serve all built-in kinds and custom resources without any
// other component beside it.
func serverFlags(s state) []string {
	return []string{
		"--etcd-servers=" + s.etcdURL(),
		"--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", s.port),
		"--tls-cert-file=" + s.pki("server.crt"),
		"--tls-private-key-file=" + s.pki("server.key"),
		"--client-ca-file=" + s.pki("ca.crt"),
		"--token-auth-file=" + s.tokens(),
		"--authorization-mode=RBAC",
		"--service-cluster-ip-range=10.0.0.0/24",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + s.pki("service-account.pub"),
		"--service-account-signing-key-file=" + s.pki("service-account.key"),
		// No controller makes the service accounts that this plugin demands of every pod.
		"--disable-admission-plugins=ServiceAccount",
		// History is dropped when a test asks for it, and at no other time.
		"--etcd-compaction-interval=0",
		"--profiling=false",
		// Ends open watches on a graceful stop. Without it the stop waits for them for up to a minute.
		"--shutdown-watch-termination-grace-period=1s",
	}
}

// waitReady returns once the server calls itself ready and the namespace "default", which it makes on its own a
// moment later, is there.
func waitReady(s state, timeout time.Duration) error {
	pem, err := os.ReadFile(s.pki("ca.crt"))
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return errors.New("ca.crt holds no certificate")
	}
	client := &http.Client{
		Timeout:   2 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}},
	}
	defer client.CloseIdleConnections()
	deadline := time.Now().Add(timeout)
	for _, path := range []string{"/readyz", "/api/v1/namespaces/default"} {
		for err = answersOK(client, s.serverURL()+path); err != nil; err = answersOK(client, s.serverURL()+path) {
			if time.Now().After(deadline) {
				return fmt.Errorf("not ready within %s: %w", timeout, err)
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	return nil
}

func answersOK(client *http.Client, url string) error {
	request, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+adminToken)
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", url, response.Status)
	}
	return nil
}
