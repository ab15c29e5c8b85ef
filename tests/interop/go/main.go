// The client uses a Tenure server as a scheduler in Go would. It is built from the protos alone.
//
// It pushes a snapshot, streams deltas, provokes a version gap and resyncs, requests decisions, simulations
// and explanations, and reads the error of an invalid snapshot.
//
// Exit status: 0 the server follows the contract; 1 it does not; 2 invalid command line.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	pb "tenure.scheduler/go/tenure/v1"
)

// A step is one test of the client, with a readable report.
type step struct {
	name string
	run  func(context.Context, *session) (report string, err error)
}

var steps = []step{
	{"capabilities", readCapabilities},
	{"rejection", readRejection},
	{"push", pushSnapshot},
	{"deltas", streamDeltas},
	{"gap and resync", fallOutOfStep},
	{"decide", compareDecisions},
	{"simulate", simulateMoreQuota},
	{"explain", explainPending},
}

func main() {
	address := flag.String("address", "", "HOST:PORT of a server that listens in clear text")
	timeout := flag.Duration("timeout", 30*time.Second, "how long one step may take")
	flag.Parse()
	if *address == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(*address, *timeout); err != nil {
		fmt.Fprintln(os.Stderr, "client:", err)
		os.Exit(1)
	}
}

func run(address string, timeout time.Duration) error {
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close()
	talk := &session{
		service:    pb.NewDecisionServiceClient(connection),
		connection: connection,
		snapshot:   newCluster(time.Now()),
	}
	for _, each := range steps {
		if err := try(each, talk, timeout); err != nil {
			return fmt.Errorf("%s: %w", each.name, err)
		}
	}
	return nil
}

func try(each step, talk *session, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	began := time.Now()
	report, err := each.run(ctx, talk)
	if err != nil {
		return err
	}
	fmt.Printf("%-16s %6d ms  %s\n", each.name, time.Since(began).Milliseconds(), report)
	return nil
}
