package main

import (
	"fmt"
	"sort"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"
)

func indexerWrites() {
	measure("indexer_insert", objects, func() {
		indexer := emptyIndexer()
		for _, pod := range pods {
			must(indexer.Add(pod))
		}
	})
	indexer, i := filledIndexer(), 0
	update := func() {
		for range 1000 {
			must(indexer.Update(pods[i*stride%objects]))
			i++
		}
	}
	measure("indexer_update", 1000, update)
	// There are no batches and no snapshots: single writes are what a user has.
	measure("indexer_update_batch_64_snapshot", 1000, update)
	measure("indexer_replace_100k", 1, func() { must(indexer.Replace(pods, "1")) })
}

func indexerGets() {
	indexer := filledIndexer()
	keys := indexer.ListKeys()
	getFrom := func(i int) func() {
		return func() {
			for range 1000 {
				_, _, err := indexer.GetByKey(keys[i*stride%objects])
				must(err)
				i++
			}
		}
	}
	measure("indexer_get", 1000, getFrom(0))
	measure("indexer_get_arc", 1000, getFrom(0))
	if name := "indexer_get_2_threads"; wants(name) {
		beside(getFrom(objects/2), func() {
			// Two threads share the operations.
			report(name, median(1000, getFrom(0))/2)
		})
	}
}

func indexerLists() {
	indexer, i := filledIndexer(), 0
	for _, name := range []string{"indexer_by_index_200", "indexer_by_index_200_visit"} {
		measure(name, 1, func() {
			_, err := indexer.ByIndex("node", fmt.Sprintf("node-%04d", i%500))
			must(err)
			i++
		})
	}
	measure("indexer_list_100k", 1, func() { indexer.List() })
	measure("indexer_list_100k_visit", 1, func() { indexer.List() })
	selector := labels.SelectorFromSet(labels.Set{"app": "7"})
	measure("indexer_list_selector_100k", 1, func() {
		count := 0
		must(cache.ListAll(indexer, selector, func(any) { count++ }))
	})
}

// indexerBatches times 64 writes, alone and while another thread lists: the median of each such batch.
func indexerBatches() {
	if !wants("indexer_batch_64_alone") && !wants("indexer_batch_64_beside_lister") {
		return
	}
	indexer, i := filledIndexer(), 0
	medianBatch := func() float64 {
		// Fewer than ours: beside a lister each takes many milliseconds.
		times := make([]float64, 0, 2000)
		for start := time.Now(); len(times) < cap(times) && time.Since(start) < 10*time.Second; {
			began := time.Now()
			for range 64 {
				must(indexer.Update(pods[i*stride%objects]))
				i++
			}
			times = append(times, float64(time.Since(began).Nanoseconds()))
		}
		sort.Float64s(times)
		return times[len(times)/2]
	}
	report("indexer_batch_64_alone", medianBatch())
	beside(func() { indexer.List() }, func() {
		report("indexer_batch_64_beside_lister", medianBatch())
	})
}
