package main

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/protobuf/proto"

	pb "tenure.scheduler/go/tenure/v1"
)

// rawAnswer sends messages and returns the response as bytes.
type rawAnswer struct{}

var _ encoding.Codec = rawAnswer{}

func (rawAnswer) Name() string { return "proto" }

func (rawAnswer) Marshal(message any) ([]byte, error) {
	return proto.Marshal(message.(proto.Message))
}

func (rawAnswer) Unmarshal(data []byte, answer any) error {
	into, ok := answer.(*[]byte)
	if !ok {
		return fmt.Errorf("an answer goes into *[]byte, not %T", answer)
	}
	*into = append((*into)[:0], data...)
	return nil
}

// decideRaw calls Decide and returns the response as bytes.
func (s *session) decideRaw(ctx context.Context, request *pb.DecideRequest) ([]byte, error) {
	var answer []byte
	method := pb.DecisionService_Decide_FullMethodName
	err := s.connection.Invoke(ctx, method, request, &answer, grpc.ForceCodec(rawAnswer{}))
	return answer, err
}
