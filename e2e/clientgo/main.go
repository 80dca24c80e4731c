// Command clientgo times client-go on the work of our benches named micro, and prints its figures as they do: one JSON
// line for each measure, under the same names. The data are those of crates/informer-store/benches/micro.rs.
//
//	clientgo [FILTER]
//
// With the argument "deltas" it instead performs calls on a DeltaFIFO that it reads from its input, or with "deltas
// in-order" on a RealFIFO; see deltas.go.
// With "reflect URL" it runs a reflector against a server; see reflect.go.
// With "copier KUBECONFIG" it runs a small controller and its user; see copier.go.
package main

import (
	"fmt"
	"os"
	"sort"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

const (
	objects = 100_000
	// A stride that visits every object, far from the last one.
	stride = 7919
	// How long each measure runs, and how many times.
	runTime = 120 * time.Millisecond
	runs    = 9
)

var (
	pods   = makePods()
	filter = ""
)

func makePods() []any {
	all := make([]any, objects)
	for i := range all {
		all[i] = &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name:            fmt.Sprintf("app-%03d-%010x-%05d", i%200, (i%200)*stride, i),
				Namespace:       fmt.Sprintf("ns-%02d", i%20),
				ResourceVersion: fmt.Sprint(i),
				Labels:          map[string]string{"app": fmt.Sprint(i % 200), "tier": "web"},
			},
			Spec: corev1.PodSpec{NodeName: fmt.Sprintf("node-%04d", i%500)},
		}
	}
	return all
}

func emptyIndexer() cache.Indexer {
	byNode := func(object any) ([]string, error) {
		return []string{object.(*corev1.Pod).Spec.NodeName}, nil
	}
	return cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{
		cache.NamespaceIndex: cache.MetaNamespaceIndexFunc,
		"node":               byNode,
	})
}

func filledIndexer() cache.Indexer {
	indexer := emptyIndexer()
	must(indexer.Replace(pods, "1"))
	return indexer
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func wants(name string) bool { return strings.Contains(name, filter) }

func report(name string, nanoseconds float64) {
	fmt.Printf("{\"name\":%q,\"ns_per_op\":%.1f}\n", name, nanoseconds)
}

// measure runs work, which does the given number of operations a call, for a while, again and again, and reports the
// median of the times an operation took.
func measure(name string, operations int, work func()) {
	if wants(name) {
		report(name, median(operations, work))
	}
}

func median(operations int, work func()) float64 {
	work()
	times := make([]float64, runs)
	for run := range times {
		start, calls := time.Now(), 0
		for calls == 0 || time.Since(start) < runTime {
			work()
			calls++
		}
		times[run] = float64(time.Since(start).Nanoseconds()) / float64(calls*operations)
	}
	sort.Float64s(times)
	return times[runs/2]
}

// beside runs other again and again on a thread of its own while work runs.
func beside(other, work func()) {
	var stop atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		for !stop.Load() {
			other()
		}
	}()
	work()
	stop.Store(true)
	<-done
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "deltas" {
		deltas(len(os.Args) > 2 && os.Args[2] == "in-order")
		return
	}
	if len(os.Args) > 2 && os.Args[1] == "reflect" {
		reflect(os.Args[2])
		return
	}
	if len(os.Args) > 2 && os.Args[1] == "copier" {
		runCopier(os.Args[2])
		return
	}
	if len(os.Args) > 1 {
		filter = os.Args[1]
	}
	indexerWrites()
	indexerGets()
	indexerLists()
	indexerBatches()
	queues()
	controllers()
}
