// A small controller as its author would write it with client-go, and a user who makes it work: informers with
// selectors, a lister, a work queue, an election, events, finalizers, server-side apply, strategic merge patches and
// optimistic locking. What it prints has no versions, times or UIDs, so that it is the same for every API server that
// behaves as kube-apiserver.
//
//	clientgo copier KUBECONFIG
//
// The controller keeps a copy, named NAME-copy, of each config map labelled role=source.

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	applycore "k8s.io/client-go/applyconfigurations/core/v1"
	applymeta "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcore "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
)

const (
	copierNamespace = "copies"
	copierFinalizer = "copier.example/copy"
	copierManager   = "copier"
	copierLimit     = 30 * time.Second
)

type copier struct {
	client  kubernetes.Interface
	sources corelisters.ConfigMapLister
	queue   workqueue.TypedRateLimitingInterface[string]
	events  record.EventRecorder
}

// reconcile does the next thing that is to do for a source; its own writes bring it back.
func (c *copier) reconcile(ctx context.Context, name string) error {
	source, err := c.sources.ConfigMaps(copierNamespace).Get(name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	maps := c.client.CoreV1().ConfigMaps(copierNamespace)
	finalized := slices.Contains(source.Finalizers, copierFinalizer)
	switch {
	case source.DeletionTimestamp != nil && finalized:
		err := maps.Delete(ctx, name+"-copy", metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		source = source.DeepCopy()
		source.Finalizers = slices.DeleteFunc(source.Finalizers, func(f string) bool { return f == copierFinalizer })
		_, err = maps.Update(ctx, source, metav1.UpdateOptions{})
		return err
	case source.DeletionTimestamp != nil:
		return nil
	case !finalized:
		source = source.DeepCopy()
		source.Finalizers = append(source.Finalizers, copierFinalizer)
		_, err = maps.Update(ctx, source, metav1.UpdateOptions{})
		return err
	}
	owner := applymeta.OwnerReference().WithAPIVersion("v1").WithKind("ConfigMap").WithName(name).
		WithUID(source.UID).WithController(true)
	wanted := applycore.ConfigMap(name+"-copy", copierNamespace).WithLabels(map[string]string{"role": "copy"}).
		WithData(source.Data).WithOwnerReferences(owner)
	applied, err := maps.Apply(ctx, wanted, metav1.ApplyOptions{FieldManager: copierManager})
	if apierrors.IsConflict(err) {
		// Another manager owns a field, and only a change can help.
		return c.report(ctx, source, "refused", corev1.EventTypeWarning, "Refused", "the copy is refused")
	}
	if err != nil {
		return err
	}
	said := fmt.Sprint(len(applied.Data))
	return c.report(ctx, source, said, corev1.EventTypeNormal, "Copied", said+" values are copied")
}

// report says in an annotation and an event what became of the copy, unless the annotation says so already.
func (c *copier) report(ctx context.Context, source *corev1.ConfigMap, said, kind, reason, message string) error {
	if source.Annotations["copied"] == said {
		return nil
	}
	c.events.Event(source, kind, reason, message)
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"annotations": map[string]string{"copied": said}, "resourceVersion": source.ResourceVersion}})
	if err != nil {
		return err
	}
	_, err = c.client.CoreV1().ConfigMaps(copierNamespace).
		Patch(ctx, source.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	return err
}

func (c *copier) work(ctx context.Context) {
	for {
		name, over := c.queue.Get()
		if over {
			return
		}
		if err := c.reconcile(ctx, name); err != nil {
			c.queue.AddRateLimited(name)
		} else {
			c.queue.Forget(name)
		}
		c.queue.Done(name)
	}
}

// history is what a handler heard, for each object.
type history struct {
	lock  sync.Mutex
	heard map[string][]string
}

func (h *history) note(what string, object any) {
	if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = unknown.Obj
	}
	found := object.(*corev1.ConfigMap)
	deleting := ""
	if found.DeletionTimestamp != nil {
		deleting = " deleting"
	}
	line := fmt.Sprintf("%s data=%v annotations=%v finalizers=%v%s", what, found.Data, found.Annotations,
		found.Finalizers, deleting)
	h.lock.Lock()
	defer h.lock.Unlock()
	h.heard[found.Name] = append(h.heard[found.Name], line)
}

func (h *history) print() {
	h.lock.Lock()
	defer h.lock.Unlock()
	names := make([]string, 0, len(h.heard))
	for name := range h.heard {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		for _, line := range h.heard[name] {
			fmt.Printf("heard %s %s\n", name, line)
		}
	}
}

func runCopier(kubeconfig string) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	must(err)
	config.QPS = -1
	client := kubernetes.NewForConfigOrDie(config)
	ctx, cancel := context.WithTimeout(context.Background(), 4*copierLimit)
	defer cancel()
	_, err = client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{Name: copierNamespace}}, metav1.CreateOptions{})
	must(err)
	lock := &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Name: "copier", Namespace: copierNamespace},
		Client:     client.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: "first"},
	}
	heard := &history{heard: map[string][]string{}}
	working, stop := context.WithCancel(ctx)
	leaderelection.RunOrDie(working, leaderelection.LeaderElectionConfig{
		Lock:            lock,
		ReleaseOnCancel: true,
		LeaseDuration:   15 * time.Second,
		RenewDeadline:   10 * time.Second,
		RetryPeriod:     2 * time.Second,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) {
				lead(ctx, client, heard)
				stop()
			},
			OnStoppedLeading: func() {},
		},
	})
	heard.print()
	printState(ctx, client, "at the end")
}

// lead runs the controller and, beside it, its user.
func lead(ctx context.Context, client kubernetes.Interface, heard *history) {
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(copierNamespace),
		informers.WithTweakListOptions(func(options *metav1.ListOptions) { options.LabelSelector = "role in (source,copy)" }))
	maps := factory.Core().V1().ConfigMaps()
	broadcaster := record.NewBroadcaster()
	defer broadcaster.Shutdown()
	broadcaster.StartRecordingToSink(&typedcore.EventSinkImpl{Interface: client.CoreV1().Events("")})
	c := &copier{
		client:  client,
		sources: maps.Lister(),
		events:  broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: copierManager}),
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](
			5*time.Millisecond, time.Second)),
	}
	enqueue := func(object any) {
		if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = unknown.Obj
		}
		c.queue.Add(strings.TrimSuffix(object.(*corev1.ConfigMap).Name, "-copy"))
	}
	_, err := maps.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { heard.note("added", object); enqueue(object) },
		UpdateFunc: func(_, object any) { heard.note("updated", object); enqueue(object) },
		DeleteFunc: func(object any) { heard.note("deleted", object); enqueue(object) },
	})
	must(err)
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	var workers sync.WaitGroup
	for range 2 {
		workers.Add(1)
		go func() { defer workers.Done(); c.work(ctx) }()
	}
	copierUser(ctx, client)
	c.queue.ShutDown()
	workers.Wait()
}

// copierUser makes, changes and deletes sources and copies, and waits after each step until the controller has answered it.
func copierUser(ctx context.Context, client kubernetes.Interface) {
	maps := client.CoreV1().ConfigMaps(copierNamespace)
	eventually := func(what string, done func() (bool, error)) {
		err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, copierLimit, true,
			func(context.Context) (bool, error) { return done() })
		if err != nil {
			printState(ctx, client, what)
			fmt.Printf("%s: %v\n", what, err)
			os.Exit(1)
		}
		printState(ctx, client, what)
	}
	get := func(name string) *corev1.ConfigMap {
		found, err := maps.Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		must(err)
		return found
	}
	copied := func(name, said string) func() (bool, error) {
		return func() (bool, error) {
			source := get(name)
			return source != nil && source.Annotations["copied"] == said && get(name+"-copy") != nil, nil
		}
	}
	source := func(name string, data map[string]string) *corev1.ConfigMap {
		return &corev1.ConfigMap{Data: data, ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"role": "source"}}}
	}

	_, err := maps.Create(ctx, source("a", map[string]string{"x": "1"}), metav1.CreateOptions{})
	must(err)
	eventually("a is copied", copied("a", "1"))

	_, err = maps.Patch(ctx, "a", types.MergePatchType, []byte(`{"data":{"y":"2","z":"3"}}`), metav1.PatchOptions{})
	must(err)
	eventually("a has grown", copied("a", "3"))

	// The copy loses what its source loses: fields that only this manager owns go with them.
	_, err = maps.Patch(ctx, "a", types.JSONPatchType, []byte(`[{"op":"remove","path":"/data/x"}]`), metav1.PatchOptions{})
	must(err)
	eventually("a has shrunk", copied("a", "2"))

	before := get("a-copy").UID
	must(maps.Delete(ctx, "a-copy", metav1.DeleteOptions{}))
	eventually("the copy is back", func() (bool, error) {
		found := get("a-copy")
		return found != nil && found.UID != before, nil
	})

	// Another manager takes a field of a copy: the next application of another value is a conflict.
	_, err = maps.Apply(ctx, applycore.ConfigMap("a-copy", copierNamespace).WithData(map[string]string{"y": "mine"}),
		metav1.ApplyOptions{FieldManager: "user", Force: true})
	must(err)
	eventually("the copy is refused", func() (bool, error) {
		return get("a").Annotations["copied"] == "refused", nil
	})
	_, err = maps.Apply(ctx, applycore.ConfigMap("a-copy", copierNamespace), metav1.ApplyOptions{FieldManager: "user"})
	must(err)
	eventually("the field is given back", copied("a", "2"))

	// A finalizer of another holds a source that was deleted.
	_, err = maps.Patch(ctx, "a", types.JSONPatchType,
		[]byte(`[{"op":"add","path":"/metadata/finalizers/-","value":"user.example/hold"}]`), metav1.PatchOptions{})
	must(err)
	must(maps.Delete(ctx, "a", metav1.DeleteOptions{}))
	eventually("a is held", func() (bool, error) {
		return get("a-copy") == nil && len(get("a").Finalizers) == 1, nil
	})
	_, err = maps.Patch(ctx, "a", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	must(err)
	eventually("a is gone", func() (bool, error) { return get("a") == nil, nil })

	for number := range 5 {
		_, err = maps.Create(ctx, source(fmt.Sprint("b", number), map[string]string{"n": fmt.Sprint(number)}), metav1.CreateOptions{})
		must(err)
	}
	for number := range 5 {
		name := fmt.Sprint("b", number)
		eventually(name+" is copied", copied(name, "1"))
	}
	// A label that leaves the selector is a delete for the informer.
	_, err = maps.Patch(ctx, "b0", types.MergePatchType, []byte(`{"metadata":{"labels":{"role":null}}}`), metav1.PatchOptions{})
	must(err)
	must(maps.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "role=source"}))
	eventually("only b0 is left", func() (bool, error) {
		left, err := maps.List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		names := []string{}
		for _, one := range left.Items {
			if one.Name != "kube-root-ca.crt" {
				names = append(names, one.Name)
			}
		}
		return slices.Equal(names, []string{"b0", "b0-copy"}), nil
	})
	eventually("events are written", func() (bool, error) {
		events, err := client.CoreV1().Events(copierNamespace).List(ctx, metav1.ListOptions{})
		return err == nil && len(copierEvents(events)) == 9, err
	})
}

// copierEvents: the events of the controller without times, in the order of names.
func copierEvents(events *corev1.EventList) []string {
	found := []string{}
	for _, event := range events.Items {
		if event.Source.Component == copierManager {
			found = append(found, fmt.Sprintf("%s %s %s %q", event.InvolvedObject.Name, event.Type, event.Reason, event.Message))
		}
	}
	sort.Strings(found)
	return found
}

// printState prints all config maps, and at the end also events and the lease.
func printState(ctx context.Context, client kubernetes.Interface, when string) {
	fmt.Printf("--- %s\n", when)
	maps, err := client.CoreV1().ConfigMaps(copierNamespace).List(ctx, metav1.ListOptions{Limit: 3})
	must(err)
	for {
		for _, one := range maps.Items {
			if one.Name != "kube-root-ca.crt" && (when == "at the end" || !strings.HasPrefix(one.Name, "b")) {
				printMap(one)
			}
		}
		if maps.Continue == "" {
			break
		}
		maps, err = client.CoreV1().ConfigMaps(copierNamespace).List(ctx, metav1.ListOptions{Limit: 3, Continue: maps.Continue})
		must(err)
	}
	if when != "at the end" {
		return
	}
	events, err := client.CoreV1().Events(copierNamespace).List(ctx, metav1.ListOptions{})
	must(err)
	for _, event := range copierEvents(events) {
		fmt.Println("event", event)
	}
	lease, err := client.CoordinationV1().Leases(copierNamespace).Get(ctx, "copier", metav1.GetOptions{})
	must(err)
	fmt.Printf("lease holder=%q seconds=%d transitions=%d\n", *lease.Spec.HolderIdentity, *lease.Spec.LeaseDurationSeconds,
		*lease.Spec.LeaseTransitions)
}

func printMap(one corev1.ConfigMap) {
	for at := range one.OwnerReferences {
		one.OwnerReferences[at].UID = ""
	}
	owners, err := json.Marshal(one.OwnerReferences)
	must(err)
	fmt.Printf("%s data=%v labels=%v annotations=%v finalizers=%v owners=%s deleting=%v\n", one.Name, one.Data, one.Labels,
		one.Annotations, one.Finalizers, owners, one.DeletionTimestamp != nil)
	for _, fields := range one.ManagedFields {
		fmt.Printf("  %s %s %s\n", fields.Manager, fields.Operation, withoutUIDs(string(fields.FieldsV1.Raw)))
	}
}

// withoutUIDs blanks the UIDs of owners, which are part of the names of fields.
func withoutUIDs(text string) string {
	const mark = `\"uid\":\"`
	parts := strings.Split(text, mark)
	for at := 1; at < len(parts); at++ {
		if end := strings.Index(parts[at], `\"`); end >= 0 {
			parts[at] = parts[at][end:]
		}
	}
	return strings.Join(parts, mark)
}
