package main

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "tenure.scheduler/go/tenure/v1"
)

const (
	nodes       = 40
	gpusPerNode = 8
	gib         = 1 << 30
)

// newCluster returns a cluster that is full of jobs of the queue research, which is above its fair share.
// The queue product is below its fair share and has a pending job for four nodes. No job is protected.
func newCluster(now time.Time) *pb.ClusterSnapshot {
	snapshot := &pb.ClusterSnapshot{
		ClusterId: "go-example",
		NodePool:  "h100",
		Version:   1,
		Now:       timestamppb.New(now),
		Queues: []*pb.Queue{
			queue("product", nodes*gpusPerNode/2),
			queue("research", nodes*gpusPerNode/2),
		},
		Shapes: []*pb.PodShape{shape("one-gpu", 1), shape("whole-node", gpusPerNode)},
	}
	for at := range nodes {
		name := fmt.Sprintf("node-%02d", at)
		snapshot.Nodes = append(snapshot.Nodes, node(name))
		addJob(snapshot, fmt.Sprintf("study-%02d", at), "research", "one-gpu", gpusPerNode, name, now.Add(-time.Hour))
	}
	addJob(snapshot, "launch", "product", "whole-node", 4, "", now.Add(-time.Minute))
	return snapshot
}

func node(name string) *pb.Node {
	return &pb.Node{
		Name: name,
		Allocatable: &pb.Resources{
			CpuMilli:    64_000,
			MemoryBytes: 512 * gib,
			GpuMilli:    gpusPerNode * 1000,
			Pods:        110,
		},
	}
}

func queue(name string, gpus int64) *pb.Queue {
	return &pb.Queue{Name: name, GpuMilli: &pb.QueueResource{Quota: gpus * 1000}}
}

func shape(id string, gpus int64) *pb.PodShape {
	return &pb.PodShape{
		Id:       id,
		Requests: &pb.Resources{CpuMilli: 1000, MemoryBytes: 4 * gib},
		Gpu:      &pb.GpuRequest{Devices: gpus},
	}
}

// addJob adds a gang of pods that run on a node, or are pending if the node is empty.
func addJob(s *pb.ClusterSnapshot, uid, queue, shape string, pods int, node string, created time.Time) {
	group := &pb.PodGroup{
		Uid:            uid,
		Name:           uid,
		Queue:          queue,
		MinMember:      proto.Int32(int32(pods)),
		Preemptibility: pb.Preemptibility_PREEMPTIBILITY_PREEMPTIBLE,
		CreationTime:   timestamppb.New(created),
	}
	status := pb.PodStatus_POD_STATUS_PENDING
	if node != "" {
		status = pb.PodStatus_POD_STATUS_RUNNING
		group.LastStartTime = group.CreationTime
	}
	s.PodGroups = append(s.PodGroups, group)
	for at := range pods {
		s.Pods = append(s.Pods, &pb.Pod{
			Uid:      fmt.Sprintf("%s-%d", uid, at),
			PodGroup: uid,
			Shape:    shape,
			Status:   status,
			Node:     node,
		})
	}
}
