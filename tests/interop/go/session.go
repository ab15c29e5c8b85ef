package main

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	pb "tenure.test/client/gen/tenure/v1"
)

// A session is what the client knows, and what it believes the server has of it.
type session struct {
	service    pb.DecisionServiceClient
	connection grpc.ClientConnInterface
	// Largest chunk the server takes, in bytes.
	maxChunk int
	// The truth, kept by the client.
	snapshot *pb.ClusterSnapshot
	// What the server keeps.
	state *pb.StateReference
	// How often a full snapshot was pushed: each begins an epoch.
	pushes int
}

// push sends the whole snapshot in chunks and begins a new epoch.
func (s *session) push(ctx context.Context) (sent int, err error) {
	s.pushes++
	stream, err := s.service.PutSnapshot(ctx)
	if err != nil {
		return 0, err
	}
	chunks := split(s.snapshot, s.maxChunk)
	for at, chunk := range chunks {
		request := &pb.PutSnapshotRequest{Chunk: chunk, LastChunk: at == len(chunks)-1}
		if at == 0 {
			request.Epoch = fmt.Sprintf("epoch-%d", s.pushes)
		}
		if err := stream.Send(request); err != nil {
			break // CloseAndRecv tells why.
		}
	}
	answer, err := stream.CloseAndRecv()
	if err != nil {
		return 0, err
	}
	s.state = answer.State
	return len(chunks), s.checkState()
}

// checkState fails when the server keeps another version than the client has.
func (s *session) checkState() error {
	want := &pb.StateReference{
		ClusterId: s.snapshot.ClusterId,
		NodePool:  s.snapshot.NodePool,
		Epoch:     fmt.Sprintf("epoch-%d", s.pushes),
		Version:   s.snapshot.Version,
	}
	if !proto.Equal(s.state, want) {
		return fmt.Errorf("the server keeps %v, and the client has %v", s.state, want)
	}
	return nil
}
