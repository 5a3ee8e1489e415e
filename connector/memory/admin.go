package memory

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"

	"github.com/weirstream/weir/internal/faults"
	"github.com/weirstream/weir/internal/wire"
)

// Topics is described at wire.Admin. Where the cluster makes topics as they are named, it makes these.
func (cn *conn) Topics(ctx context.Context, names ...string) (map[string]wire.Topic, error) {
	return ask(ctx, cn, faults.Request{Kind: faults.Metadata}, func(b *broker) (map[string]wire.Topic, error) {
		found := map[string]wire.Topic{}
		for _, name := range names {
			if t, err := b.lookup(name); err == nil {
				found[name] = t.describe()
			}
		}
		return found, nil
	})
}

func (t *topic) describe() wire.Topic {
	return wire.Topic{Name: t.name, ID: t.id, Partitions: int32(len(t.parts)), Configs: maps.Clone(t.configs)}
}

// Match is described at wire.Admin.
func (cn *conn) Match(ctx context.Context, re *regexp.Regexp) ([]string, error) {
	return ask(ctx, cn, faults.Request{Kind: faults.Metadata}, func(b *broker) ([]string, error) {
		var names []string
		for _, name := range slices.Sorted(maps.Keys(b.topics)) {
			if !internal(name) && re.MatchString(name) {
				names = append(names, name)
			}
		}
		return names, nil
	})
}

// Create is described at wire.Admin.
func (cn *conn) Create(ctx context.Context, specs ...wire.TopicSpec) error {
	return cn.call(ctx, faults.Request{Kind: faults.CreateTopics}, func(b *broker) error {
		for _, spec := range specs {
			if err := b.create(spec); err != nil {
				return err
			}
		}
		return nil
	})
}

// DeleteRecords is described at wire.Admin.
func (cn *conn) DeleteRecords(ctx context.Context, before map[wire.TopicPartition]int64) error {
	return cn.call(ctx, faults.Request{Kind: faults.DeleteRecords}, func(b *broker) error {
		for _, at := range sorted(slices.Collect(maps.Keys(before))) {
			p, err := b.partition(at)
			if err != nil {
				return err
			}
			offset := before[at]
			if offset > p.end {
				return fmt.Errorf("topic %s partition %d: delete before %d, ends at %d: %w", at.Topic, at.Partition, offset, p.end, wire.ErrOffsetGone)
			}
			p.deleteBefore(offset)
		}
		return nil
	})
}

// OpenTransactions is described at wire.Admin.
func (cn *conn) OpenTransactions(ctx context.Context, prefix string) ([]wire.OpenTx, error) {
	return ask(ctx, cn, faults.Request{Kind: faults.Metadata, ID: prefix}, func(b *broker) ([]wire.OpenTx, error) {
		return b.openTransactions(prefix), nil
	})
}

// Fence is described at wire.Admin.
func (cn *conn) Fence(ctx context.Context, id string) error {
	return cn.call(ctx, faults.Request{Kind: faults.InitProducer, ID: id}, func(b *broker) error {
		_, err := b.initProducer(id, maxTimeout, -1, -1)
		return err
	})
}

// MaxTransactionTimeout is described at wire.Admin.
func (cn *conn) MaxTransactionTimeout(context.Context) (time.Duration, error) { return maxTimeout, nil }
