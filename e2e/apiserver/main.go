// Command apiserver runs the real kube-apiserver and the real etcd in one process on loopback, for end-to-end tests.
//
//	apiserver -dir DIR [-port 16443] [-keep] [-control] [-audit] [-controllers NAMES] [-- FLAGS OF KUBE-APISERVER]
//
// Everything it writes lies under DIR: certificates in pki, the tokens, three kubeconfigs, and etcd's data. Without
// -keep what an earlier run left there is removed first; with it the server comes back with the same data, the same
// certificates and, given the same port, under the same address. With -audit each request is in audit.log, as audit.go
// says. FLAGS override the ones set here.
//
// Once the server answers and the namespace "default" exists, one line goes to standard output:
//
//	ready https://127.0.0.1:16443 etcd http://127.0.0.1:16444
//
// SIGTERM or SIGINT stops it gracefully. With -control it also obeys commands on standard input (see control.go) and
// stops when standard input ends, so that it does not outlive a test that was killed. With -controllers it runs
// controllers of kube-controller-manager beside the server (see controllers.go). Logs go to standard error.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"time"

	genericapiserver "k8s.io/apiserver/pkg/server"
)

// readyTimeout bounds the start. On a machine at rest it takes about three seconds.
const readyTimeout = 120 * time.Second

// options are the flags of the command line.
type options struct {
	dir     string
	port    int
	keep    bool
	control bool
	audit   bool
	// controllers names those to run beside the server.
	controllers string
	flags       []string
}

func main() {
	var o options
	flag.StringVar(&o.dir, "dir", "", "state directory (required)")
	flag.IntVar(&o.port, "port", 16443, "HTTPS port on 127.0.0.1; etcd takes the two ports above it")
	flag.BoolVar(&o.keep, "keep", false, "go on with the data and certificates that -dir holds")
	flag.BoolVar(&o.control, "control", false, "obey commands on standard input, and stop when it ends")
	flag.BoolVar(&o.audit, "audit", false, "log each request in DIR/audit.log")
	flag.StringVar(&o.controllers, "controllers", "", "controllers to run: namespace,garbage-collector")
	flag.Parse()
	o.flags = flag.Args()
	if o.dir == "" {
		fmt.Fprintln(os.Stderr, "apiserver: -dir is required")
		os.Exit(2)
	}
	if err := run(o); err != nil {
		log.Fatalf("apiserver: %v", err)
	}
}

// run starts etcd, then kube-apiserver, and returns once both have ended.
func run(o options) error {
	state, err := openState(o.dir, o.port, o.keep)
	if err != nil {
		return fmt.Errorf("prepare %s: %w", o.dir, err)
	}
	flags := o.flags
	if o.audit {
		audit, err := auditFlags(state)
		if err != nil {
			return err
		}
		flags = append(audit, flags...)
	}
	etcd, err := startEtcd(state)
	if err != nil {
		return fmt.Errorf("start etcd: %w", err)
	}
	defer etcd.Close()

	ended := make(chan error, 1)
	go func() { ended <- serve(state, flags) }()
	ready := make(chan error, 1)
	go func() { ready <- waitReady(state, readyTimeout) }()

	select {
	case err := <-ended:
		return endedEarly(err)
	case err := <-ready:
		if err != nil {
			return err
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	if err := startControllers(ctx, state, o.controllers); err != nil {
		return fmt.Errorf("start controllers: %w", err)
	}
	fmt.Println("ready", state.serverURL(), "etcd", state.etcdURL())
	if o.control {
		go func() {
			obey(os.Stdin, os.Stdout, etcd.Server)
			genericapiserver.RequestShutdown()
		}()
	}
	return <-ended
}

// endedEarly explains an end before the server was ready, which is no error when a signal asked for it.
func endedEarly(err error) error {
	if err != nil {
		return fmt.Errorf("kube-apiserver: %w", err)
	}
	return nil
}
