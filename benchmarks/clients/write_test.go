package clients

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/internal/kafkatest"
	"github.com/weirstream/weir/internal/wire"
)

// All writers are idempotent, wait for all in-sync replicas, linger 5 ms and send batches of at most 128 KiB.
const (
	linger     = 5 * time.Millisecond
	batchBytes = 128 << 10
)

func BenchmarkWrite(b *testing.B) {
	broker := kafkatest.Start(b)
	values := make([][]byte, 1000)
	for i := range values {
		values[i] = value(i)
	}
	key := []byte("key-000000")
	b.Run("weir", func(b *testing.B) {
		log, topic := connect(b, broker), broker.Topic("bench-out", partitions)
		measure(b, func() error { return writeWeir(b.Context(), log, topic, key, values) })
	})
	b.Run("franz-go", func(b *testing.B) {
		topic := broker.Topic("bench-out", partitions)
		measure(b, func() error { return writeFranz(b.Context(), broker, topic, key, values) })
	})
	b.Run("sarama", func(b *testing.B) {
		topic := broker.Topic("bench-out", partitions)
		measure(b, func() error { return writeSarama(broker, topic, key, values) })
	})
}

func writeWeir(ctx context.Context, log wire.Log, topic string, key []byte, values [][]byte) error {
	w, err := log.Writer(ctx, wire.WriterConfig{Name: "bench", BatchBytes: batchBytes, Linger: linger})
	if err != nil {
		return err
	}
	defer w.Close()
	task, err := w.Appender("bench", 1)
	if err != nil {
		return err
	}
	out, err := task.To(ctx, topic)
	if err != nil {
		return err
	}
	now := time.Now().UnixMilli()
	for i := range records() {
		if i%1000 == 0 && w.Full() {
			<-w.Drained()
		}
		out.Append(int32(i%partitions), now, key, values[i%len(values)], nil)
	}
	task.Cut(1)
	_, err = w.Flush(ctx, 1)
	return err
}

func writeFranz(ctx context.Context, broker *kafkatest.Broker, topic string, key []byte, values [][]byte) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(broker.Brokers()...), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerLinger(linger), kgo.ProducerBatchMaxBytes(batchBytes), kgo.ProducerBatchCompression(kgo.NoCompression()))
	if err != nil {
		return err
	}
	defer client.Close()
	var failed atomic.Pointer[error]
	for i := range records() {
		r := &kgo.Record{Topic: topic, Partition: int32(i % partitions), Key: key, Value: values[i%len(values)]}
		client.Produce(ctx, r, func(_ *kgo.Record, err error) {
			if err != nil {
				failed.Store(&err)
			}
		})
	}
	if err := client.Flush(ctx); err != nil {
		return err
	}
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

func writeSarama(broker *kafkatest.Broker, topic string, key []byte, values [][]byte) error {
	config := sarama.NewConfig()
	config.Version = sarama.V3_6_0_0
	config.Net.MaxOpenRequests = 1 // sarama's idempotent producer requires it
	config.Producer.Idempotent = true
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Flush.Frequency, config.Producer.Flush.Bytes = linger, batchBytes
	config.Producer.Partitioner = sarama.NewManualPartitioner
	producer, err := sarama.NewAsyncProducer(broker.Brokers(), config)
	if err != nil {
		return err
	}
	for i := range records() {
		producer.Input() <- &sarama.ProducerMessage{Topic: topic, Partition: int32(i % partitions),
			Key: sarama.ByteEncoder(key), Value: sarama.ByteEncoder(values[i%len(values)])}
	}
	return producer.Close() // sends what is left, and returns what failed
}
