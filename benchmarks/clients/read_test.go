package clients

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/internal/kafkatest"
	"github.com/weirstream/weir/internal/wire"
)

func BenchmarkRead(b *testing.B) {
	broker := kafkatest.Start(b)
	topic := input(b, broker)
	b.Run("weir", func(b *testing.B) {
		log := connect(b, broker)
		measure(b, func() error { return readWeir(b.Context(), log, topic) })
	})
	b.Run("franz-go", func(b *testing.B) {
		measure(b, func() error { return readFranz(b.Context(), broker, topic) })
	})
	b.Run("sarama", func(b *testing.B) {
		measure(b, func() error { return readSarama(b.Context(), broker, topic) })
	})
}

// connect opens weir's connection to the broker.
func connect(b *testing.B, broker *kafkatest.Broker) wire.Log {
	b.Helper()
	// A line of a log would stand in the middle of a result.
	log, err := (&kafka.Cluster{Brokers: broker.Brokers(), Logger: slog.New(slog.DiscardHandler)}).Connect(b.Context(), broker.Name("bench"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { log.Close() })
	return log
}

func readWeir(ctx context.Context, log wire.Log, topic string) error {
	failed := make(chan error, partitions)
	for p := range int32(partitions) {
		go func() { failed <- drain(ctx, log, wire.TopicPartition{Topic: topic, Partition: p}) }()
	}
	for range partitions {
		if err := <-failed; err != nil {
			return err
		}
	}
	return nil
}

// drain reads one partition to the end that the broker knows.
func drain(ctx context.Context, log wire.Log, at wire.TopicPartition) error {
	r, err := log.Read(ctx, at, 0, wire.ReadOptions{Committed: true})
	if err != nil {
		return err
	}
	defer r.Close()
	for n := 0; n < records()/partitions; {
		batch, err := r.Next(ctx)
		if err != nil {
			return err
		}
		for i := range batch.Records {
			if len(batch.Records[i].Value) != valueBytes {
				return fmt.Errorf("%v at %d: a value of %d bytes", at, batch.Records[i].Offset, len(batch.Records[i].Value))
			}
		}
		n += len(batch.Records)
		batch.Release()
	}
	return nil
}

func readFranz(ctx context.Context, broker *kafkatest.Broker, topic string) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(broker.Brokers()...), kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	if err != nil {
		return err
	}
	defer client.Close()
	for n := 0; n < records(); {
		fetched := client.PollFetches(ctx)
		if err := fetched.Err(); err != nil {
			return err
		}
		for r := range fetched.RecordsAll() {
			if len(r.Value) != valueBytes {
				return fmt.Errorf("%s/%d at %d: a value of %d bytes", r.Topic, r.Partition, r.Offset, len(r.Value))
			}
		}
		n += fetched.NumRecords()
	}
	return nil
}

// readSarama reads as its users do: by a consumer group.
func readSarama(ctx context.Context, broker *kafkatest.Broker, topic string) error {
	config := sarama.NewConfig()
	config.Version = sarama.V3_6_0_0
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.IsolationLevel = sarama.ReadCommitted
	group, err := sarama.NewConsumerGroup(broker.Brokers(), broker.Name("bench"), config)
	if err != nil {
		return err
	}
	defer group.Close()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	return group.Consume(ctx, []string{topic}, &counting{stop: stop})
}

// counting ends the session when all records have come.
type counting struct {
	seen atomic.Int64
	stop func()
}

func (c *counting) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (c *counting) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (c *counting) ConsumeClaim(_ sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for m := range claim.Messages() {
		if len(m.Value) != valueBytes {
			return fmt.Errorf("%s/%d at %d: a value of %d bytes", m.Topic, m.Partition, m.Offset, len(m.Value))
		}
		if c.seen.Add(1) == int64(records()) {
			c.stop()
		}
	}
	return nil
}
