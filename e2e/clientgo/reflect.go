package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"sort"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// reflect runs client-go's reflector for config maps of the server at the address, into a store. For each resource
// version read from the input it waits until the reflector is there, then prints the store: KEY=VERSION for each
// object, in order.
func reflect(address string) {
	client, err := rest.RESTClientFor(&rest.Config{
		Host:    address,
		APIPath: "/api",
		ContentConfig: rest.ContentConfig{
			GroupVersion:         &corev1.SchemeGroupVersion,
			NegotiatedSerializer: scheme.Codecs.WithoutConversion(),
		},
	})
	must(err)
	source := cache.NewListWatchFromClient(client, "configmaps", "", fields.Everything())
	lister := cache.ToListWatcherWithWatchListSemantics(source, client)
	store := cache.NewStore(cache.MetaNamespaceKeyFunc)
	reflector := cache.NewReflector(lister, &corev1.ConfigMap{}, store, 0)
	if len(os.Args) > 3 {
		reflector.WatchListPageSize = 2
	}
	go reflector.RunWithContext(context.Background())
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		for reflector.LastSyncResourceVersion() != lines.Text() {
			time.Sleep(5 * time.Millisecond)
		}
		fmt.Println(strings.Join(held(store), " "))
	}
	must(lines.Err())
}

func held(store cache.Store) []string {
	var all []string
	for _, object := range store.List() {
		config := object.(*corev1.ConfigMap)
		all = append(all, config.Namespace+"/"+config.Name+"="+config.ResourceVersion)
	}
	sort.Strings(all)
	return all
}
