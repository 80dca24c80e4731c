package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// state names the places under the state directory and the addresses of one server.
type state struct {
	dir  string
	port int
}

func (s state) pki(file string) string  { return filepath.Join(s.dir, "pki", file) }
func (s state) etcdData() string        { return filepath.Join(s.dir, "etcd") }
func (s state) tokens() string          { return filepath.Join(s.dir, "tokens.csv") }
func (s state) auditLog() string        { return s.path("audit.log") }
func (s state) path(file string) string { return filepath.Join(s.dir, file) }
func (s state) serverURL() string       { return fmt.Sprintf("https://127.0.0.1:%d", s.port) }
func (s state) etcdURL() string         { return fmt.Sprintf("http://127.0.0.1:%d", s.port+1) }
func (s state) etcdPeerURL() string     { return fmt.Sprintf("http://127.0.0.1:%d", s.port+2) }

// openState makes the state directory ready. Certificates are made once and stay for as long as the state is kept;
// the kubeconfigs are written on every start, because the port may have changed.
func openState(dir string, port int, keep bool) (state, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return state{}, err
	}
	s := state{dir: abs, port: port}
	if !keep {
		for _, old := range []string{s.etcdData(), s.pki(""), s.auditLog()} {
			if err := os.RemoveAll(old); err != nil {
				return state{}, err
			}
		}
	}
	if err := os.MkdirAll(s.pki(""), 0o700); err != nil {
		return state{}, err
	}
	if _, err := os.Stat(s.pki(pkiComplete)); err != nil {
		if err := writePKI(s); err != nil {
			return state{}, err
		}
	}
	return s, writeCredentials(s)
}
