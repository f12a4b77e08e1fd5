// kube is the programs of a Kubernetes cluster and of its clients in one file, which links once what they share.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	helm "helm.sh/helm/v4/pkg/cmd"
	"k8s.io/component-base/cli"
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

var programs = map[string]func() *cobra.Command{
	"kube-apiserver":          apiserver.NewAPIServerCommand,
	"kube-controller-manager": controllers.NewControllerManagerCommand,
	"kube-scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
	// The kubelet sets up the handler of signals itself, and a second one panics.
	"kubelet":     func() *cobra.Command { return kubelet.NewKubeletCommand(context.Background()) },
	"kubectl":     kubectl.NewDefaultKubectlCommand,
	"kube-router": newPolicies,
}

func main() {
	if len(os.Args) < 2 {
		fail("usage: kube PROGRAM [ARGUMENT]...")
	}
	os.Args = os.Args[1:]
	switch os.Args[0] {
	case "etcd":
		etcdmain.Main(os.Args)
		return
	case "helm":
		runHelm()
		return
	}
	create, found := programs[os.Args[0]]
	if !found {
		fail("kube: there is no program " + os.Args[0])
	}
	os.Exit(cli.Run(create()))
}

// Helm prints its errors itself, and has other flags than what component-base adds.
func runHelm() {
	command, err := helm.NewRootCmd(os.Stdout, os.Args[1:], helm.SetupLogging)
	if err != nil {
		fail("helm: " + err.Error())
	}
	if command.Execute() != nil {
		os.Exit(1)
	}
}

func fail(why string) {
	fmt.Fprintln(os.Stderr, why)
	os.Exit(2)
}
