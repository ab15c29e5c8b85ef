package main

import (
	"context"
	"fmt"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "tenure.scheduler/go/tenure/v1"
)

// readRejection sends a snapshot with two violations and finds both in the error details.
func readRejection(ctx context.Context, s *session) (string, error) {
	bad := proto.CloneOf(s.snapshot)
	bad.Queues[0].Parent = "nowhere"
	bad.Nodes[0].Allocatable.CpuMilli = -1
	_, err := s.service.Decide(ctx, &pb.DecideRequest{Snapshot: bad})
	refused, _ := status.FromError(err)
	if refused.Code() != codes.InvalidArgument {
		return "", fmt.Errorf("a bad snapshot was answered with %v", err)
	}
	found := violations(refused)
	for _, field := range []string{"nodes[0].allocatable.cpu_milli", "queues[0].parent"} {
		if _, named := found[field]; !named {
			return "", fmt.Errorf("the error does not name %s: %v", field, found)
		}
	}
	return fmt.Sprintf("%d fields named, among them queues[0].parent: %s", len(found), found["queues[0].parent"]), nil
}

// violations returns the invalid fields of an error with their descriptions.
func violations(refused *status.Status) map[string]string {
	found := map[string]string{}
	for _, detail := range refused.Details() {
		if request, ok := detail.(*errdetails.BadRequest); ok {
			for _, violation := range request.FieldViolations {
				found[violation.Field] = violation.Description
			}
		}
	}
	return found
}

// describe returns the violations of a delta on one line.
func describe(faults []*pb.FieldViolation) string {
	told := make([]string, len(faults))
	for at, fault := range faults {
		told[at] = fault.Field + ": " + fault.Description
	}
	return strings.Join(told, "; ")
}
