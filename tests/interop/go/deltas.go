package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	pb "tenure.scheduler/go/tenure/v1"
)

type deltaStream = pb.DecisionService_SyncStateClient

func pushSnapshot(ctx context.Context, s *session) (string, error) {
	chunks, err := s.push(ctx)
	if err != nil {
		return "", err
	}
	if chunks < 2 {
		return "", fmt.Errorf("the snapshot went in %d chunk", chunks)
	}
	return fmt.Sprintf("%d nodes and %d pods in %d chunks", len(s.snapshot.Nodes), len(s.snapshot.Pods), chunks), nil
}

// streamDeltas sends three deltas. The second one is invalid and is rejected.
func streamDeltas(ctx context.Context, s *session) (string, error) {
	stream, err := s.service.SyncState(ctx)
	if err != nil {
		return "", err
	}
	if err := s.change(stream, arrival("first")); err != nil {
		return "", err
	}
	refused, err := send(stream, s.delta(&pb.ClusterSnapshot{Pods: []*pb.Pod{{Uid: "lost", PodGroup: "nobody"}}}))
	if err != nil {
		return "", err
	}
	if refused.GetError().GetCode() != pb.StateErrorCode_STATE_ERROR_CODE_INVALID || refused.State.GetVersion() != s.state.Version {
		return "", fmt.Errorf("a pod of no pod group was answered with %v", refused)
	}
	if err := s.change(stream, arrival("second")); err != nil {
		return "", err
	}
	if err := end(stream); err != nil {
		return "", err
	}
	return fmt.Sprintf("2 applied; 1 refused: %s", describe(refused.Error.Violations)), nil
}

// fallOutOfStep sends a delta for a version that the server does not have, then resyncs as required.
func fallOutOfStep(ctx context.Context, s *session) (string, error) {
	stream, err := s.service.SyncState(ctx)
	if err != nil {
		return "", err
	}
	delta := s.delta(arrival("third"))
	delta.Base.Version++
	delta.Version++
	answer, err := send(stream, delta)
	if err != nil {
		return "", err
	}
	fault := answer.GetError()
	if fault.GetCode() != pb.StateErrorCode_STATE_ERROR_CODE_VERSION_GAP || !fault.ResyncRequired {
		return "", fmt.Errorf("a gap was answered with %v", answer)
	}
	if err := end(stream); err != nil {
		return "", err
	}
	if _, err := s.push(ctx); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s; pushed again as %s", fault.Message, s.state.Epoch), nil
}

// arrival returns a new job.
func arrival(uid string) *pb.ClusterSnapshot {
	rows := &pb.ClusterSnapshot{}
	addJob(rows, uid, "product", "one-gpu", 2, "", time.Now())
	return rows
}

// delta returns the delta to the next version, with new or changed rows.
func (s *session) delta(upserts *pb.ClusterSnapshot) *pb.StateDelta {
	return &pb.StateDelta{
		Base: &pb.StateReference{
			ClusterId: s.state.ClusterId,
			NodePool:  s.state.NodePool,
			Epoch:     s.state.Epoch,
			Version:   s.state.Version,
		},
		Version:  s.state.Version + 1,
		Now:      timestamppb.New(s.snapshot.Now.AsTime().Add(time.Second)),
		Upserts:  upserts,
		Removals: &pb.StateKeys{},
	}
}

// change adds rows and removes the oldest job, in the local snapshot and on the server.
func (s *session) change(stream deltaStream, upserts *pb.ClusterSnapshot) error {
	delta := s.delta(upserts)
	gone := s.snapshot.PodGroups[0].Uid
	delta.Removals.PodGroups = []string{gone}
	for _, pod := range s.snapshot.Pods {
		if pod.PodGroup == gone {
			delta.Removals.Pods = append(delta.Removals.Pods, pod.Uid)
		}
	}
	answer, err := send(stream, delta)
	if err != nil {
		return err
	}
	if answer.Error != nil {
		return fmt.Errorf("the delta to version %d was refused: %v", delta.Version, answer.Error)
	}
	s.snapshot.Version, s.snapshot.Now = delta.Version, delta.Now
	s.snapshot.PodGroups = append(s.snapshot.PodGroups[1:], upserts.PodGroups...)
	s.snapshot.Pods = slices.DeleteFunc(s.snapshot.Pods, func(pod *pb.Pod) bool { return pod.PodGroup == gone })
	s.snapshot.Pods = append(s.snapshot.Pods, upserts.Pods...)
	s.state = answer.State
	return s.checkState()
}

// send sends a delta and waits for the response with the same nonce.
func send(stream deltaStream, delta *pb.StateDelta) (*pb.SyncStateResponse, error) {
	nonce := fmt.Sprintf("to-%d", delta.Version)
	if err := stream.Send(&pb.SyncStateRequest{Nonce: nonce, Delta: delta}); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	answer, err := stream.Recv()
	if err != nil {
		return nil, err
	}
	if answer.Nonce != nonce {
		return nil, fmt.Errorf("the answer to %s has the nonce %q", nonce, answer.Nonce)
	}
	return answer, nil
}

// end closes the stream and waits until the server closes it.
func end(stream deltaStream) error {
	if err := stream.CloseSend(); err != nil {
		return err
	}
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("the stream did not end: %w", err)
	}
	return nil
}
