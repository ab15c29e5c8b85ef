// The filters and scores of kube-scheduler's default profile, asked about one pod at a time.
//
// Each line of the standard input is a cluster and a pod as JSON; each line of the standard output says on which
// nodes the pod could be placed, why not on the others, and the score of the nodes by plugin. Nothing is bound.
// Volumes and device claims are left out: their plugins need an API server.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	v1 "k8s.io/api/core/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

// Question is a cluster and the pod that asks for a node. Pods with a node name are placed.
type Question struct {
	Nodes      []*v1.Node      `json:"nodes"`
	Namespaces []*v1.Namespace `json:"namespaces"`
	Pods       []*v1.Pod       `json:"pods"`
	Pod        *v1.Pod         `json:"pod"`
}

// Answer lists the nodes on which the pod fits. Scores are those of kube-scheduler, normalized and weighted.
type Answer struct {
	Feasible []string                    `json:"feasible"`
	Reasons  map[string]string           `json:"reasons"`
	Scores   map[string]map[string]int64 `json:"scores"`
	Error    string                      `json:"error,omitempty"`
}

var leftOut = map[string]bool{
	names.DynamicResources:   true,
	names.NodeVolumeLimits:   true,
	names.VolumeBinding:      true,
	names.VolumeRestrictions: true,
	names.VolumeZone:         true,
}

func main() {
	if err := utilfeature.DefaultMutableFeatureGate.Set("DRAExtendedResource=false"); err != nil {
		panic(err)
	}
	metrics.Register()
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, 1<<20), 1<<28)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		if err := out.Encode(answer(lines.Bytes())); err != nil {
			panic(err)
		}
	}
}

func answer(line []byte) Answer {
	var question Question
	if err := json.Unmarshal(line, &question); err != nil {
		return Answer{Error: err.Error()}
	}
	found, err := ask(question)
	if err != nil {
		return Answer{Error: err.Error()}
	}
	return found
}

func ask(question Question) (Answer, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	snapshot := cache.NewSnapshot(placed(question.Pods), question.Nodes)
	scheduler, err := newFramework(ctx, question.Namespaces, snapshot)
	if err != nil {
		return Answer{}, err
	}
	nodes, err := snapshot.NodeInfos().List()
	if err != nil {
		return Answer{}, err
	}
	found := Answer{Feasible: []string{}, Reasons: map[string]string{}, Scores: map[string]map[string]int64{}}
	if status := scheduler.RunPreEnqueuePlugins(ctx, question.Pod); status != "" {
		for _, node := range nodes {
			found.Reasons[node.Node().Name] = status
		}
		return found, nil
	}
	state := framework.NewCycleState()
	result, status, _ := scheduler.RunPreFilterPlugins(ctx, state, question.Pod)
	if !status.IsSuccess() && !status.IsRejected() {
		return Answer{}, status.AsError()
	}
	var feasible []fwk.NodeInfo
	for _, node := range nodes {
		name := node.Node().Name
		if !status.IsSuccess() {
			found.Reasons[name] = status.Message()
		} else if result != nil && result.NodeNames != nil && !result.NodeNames.Has(name) {
			found.Reasons[name] = "left out by a pre-filter"
		} else if rejected := scheduler.RunFilterPlugins(ctx, state, question.Pod, node); rejected.IsSuccess() {
			feasible = append(feasible, node)
			found.Feasible = append(found.Feasible, name)
		} else {
			found.Reasons[name] = strings.Join(rejected.Reasons(), ", ")
		}
	}
	return found, addScores(ctx, scheduler, state, question.Pod, feasible, found.Scores)
}

func addScores(
	ctx context.Context,
	scheduler *asked,
	state fwk.CycleState,
	pod *v1.Pod,
	nodes []fwk.NodeInfo,
	scores map[string]map[string]int64,
) error {
	if len(nodes) == 0 {
		return nil
	}
	if status := scheduler.RunPreScorePlugins(ctx, state, pod, nodes); !status.IsSuccess() {
		return status.AsError()
	}
	found, status := scheduler.RunScorePlugins(ctx, state, pod, nodes)
	if !status.IsSuccess() {
		return status.AsError()
	}
	for _, node := range found {
		scores[node.Name] = map[string]int64{}
		for _, score := range node.Scores {
			scores[node.Name][score.Name] = score.Score
		}
	}
	return nil
}

// A scheduler's framework, with the checks before a pod is queued.
type asked struct {
	framework.Framework
}

func (a *asked) RunPreEnqueuePlugins(ctx context.Context, pod *v1.Pod) string {
	for _, plugin := range a.PreEnqueuePlugins() {
		if status := plugin.PreEnqueue(ctx, pod); !status.IsSuccess() {
			return status.Message()
		}
	}
	return ""
}

func newFramework(ctx context.Context, namespaces []*v1.Namespace, snapshot *cache.Snapshot) (*asked, error) {
	client, err := kubernetes.NewForConfig(&rest.Config{Host: "http://127.0.0.1:1"})
	if err != nil {
		return nil, err
	}
	factory := informers.NewSharedInformerFactory(client, 0) // never started: filled by hand
	for _, namespace := range namespaces {
		if err := factory.Core().V1().Namespaces().Informer().GetIndexer().Add(namespace); err != nil {
			return nil, err
		}
	}
	profile, err := defaultProfile()
	if err != nil {
		return nil, err
	}
	made, err := runtime.NewFramework(ctx, plugins.NewInTreeRegistry(), profile,
		runtime.WithClientSet(client),
		runtime.WithInformerFactory(factory),
		runtime.WithSnapshotSharedLister(snapshot),
	)
	if err != nil {
		return nil, err
	}
	return &asked{made}, nil
}

func defaultProfile() (*config.KubeSchedulerProfile, error) {
	defaults, err := latest.Default()
	if err != nil {
		return nil, err
	}
	if len(defaults.Profiles) != 1 {
		return nil, fmt.Errorf("%d profiles", len(defaults.Profiles))
	}
	profile := &defaults.Profiles[0]
	var enabled []config.Plugin
	for _, plugin := range profile.Plugins.MultiPoint.Enabled {
		if !leftOut[plugin.Name] {
			enabled = append(enabled, plugin)
		}
	}
	profile.Plugins.MultiPoint.Enabled = enabled
	return profile, nil
}

// Pods that the scheduler sees on nodes: those that have not ended.
func placed(pods []*v1.Pod) []*v1.Pod {
	var found []*v1.Pod
	for _, pod := range pods {
		if pod.Spec.NodeName != "" && pod.Status.Phase != v1.PodSucceeded && pod.Status.Phase != v1.PodFailed {
			found = append(found, pod)
		}
	}
	return found
}
