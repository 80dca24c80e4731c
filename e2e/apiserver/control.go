package main

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"go.etcd.io/etcd/server/v3/etcdserver"
)

// obey reads commands, one a line, and answers each with one line, until "stop" or the end of the input.
//
//	revision            revision N        etcd's newest revision, which is the cluster's newest resourceVersion
//	compact [REVISION]  compacted N       drop all history before REVISION, by default the newest
//	stop                (no answer)       stop gracefully
//
// Whatever else comes is answered with "error" and the reason.
func obey(commands io.Reader, answers io.Writer, server *etcdserver.EtcdServer) {
	lines := bufio.NewScanner(commands)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) == 1 && words[0] == "stop" {
			return
		}
		answer, err := command(words, server)
		if err != nil {
			answer = "error " + strings.ReplaceAll(err.Error(), "\n", " ")
		}
		fmt.Fprintln(answers, answer)
	}
}

func command(words []string, server *etcdserver.EtcdServer) (string, error) {
	switch {
	case len(words) == 1 && words[0] == "revision":
		return fmt.Sprintf("revision %d", server.KV().Rev()), nil
	case len(words) >= 1 && len(words) <= 2 && words[0] == "compact":
		var revision int64
		if len(words) == 2 {
			var err error
			if revision, err = strconv.ParseInt(words[1], 10, 64); err != nil {
				return "", err
			}
		}
		taken, err := compact(server, revision)
		return fmt.Sprintf("compacted %d", taken), err
	default:
		return "", fmt.Errorf("unknown command %q", strings.Join(words, " "))
	}
}
