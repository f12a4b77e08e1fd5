package main

import (
	"sync"

	"github.com/cloudnativelabs/kube-router/v2/pkg/controllers/netpol"
	"github.com/cloudnativelabs/kube-router/v2/pkg/healthcheck"
	"github.com/cloudnativelabs/kube-router/v2/pkg/options"
	"github.com/spf13/cobra"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

// newPolicies is what enforces network policies in kube-router. Its other parts would take minutes to compile.
func newPolicies() *cobra.Command {
	config := options.NewKubeRouterConfig()
	command := &cobra.Command{Use: "kube-router", RunE: func(*cobra.Command, []string) error { return enforcePolicies(config) }}
	config.AddFlags(command.Flags())
	return command
}

// enforcePolicies does what kube-router's own main does for --run-firewall.
func enforcePolicies(config *options.KubeRouterConfig) error {
	access, err := clientcmd.BuildConfigFromFlags("", config.Kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(access)
	if err != nil {
		return err
	}
	rules, sets, err := netpol.NewIPTablesHandlers(config)
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	pods := factory.Core().V1().Pods().Informer()
	namespaces := factory.Core().V1().Namespaces().Informer()
	policies := factory.Networking().V1().NetworkPolicies().Informer()
	running := make(chan struct{})
	factory.Start(running)
	factory.WaitForCacheSync(running)
	controller, err := netpol.NewNetworkPolicyController(client, config, pods, policies, namespaces, &sync.Mutex{}, rules, sets)
	if err != nil {
		return err
	}
	for informer, handler := range map[cache.SharedIndexInformer]cache.ResourceEventHandler{
		pods: controller.PodEventHandler, namespaces: controller.NamespaceEventHandler, policies: controller.NetworkPolicyEventHandler,
	} {
		if _, err := informer.AddEventHandler(handler); err != nil {
			return err
		}
	}
	beats := make(chan *healthcheck.ControllerHeartbeat)
	go func() {
		for range beats {
		}
	}()
	var ended sync.WaitGroup
	ended.Add(1)
	controller.Run(beats, running, &ended)
	return nil
}
