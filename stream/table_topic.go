package stream

import (
	"errors"
	"fmt"

	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/internal/topology"
)

// rowsOfBatch is engine.Store's Rows.
type rowsOfBatch = func(b task.Batch, before int64, put func(key, row []byte)) error

// fromTopic has a table restored from what its source reads.
func fromTopic[K, V any](t *Table[K, V], source *topology.Node) {
	op := specOf(t.node)
	if op.opts.versioned > 0 {
		t.b.problem(op.opts.line, fmt.Errorf("table %s: TopicIsChangelog and Versioned: a compacted topic has no history", t.node.Name))
	}
	op.stores[0] = storeSpec{name: op.stores[0].name, topic: source}
	op.restored = restoredRows[K, V]
	t.node.Detail = "changelog: its topic"
	src := specOf(source)
	bind := src.bind
	src.bind = func(at *binding) (any, error) {
		if !fails(source, at.config) {
			return nil, errors.New("TopicIsChangelog needs the policy Fail: what another one skips hides the row before it, which the topic's next compaction takes away")
		}
		bound, err := bind(at)
		if err != nil {
			return nil, err
		}
		from, ok := bound.(*sourceSpec).source.(interface{ FromStart() bool })
		if !ok || !from.FromStart() {
			return nil, errors.New("TopicIsChangelog needs a source of one Kafka topic that is read from its start")
		}
		return bound, nil
	}
}

// restoredRows makes rows of records as the task did.
func restoredRows[K, V any](bound any) rowsOfBatch {
	serdes := bound.(*rowSerdes[K, V])
	values := rowSerde[V]{serdes.value}
	var key, value []byte
	return func(b task.Batch, before int64, put func(key, row []byte)) error {
		batch := b.(*sourceBatch[K, V])
		for i := range batch.Len() {
			var r Record[K, V]
			err := batch.Decode(i, &r)
			if r.Origin.Offset >= before {
				return nil
			}
			if err == nil && r.NoKey {
				continue
			}
			if err == nil {
				key, err = serdes.key.Append(key[:0], r.Key)
			}
			if err == nil && !r.Deleted {
				value, err = values.Append(value[:0], row[V]{r.Value, millis(r.Time)})
			}
			switch {
			case err != nil:
				return fmt.Errorf("%w: record %s/%d@%d made a row before the last commit, and cannot any more: %w",
					ErrFormat, r.Origin.Topic, r.Origin.Partition, r.Origin.Offset, err)
			case r.Deleted:
				put(key, nil)
			default:
				put(key, value)
			}
		}
		return nil
	}
}
