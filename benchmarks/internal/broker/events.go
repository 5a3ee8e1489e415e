package broker

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// An Event is a value without a key for one partition.
type Event struct {
	Partition int
	Value     []byte
	Time      time.Time
}

// LoadEvents creates the topic and fills it with what each yields.
func (b *Broker) LoadEvents(ctx context.Context, topic string, partitions int, each func(yield func(Event) bool)) error {
	if err := b.CreateTopic(ctx, topic, partitions); err != nil {
		return err
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(b.Addresses, ",")...), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchMaxBytes(512<<10), kgo.MaxBufferedRecords(100_000), kgo.ProducerBatchCompression(kgo.NoCompression()))
	if err != nil {
		return err
	}
	defer client.Close()
	var failed atomic.Pointer[error]
	var flying sync.WaitGroup
	for e := range each {
		flying.Add(1)
		client.Produce(ctx, &kgo.Record{Topic: topic, Partition: int32(e.Partition), Value: e.Value, Timestamp: e.Time}, func(_ *kgo.Record, err error) {
			if err != nil {
				failed.Store(&err)
			}
			flying.Done()
		})
		if failed.Load() != nil {
			break
		}
	}
	flying.Wait()
	if err := failed.Load(); err != nil {
		return fmt.Errorf("loading %s: %w", topic, *err)
	}
	return nil
}

// ReadRows hands each visible record of a topic to each, from the start until each says that everything is there and a little longer, or
// until nothing comes any more.
func (b *Broker) ReadRows(ctx context.Context, topic string, each func(key, value []byte) (done bool)) error {
	return b.consume(ctx, topic, func(r *kgo.Record) (bool, error) { return each(r.Key, r.Value), nil })
}
