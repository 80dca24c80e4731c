package main

import (
	"fmt"

	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

func emptyFIFO() *cache.DeltaFIFO {
	return cache.NewDeltaFIFOWithOptions(cache.DeltaFIFOOptions{
		KeyFunction:           cache.MetaNamespaceKeyFunc,
		EmitDeltaTypeReplaced: true,
	})
}

func pop(fifo *cache.DeltaFIFO, count int) {
	for range count {
		_, err := fifo.Pop(func(any, bool) error { return nil })
		must(err)
	}
}

func queues() {
	fifo, i := emptyFIFO(), 0
	measure("delta_fifo_add_pop", 1000, func() {
		for range 1000 {
			must(fifo.Add(pods[i%objects]))
			i++
		}
		pop(fifo, 1000)
	})
	measure("delta_fifo_replace_100k", 1, func() {
		fifo := emptyFIFO()
		must(fifo.Replace(pods, "1"))
		pop(fifo, objects)
	})
	limiter := workqueue.DefaultTypedControllerRateLimiter[string]()
	queue := workqueue.NewTypedRateLimitingQueue(limiter)
	defer queue.ShutDown()
	keys := make([]string, objects)
	for i := range keys {
		keys[i] = fmt.Sprint("ns/", i)
	}
	measure("workqueue_add_get_done", 1000, func() {
		for range 1000 {
			queue.Add(keys[i%objects])
			key, _ := queue.Get()
			queue.Done(key)
			i++
		}
	})
}
