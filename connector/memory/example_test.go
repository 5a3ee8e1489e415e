package memory_test

import (
	"context"
	"fmt"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/connector/memory"
)

// A source is read from a position, and read on from where a checkpoint was.
func ExampleFrom() {
	words := memory.From("words", func(yield func(connector.Record[string, int]) bool) {
		for i, w := range []string{"to", "be", "or", "not"} {
			if !yield(connector.Record[string, int]{Key: w, Value: i}) {
				return
			}
		}
	})
	reader, err := words.Open(context.Background(), connector.Env{}, 0, "2")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer reader.Close()
	batch, _ := reader.Next(context.Background())
	for i := range batch.Len() {
		var r connector.Record[string, int]
		_ = batch.Decode(i, &r)
		fmt.Println(r.Key, batch.Position(i))
	}
	// Output:
	// or 3
	// not 4
}

// Records are made when they are decoded: a benchmark's source costs nothing itself.
func ExampleGenerate() {
	squares := memory.Generate("squares", 1, 3, func(_ int, i int64, r *connector.Record[int64, int64]) {
		r.Key, r.Value = i, i*i
	})
	reader, _ := squares.Open(context.Background(), connector.Env{}, 0, "")
	batch, _ := reader.Next(context.Background())
	for i := range batch.Len() {
		var r connector.Record[int64, int64]
		_ = batch.Decode(i, &r)
		fmt.Println(r.Key, r.Value)
	}
	// Output:
	// 0 0
	// 1 1
	// 2 4
}

func ExampleEach() {
	printed := memory.Each("printed", func(r *connector.Record[string, int]) { fmt.Println(r.Key, r.Value) })
	w, _ := printed.Open(context.Background(), connector.Env{}, connector.Task{})
	_ = w.Write(&connector.Record[string, int]{Key: "a", Value: 1})
	// Output: a 1
}

// What a Collector has is what checkpoints have committed.
func ExampleCollect() {
	out := memory.Collect[string, int]("out")
	ctx, env := context.Background(), connector.Env{}
	w, _ := out.OpenTx(ctx, env, connector.Task{Name: "task"})
	_ = w.Write(&connector.Record[string, int]{Key: "a", Value: 1})
	h, _ := w.Prepare(ctx, 1)
	fmt.Println(len(out.Records()))
	_ = out.Commit(ctx, env, h)
	fmt.Println(len(out.Records()))
	// Output:
	// 0
	// 1
}
