package main

import (
	"context"
	"fmt"
	"sort"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

const (
	// controlled is how many pods the informer of a controller has.
	controlled = 1000
	// How long each of its measures runs.
	controllerRunTime = 300 * time.Millisecond
)

// controllers times what is between a watch in memory and the end of the reconcile that an event leads to, with an
// informer, a rate limited queue and one worker as client-go's own example has them; and the same up to a bare handler.
func controllers() {
	for _, end := range []string{"reconcile", "handler"} {
		for _, pace := range []struct {
			name   string
			atOnce int
		}{{"burst", controlled}, {"single", 1}} {
			if name := "event_to_" + end + "_" + pace.name; wants(name) {
				report(name, controllerMedian(end == "reconcile", pace.atOnce))
			}
		}
	}
}

func controllerMedian(isReconcile bool, atOnce int) float64 {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	events := watch.NewFakeWithChanSize(2*controlled, false)
	informer := controllerInformer(events)
	done := make(chan struct{}, 2*controlled)
	if isReconcile {
		defer reconciling(informer, done)()
	} else {
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { done <- struct{}{} },
			UpdateFunc: func(_, _ any) { done <- struct{}{} },
		})
		must(err)
	}
	go informer.RunWithContext(ctx)
	wait := func(count int) {
		for range count {
			<-done
		}
	}
	// The first list leads to as much.
	wait(controlled)
	times, version := make([]float64, runs), controlled
	for run := range times {
		spent, count := time.Duration(0), 0
		for spent < controllerRunTime {
			changed := make([]*corev1.Pod, atOnce)
			for i := range changed {
				changed[i] = podAt((version+i)%controlled, version+i)
			}
			version += atOnce
			began := time.Now()
			for _, pod := range changed {
				events.Modify(pod)
			}
			wait(atOnce)
			spent += time.Since(began)
			count += atOnce
		}
		times[run] = float64(spent.Nanoseconds()) / float64(count)
	}
	sort.Float64s(times)
	return times[runs/2]
}

// reconciling has a worker reconcile what the informer tells of: it reads the object. It returns what ends the worker.
func reconciling(informer cache.SharedIndexInformer, done chan<- struct{}) func() {
	limiter := workqueue.DefaultTypedControllerRateLimiter[string]()
	queue := workqueue.NewTypedRateLimitingQueue(limiter)
	add := func(object any) {
		if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(object); err == nil {
			queue.Add(key)
		}
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    add,
		UpdateFunc: func(_, object any) { add(object) },
		DeleteFunc: add,
	})
	must(err)
	go func() {
		for {
			key, ended := queue.Get()
			if ended {
				return
			}
			_, _, err := informer.GetIndexer().GetByKey(key)
			must(err)
			done <- struct{}{}
			queue.Forget(key)
			queue.Done(key)
		}
	}()
	return queue.ShutDown
}

// noStreamingLists is a client of a server without them.
type noStreamingLists struct{}

func (noStreamingLists) IsWatchListSemanticsUnSupported() bool { return true }

func controllerInformer(events watch.Interface) cache.SharedIndexInformer {
	source := &cache.ListWatch{
		ListFunc: func(metav1.ListOptions) (runtime.Object, error) {
			list := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: fmt.Sprint(controlled)}}
			for i := range controlled {
				list.Items = append(list.Items, *podAt(i, i))
			}
			return list, nil
		},
		WatchFunc: func(metav1.ListOptions) (watch.Interface, error) { return events, nil },
	}
	lister := cache.ToListWatcherWithWatchListSemantics(source, noStreamingLists{})
	return cache.NewSharedIndexInformer(lister, &corev1.Pod{}, 0, cache.Indexers{})
}

// podAt is the pod of a number, changed.
func podAt(number, version int) *corev1.Pod {
	pod := *pods[number].(*corev1.Pod)
	pod.ResourceVersion = fmt.Sprint(version + 1)
	return &pod
}
