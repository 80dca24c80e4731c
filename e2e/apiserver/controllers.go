package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/controller-manager/pkg/informerfactory"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
	"k8s.io/kubernetes/pkg/controller/namespace"
)

const (
	// controllerWorkers is how many objects each controller works at side by side, as many as kube-controller-manager's
	// garbage collector.
	controllerWorkers = 20
	// discoveryPeriod is how soon the garbage collector hears of new kinds; kube-controller-manager has 30 seconds.
	discoveryPeriod = 2 * time.Second
)

// startControllers runs some of kube-controller-manager's own controllers until the context ends: "namespace" and
// "garbage-collector", by a list with commas.
func startControllers(ctx context.Context, s state, names string) error {
	if names == "" {
		return nil
	}
	config, err := clientcmd.BuildConfigFromFlags("", s.path("kubeconfig"))
	if err != nil {
		return err
	}
	// Their judge is what they do, not how slowly.
	config.QPS, config.Burst = 2000, 4000
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	metadataClient, err := metadata.NewForConfig(config)
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	started := make(chan struct{})
	for _, name := range strings.Split(names, ",") {
		switch name {
		case "namespace":
			runNamespaceController(ctx, client, metadataClient, factory)
		case "garbage-collector":
			if err := runGarbageCollector(ctx, client, metadataClient, factory, started); err != nil {
				return err
			}
		default:
			return fmt.Errorf("no controller %q: there are namespace and garbage-collector", name)
		}
	}
	factory.Start(ctx.Done())
	close(started)
	return nil
}

func runNamespaceController(
	ctx context.Context,
	client kubernetes.Interface,
	metadataClient metadata.Interface,
	factory informers.SharedInformerFactory,
) {
	controller := namespace.NewNamespaceController(
		ctx,
		client,
		metadataClient,
		client.Discovery().ServerPreferredNamespacedResources,
		factory.Core().V1().Namespaces(),
		5*time.Minute,
		v1.FinalizerKubernetes,
	)
	go controller.Run(ctx, controllerWorkers)
}

func runGarbageCollector(
	ctx context.Context,
	client kubernetes.Interface,
	metadataClient metadata.Interface,
	factory informers.SharedInformerFactory,
	started <-chan struct{},
) error {
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client.Discovery()))
	metadataFactory := metadatainformer.NewSharedInformerFactory(metadataClient, 0)
	collector, err := garbagecollector.NewGarbageCollector(
		ctx,
		client,
		metadataClient,
		mapper,
		garbagecollector.DefaultIgnoredResources(),
		informerfactory.NewInformerFactory(factory, metadataFactory),
		started,
	)
	if err != nil {
		return err
	}
	metadataFactory.Start(ctx.Done())
	go collector.Run(ctx, controllerWorkers, 30*time.Second)
	go collector.Sync(ctx, client.Discovery(), discoveryPeriod)
	return nil
}
