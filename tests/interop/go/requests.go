package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"

	pb "tenure.scheduler/go/tenure/v1"
)

// wantedChunk is small, so that a small snapshot is sent in several chunks.
const wantedChunk = 8 << 10

func readCapabilities(ctx context.Context, s *session) (string, error) {
	answer, err := s.service.GetCapabilities(ctx, &pb.GetCapabilitiesRequest{})
	if err != nil {
		return "", err
	}
	limits := answer.Limits
	s.maxChunk = int(min(wantedChunk, limits.MaxChunkBytes))
	if s.maxChunk <= 0 || int64(len(s.snapshot.Pods)) > limits.MaxRows["pods"] {
		return "", fmt.Errorf("the server takes too little: %v", limits)
	}
	return fmt.Sprintf("Tenure %s runs %s", answer.Version, strings.Join(answer.ProfileActions, ", ")), nil
}

// compareDecisions checks that the pushed state and the same snapshot in a request lead to equal bytes.
func compareDecisions(ctx context.Context, s *session) (string, error) {
	pushed, err := s.decideRaw(ctx, &pb.DecideRequest{State: s.state})
	if err != nil {
		return "", err
	}
	inline, err := s.decideRaw(ctx, &pb.DecideRequest{Snapshot: s.snapshot})
	if err != nil {
		return "", err
	}
	if !bytes.Equal(pushed, inline) {
		return "", errors.New("the answers to a pushed state and to the same snapshot differ")
	}
	answer := &pb.DecideResponse{}
	if err := proto.Unmarshal(pushed, answer); err != nil {
		return "", err
	}
	evicted, reserved := count(answer)
	if evicted == 0 || reserved == 0 || answer.Header.Version != s.snapshot.Version {
		return "", fmt.Errorf("launch got no capacity: %v", answer.Outcomes)
	}
	return fmt.Sprintf("%d bytes either way: %d pods are evicted, %d have reserved capacity", len(pushed), evicted, reserved), nil
}

// count returns the number of evicted pods and the number of reservations.
func count(answer *pb.DecideResponse) (evicted, reserved int) {
	for _, group := range answer.Groups {
		for _, decision := range group.Decisions {
			switch decision.Kind.(type) {
			case *pb.Decision_Evict:
				evicted++
			case *pb.Decision_Reserve:
				reserved++
			}
		}
	}
	return evicted, reserved
}

// simulateMoreQuota simulates a quota of the complete cluster for the queue research: no pod is evicted.
func simulateMoreQuota(ctx context.Context, s *session) (string, error) {
	answer, err := s.service.Simulate(ctx, &pb.SimulateRequest{
		Source: &pb.SimulateRequest_State{State: s.state},
		Upserts: &pb.ClusterSnapshot{
			Queues: []*pb.Queue{queue("product", 0), queue("research", nodes*gpusPerNode)},
		},
	})
	if err != nil {
		return "", err
	}
	if len(answer.Cycles) != 1 {
		return "", fmt.Errorf("there are %d cycles, not one", len(answer.Cycles))
	}
	if evicted, _ := count(answer.Cycles[0]); evicted > 0 {
		return "", fmt.Errorf("%d pods are evicted, though they are within the quota", evicted)
	}
	return "with all quota for research no pod is evicted", nil
}

func explainPending(ctx context.Context, s *session) (string, error) {
	answer, err := s.service.Explain(ctx, &pb.ExplainRequest{
		Source:   &pb.ExplainRequest_State{State: s.state},
		Question: &pb.ExplainRequest_WhyPending{WhyPending: &pb.WhyPending{PodGroup: "launch"}},
	})
	if err != nil {
		return "", err
	}
	if answer.Explanation.GetOperator() == "" {
		return "", errors.New("no explanation for operators")
	}
	return answer.Explanation.Operator, nil
}
