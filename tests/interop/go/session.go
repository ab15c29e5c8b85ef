package main

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	pb "tenure.scheduler/go/tenure/v1"
)

// A session is the state of the client, and the state that the server has according to the client.
type session struct {
	service    pb.DecisionServiceClient
	connection grpc.ClientConnInterface
	// Largest chunk that the server accepts, in bytes.
	maxChunk int
	// The current snapshot.
	snapshot *pb.ClusterSnapshot
	// Epoch and version of the state on the server.
	state *pb.StateReference
	// Number of full pushes. Each starts a new epoch.
	pushes int
}

// push sends the complete snapshot in chunks and starts a new epoch.
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
			break // CloseAndRecv returns the error.
		}
	}
	answer, err := stream.CloseAndRecv()
	if err != nil {
		return 0, err
	}
	s.state = answer.State
	return len(chunks), s.checkState()
}

// checkState returns an error if the version on the server differs from that of the client.
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
