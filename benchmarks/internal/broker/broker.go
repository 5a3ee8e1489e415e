// Package broker gives benchmarks a real Apache Kafka and looks at it from outside: it loads input, follows how far a
// system has committed, and reads results back as any read_committed consumer would.
package broker

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// A Broker is a running Kafka.
type Broker struct {
	Addresses string // separated by commas

	dir    string // that scripts/kafka knows it by; "" when somebody else started it
	script string
	client *kgo.Client
	admin  *kadm.Client
}

// Start starts a Kafka through scripts/kafka below root, on the CPUs of pin ("" for all), or uses WEIR_KAFKA_BROKERS.
func Start(root, pin string) (*Broker, error) {
	b := &Broker{Addresses: os.Getenv("WEIR_KAFKA_BROKERS"), script: filepath.Join(root, "scripts", "kafka")}
	if b.Addresses == "" {
		args := []string{"start", "-heap", "1g"}
		if pin != "" {
			args = append(args, "-pin", pin)
		}
		cmd := exec.Command(b.script, args...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("%s start: %w\n%s", b.script, err, stderr.Bytes())
		}
		for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
			switch key, value, _ := strings.Cut(lines.Text(), "="); key {
			case "WEIR_KAFKA_BROKERS":
				b.Addresses = value
			case "WEIR_KAFKA_DIR":
				b.dir = value
			}
		}
	}
	var err error
	b.client, err = kgo.NewClient(kgo.SeedBrokers(strings.Split(b.Addresses, ",")...),
		kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)), kgo.ProducerBatchMaxBytes(512<<10),
		kgo.MaxBufferedRecords(100_000), kgo.ProducerBatchCompression(kgo.NoCompression()))
	if err != nil {
		b.Close()
		return nil, err
	}
	b.admin = kadm.NewClient(b.client)
	return b, nil
}

// Close stops the Kafka that Start started and removes its data.
func (b *Broker) Close() {
	if b.client != nil {
		b.client.Close()
	}
	if b.dir != "" {
		_ = exec.Command(b.script, "stop", b.dir).Run()
	}
}

// CreateTopic makes a topic that keeps its records.
func (b *Broker) CreateTopic(ctx context.Context, name string, partitions int) error {
	forever := "-1"
	_, err := b.admin.CreateTopic(ctx, int32(partitions), -1, map[string]*string{"retention.ms": &forever}, name)
	if err != nil {
		return fmt.Errorf("creating topic %s: %w", name, err)
	}
	return nil
}

// DeleteTopics removes every topic whose name starts with prefix, to give the disk back.
func (b *Broker) DeleteTopics(ctx context.Context, prefix string) error {
	all, err := b.admin.ListTopics(ctx)
	if err != nil {
		return err
	}
	var names []string
	for name := range all {
		if strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	_, err = b.admin.DeleteTopics(ctx, names...)
	return err
}

// Committed is how many records of a topic the group has committed, counted from the start of each partition.
func (b *Broker) Committed(ctx context.Context, group, topic string) (int64, error) {
	offsets, err := b.admin.FetchOffsets(ctx, group)
	if err != nil {
		return 0, err
	}
	var total int64
	for _, p := range offsets[topic] {
		if p.Err == nil && p.At > 0 {
			total += p.At
		}
	}
	return total, nil
}

var errStopped = errors.New("no more results came")
