package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"time"
)

// pkiComplete is written last, so that a start that was killed half-way makes the certificates anew.
const pkiComplete = "complete"

// validity is longer than any test and short enough that a forgotten state directory is worth nothing.
const validity = 30 * 24 * time.Hour

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// writePKI makes the authority, the server's and the administrator's certificates, and the key for service accounts.
func writePKI(s state) error {
	ca, err := newAuthority(s)
	if err != nil {
		return err
	}
	server := &x509.Certificate{
		Subject:     pkix.Name{CommonName: "kube-apiserver"},
		DNSNames:    []string{"localhost", "kubernetes.default.svc"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if err := ca.issue(s, "server", server); err != nil {
		return err
	}
	admin := &x509.Certificate{
		Subject:     pkix.Name{CommonName: "e2e-admin", Organization: []string{"system:masters"}},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	if err := ca.issue(s, "admin", admin); err != nil {
		return err
	}
	if err := writeServiceAccountKey(s); err != nil {
		return err
	}
	return os.WriteFile(s.pki(pkiComplete), nil, 0o600)
}

// newAuthority makes the self-signed root that clients of this server trust.
func newAuthority(s state) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	ca := &authority{key: key, cert: &x509.Certificate{
		Subject:  pkix.Name{CommonName: "informer-e2e-ca"},
		IsCA:     true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}}
	der, err := ca.sign(ca.cert, key)
	if err != nil {
		return nil, fmt.Errorf("sign the authority: %w", err)
	}
	if ca.cert, err = x509.ParseCertificate(der); err != nil {
		return nil, err
	}
	return ca, writePEM(s.pki("ca.crt"), "CERTIFICATE", der)
}

// issue makes a key, signs a certificate for it, and writes both as name.crt and name.key.
func (a *authority) issue(s state, name string, template *x509.Certificate) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	der, err := a.sign(template, key)
	if err != nil {
		return fmt.Errorf("sign %s: %w", name, err)
	}
	if err := writePEM(s.pki(name+".crt"), "CERTIFICATE", der); err != nil {
		return err
	}
	return writeKey(s.pki(name+".key"), key)
}

// sign completes the template with a serial number and a validity and signs it.
func (a *authority) sign(template *x509.Certificate, key *ecdsa.PrivateKey) ([]byte, error) {
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		return nil, err
	}
	template.SerialNumber = serial
	template.BasicConstraintsValid = true
	template.NotBefore = time.Now().Add(-time.Hour) // clocks may differ by a little
	template.NotAfter = time.Now().Add(validity)
	return x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
}

// writeServiceAccountKey makes the pair that kube-apiserver signs and checks service account tokens with.
func writeServiceAccountKey(s state) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return err
	}
	if err := writePEM(s.pki("service-account.pub"), "PUBLIC KEY", public); err != nil {
		return err
	}
	return writeKey(s.pki("service-account.key"), key)
}

func writeKey(file string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	return writePEM(file, "PRIVATE KEY", der)
}

func writePEM(file, kind string, der []byte) error {
	return os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}
