package main

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver"
)

// quota is etcd's limit on its database. The default of 2 GiB is too little for tests with very many large objects.
const quota = 8 << 30

// startEtcd starts a single-member etcd on loopback and waits until it serves.
func startEtcd(s state) (*embed.Etcd, error) {
	client, err := url.Parse(s.etcdURL())
	if err != nil {
		return nil, err
	}
	peer, err := url.Parse(s.etcdPeerURL())
	if err != nil {
		return nil, err
	}
	config := embed.NewConfig()
	config.Dir = s.etcdData()
	config.LogLevel = "error"
	config.ListenClientUrls = []url.URL{*client}
	config.AdvertiseClientUrls = config.ListenClientUrls
	config.ListenPeerUrls = []url.URL{*peer}
	config.AdvertisePeerUrls = config.ListenPeerUrls
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	config.QuotaBackendBytes = quota
	// Killing the process loses nothing that was written to the kernel; only a crash of the machine would.
	config.UnsafeNoFsync = true

	etcd, err := embed.StartEtcd(config)
	if err != nil {
		return nil, err
	}
	select {
	case <-etcd.Server.ReadyNotify():
		return etcd, nil
	case err := <-etcd.Err():
		etcd.Close()
		return nil, err
	case <-time.After(readyTimeout):
		etcd.Close()
		return nil, fmt.Errorf("not ready within %s", readyTimeout)
	}
}

// compact drops all history before the revision, or before the newest one if it is 0, and tells which one it took.
// It returns once the space is freed, so that no read can still find a dropped revision.
func compact(server *etcdserver.EtcdServer, revision int64) (int64, error) {
	if revision == 0 {
		revision = server.KV().Rev()
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	_, err := server.Compact(ctx, &etcdserverpb.CompactionRequest{Revision: revision, Physical: true})
	return revision, err
}
