package main

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	pb "tenure.scheduler/go/tenure/v1"
)

// around is an upper bound of the bytes that a list adds to one row.
const around = 16

// split divides a snapshot into chunks of at most this many bytes. The first chunk contains all fields that
// are not lists. Lists are divided between rows, so a new list of the contract needs no change here.
func split(snapshot *pb.ClusterSnapshot, most int) []*pb.ClusterSnapshot {
	chunks := []*pb.ClusterSnapshot{withoutLists(snapshot)}
	size := proto.Size(chunks[0])
	source := snapshot.ProtoReflect()
	for _, field := range lists(source) {
		rows := source.Get(field).List()
		for at := range rows.Len() {
			row := rows.Get(at)
			more := proto.Size(row.Message().Interface()) + around
			if size+more > most {
				chunks = append(chunks, &pb.ClusterSnapshot{})
				size = 0
			}
			chunks[len(chunks)-1].ProtoReflect().Mutable(field).List().Append(row)
			size += more
		}
	}
	return chunks
}

// withoutLists returns the snapshot without its lists.
func withoutLists(snapshot *pb.ClusterSnapshot) *pb.ClusterSnapshot {
	rest := &pb.ClusterSnapshot{}
	snapshot.ProtoReflect().Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		if !field.IsList() {
			rest.ProtoReflect().Set(field, value)
		}
		return true
	})
	return rest
}

// lists returns the list fields, in the order of the contract.
func lists(message protoreflect.Message) []protoreflect.FieldDescriptor {
	var found []protoreflect.FieldDescriptor
	fields := message.Descriptor().Fields()
	for at := range fields.Len() {
		if field := fields.Get(at); field.IsList() {
			found = append(found, field)
		}
	}
	return found
}
