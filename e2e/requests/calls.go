package main

import (
	"context"

	authenticationv1 "k8s.io/api/authentication/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
)

// call is one call of client-go, under the name of the same call of ours.
type call struct {
	name string
	send func(context.Context)
}

const (
	namespace = "shop"
	manager   = "tester"
)

var dryRun = []string{metav1.DryRunAll}

func configMap() *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Name: "m", Namespace: namespace},
		Data:       map[string]string{"k": "v"},
	}
}

func calls(clients *kubernetes.Clientset) []call {
	all := reads(clients)
	all = append(all, writes(clients)...)
	all = append(all, patches(clients)...)
	all = append(all, deletes(clients)...)
	return append(all, subresources(clients)...)
}

func reads(clients *kubernetes.Clientset) []call {
	maps, every := clients.CoreV1().ConfigMaps(namespace), clients.CoreV1().ConfigMaps("")
	list := func(name string, options metav1.ListOptions) call {
		return call{name, func(ctx context.Context) { _, _ = maps.List(ctx, options) }}
	}
	watch := func(name string, options metav1.ListOptions) call {
		return call{name, func(ctx context.Context) {
			if watch, err := maps.Watch(ctx, options); err == nil {
				watch.Stop()
			}
		}}
	}
	return []call{
		{"get", func(ctx context.Context) { _, _ = maps.Get(ctx, "m", metav1.GetOptions{}) }},
		{"get cluster-scoped", func(ctx context.Context) {
			_, _ = clients.CoreV1().Nodes().Get(ctx, "n1", metav1.GetOptions{})
		}},
		{"get name that needs encoding", func(ctx context.Context) {
			_, _ = clients.RbacV1().ClusterRoles().Get(ctx, "system:node é+", metav1.GetOptions{})
		}},
		{"list all namespaces", func(ctx context.Context) { _, _ = every.List(ctx, metav1.ListOptions{}) }},
		list("list", metav1.ListOptions{}),
		list("list by selectors", metav1.ListOptions{LabelSelector: "app in (a,b),!x", FieldSelector: "metadata.name!=m"}),
		list("list page", metav1.ListOptions{Limit: 500, Continue: "a/b+c="}),
		list("list not older", metav1.ListOptions{ResourceVersion: "7", ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan}),
		list("list from cache", metav1.ListOptions{ResourceVersion: "0"}),
		watch("watch", metav1.ListOptions{ResourceVersion: "7", AllowWatchBookmarks: true, TimeoutSeconds: ptr.To[int64](300)}),
		watch("watch streaming list", metav1.ListOptions{
			AllowWatchBookmarks: true, TimeoutSeconds: ptr.To[int64](300), SendInitialEvents: ptr.To(true),
			ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
		}),
	}
}

func writes(clients *kubernetes.Clientset) []call {
	maps, pods := clients.CoreV1().ConfigMaps(namespace), clients.CoreV1().Pods(namespace)
	create := func(name string, options metav1.CreateOptions) call {
		return call{name, func(ctx context.Context) { _, _ = maps.Create(ctx, configMap(), options) }}
	}
	replace := func(name string, options metav1.UpdateOptions) call {
		return call{name, func(ctx context.Context) { _, _ = maps.Update(ctx, configMap(), options) }}
	}
	return []call{
		create("create", metav1.CreateOptions{}),
		create("create as manager", metav1.CreateOptions{FieldManager: manager}),
		create("create dry run", metav1.CreateOptions{DryRun: dryRun}),
		create("create strict", metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict}),
		replace("replace", metav1.UpdateOptions{}),
		replace("replace as manager", metav1.UpdateOptions{FieldManager: manager}),
		replace("replace dry run", metav1.UpdateOptions{DryRun: dryRun}),
		replace("replace strict", metav1.UpdateOptions{FieldValidation: metav1.FieldValidationStrict}),
		{"replace status", func(ctx context.Context) {
			_, _ = pods.UpdateStatus(ctx, &corev1.Pod{
				TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
				ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: namespace},
				Status:     corev1.PodStatus{Phase: corev1.PodRunning},
			}, metav1.UpdateOptions{})
		}},
	}
}

func patches(clients *kubernetes.Clientset) []call {
	maps, pods := clients.CoreV1().ConfigMaps(namespace), clients.CoreV1().Pods(namespace)
	patch := func(name string, how types.PatchType, body string, options metav1.PatchOptions) call {
		return call{name, func(ctx context.Context) { _, _ = maps.Patch(ctx, "m", how, []byte(body), options) }}
	}
	apply := func(name string, options metav1.ApplyOptions) call {
		return call{name, func(ctx context.Context) {
			object := applycorev1.ConfigMap("m", namespace).WithData(map[string]string{"k": "v"})
			_, _ = maps.Apply(ctx, object, options)
		}}
	}
	merge := `{"data":{"k":null}}`
	return []call{
		patch("patch merge", types.MergePatchType, merge, metav1.PatchOptions{}),
		patch("patch strategic", types.StrategicMergePatchType, merge, metav1.PatchOptions{}),
		patch("patch json", types.JSONPatchType, `[{"op":"remove","path":"/data/k"}]`, metav1.PatchOptions{}),
		patch("patch as manager", types.MergePatchType, merge, metav1.PatchOptions{FieldManager: manager}),
		patch("patch dry run", types.MergePatchType, merge, metav1.PatchOptions{DryRun: dryRun}),
		patch("patch strict", types.MergePatchType, merge, metav1.PatchOptions{FieldValidation: metav1.FieldValidationStrict}),
		{"patch status", func(ctx context.Context) {
			_, _ = pods.Patch(ctx, "web", types.MergePatchType, []byte(`{"status":{"phase":"Running"}}`), metav1.PatchOptions{}, "status")
		}},
		apply("apply", metav1.ApplyOptions{FieldManager: manager}),
		apply("apply by force", metav1.ApplyOptions{FieldManager: manager, Force: true}),
		apply("apply dry run", metav1.ApplyOptions{FieldManager: manager, DryRun: dryRun}),
		{"apply status", func(ctx context.Context) {
			status := applycorev1.PodStatus().WithPhase(corev1.PodRunning)
			pod := applycorev1.Pod("web", namespace).WithStatus(status)
			_, _ = pods.ApplyStatus(ctx, pod, metav1.ApplyOptions{FieldManager: manager, Force: true})
		}},
	}
}

func deletes(clients *kubernetes.Clientset) []call {
	maps := clients.CoreV1().ConfigMaps(namespace)
	remove := func(name string, options metav1.DeleteOptions) call {
		return call{name, func(ctx context.Context) { _ = maps.Delete(ctx, "m", options) }}
	}
	after := func(policy metav1.DeletionPropagation) metav1.DeleteOptions {
		return metav1.DeleteOptions{PropagationPolicy: &policy}
	}
	only := func(uid *types.UID, version *string) metav1.DeleteOptions {
		return metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: uid, ResourceVersion: version}}
	}
	return []call{
		remove("delete", metav1.DeleteOptions{}),
		remove("delete at once", metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}),
		remove("delete with grace", metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](30)}),
		remove("delete orphaning", after(metav1.DeletePropagationOrphan)),
		remove("delete in background", after(metav1.DeletePropagationBackground)),
		remove("delete in foreground", after(metav1.DeletePropagationForeground)),
		remove("delete only uid", only(ptr.To(types.UID("u-1")), nil)),
		remove("delete only version", only(nil, ptr.To("7"))),
		remove("delete only uid and version", only(ptr.To(types.UID("u-1")), ptr.To("7"))),
		remove("delete dry run", metav1.DeleteOptions{DryRun: dryRun}),
		{"delete collection", func(ctx context.Context) {
			_ = maps.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "app=a"})
		}},
	}
}

func subresources(clients *kubernetes.Clientset) []call {
	pods, sets := clients.CoreV1().Pods(namespace), clients.AppsV1().ReplicaSets(namespace)
	return []call{
		{"get scale", func(ctx context.Context) { _, _ = sets.GetScale(ctx, "web", metav1.GetOptions{}) }},
		{"replace scale", func(ctx context.Context) {
			_, _ = sets.UpdateScale(ctx, "web", &autoscalingv1.Scale{
				TypeMeta:   metav1.TypeMeta{APIVersion: "autoscaling/v1", Kind: "Scale"},
				ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: namespace},
				Spec:       autoscalingv1.ScaleSpec{Replicas: 3},
			}, metav1.UpdateOptions{})
		}},
		{"create eviction", func(ctx context.Context) {
			_ = pods.EvictV1(ctx, &policyv1.Eviction{
				TypeMeta:   metav1.TypeMeta{APIVersion: "policy/v1", Kind: "Eviction"},
				ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: namespace},
			})
		}},
		{"create token", func(ctx context.Context) {
			request := &authenticationv1.TokenRequest{
				TypeMeta: metav1.TypeMeta{APIVersion: "authentication.k8s.io/v1", Kind: "TokenRequest"},
				Spec:     authenticationv1.TokenRequestSpec{Audiences: []string{"vault"}},
			}
			_, _ = clients.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, "builder", request, metav1.CreateOptions{})
		}},
		{"create binding", func(ctx context.Context) {
			_ = pods.Bind(ctx, &corev1.Binding{
				TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Binding"},
				ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: namespace},
				Target:     corev1.ObjectReference{Kind: "Node", Name: "n1"},
			}, metav1.CreateOptions{})
		}},
	}
}
