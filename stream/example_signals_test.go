package stream_test

import (
	"context"
	"fmt"
	"os"
	"syscall"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/state"
	"github.com/weirstream/weir/stream"
)

// An app runs until its process is told to end, as by Kubernetes or by Ctrl-C, and then stops with what it has processed committed.
func ExampleApp_RunUntilSignal() {
	b := stream.New("numbers")
	b.Source(memory.Generate("numbers", 1, 1<<40, func(_ int, i int64, r *connector.Record[int64, int64]) { r.Key, r.Value = i, i })).
		ForEach(func(r stream.Record[int64, int64]) error {
			if r.Value == 1000 { // somebody ends the process
				return syscall.Kill(os.Getpid(), syscall.SIGTERM)
			}
			return nil
		})
	app, err := b.Build(stream.Config{State: state.InMemory()})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("ended:", app.RunUntilSignal(context.Background(), stream.Handover))
	// Output: ended: <nil>
}
