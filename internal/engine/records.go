package engine

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/weirstream/weir/internal/overlay/keys"
	"github.com/weirstream/weir/internal/wire"
	"github.com/weirstream/weir/state"
)

// hasRecord reports whether the tasks of a sub-topology write records: the group does not keep the positions of all their inputs.
func (s *session) hasRecord(sub *Sub) bool {
	outside := len(sub.Sources)
	for _, src := range sub.Sources {
		if s.sourceNames[src] != nil {
			outside--
		}
	}
	return outside > 0
}

// A records is what the tasks topic says, as far as it is committed.
type records struct {
	tasks   map[string]*taskRecord // the latest of each task
	formats map[string][]byte      // of stores: a restore on an empty disk must know how its values were written
	whole   bool                   // nothing was left out that may be committed yet
}

// formatKey is the key of a store's format in the tasks topic. No task has a name with a zero byte.
func formatKey(store string) string { return formatPrefix + store }

const (
	formatPrefix = "\x00format\x00"
	formatRecord = "format" // among a store's own records in the database
)

// records reads the tasks topic: to its end, which waits for transactions that are open, or to its stable end.
func (l *kafkaLog) records(ctx context.Context, to wire.Where) (*records, error) {
	log := l.s.base.log
	tp := wire.TopicPartition{Topic: l.s.plan.tasksTopic()}
	starts, err := log.List(ctx, wire.Start, []wire.TopicPartition{tp})
	if err != nil {
		return nil, err
	}
	last, err := log.List(ctx, wire.End, []wire.TopicPartition{tp})
	if err != nil {
		return nil, err
	}
	ends, err := log.List(ctx, to, []wire.TopicPartition{tp})
	if err != nil {
		return nil, err
	}
	out := &records{tasks: map[string]*taskRecord{}, formats: map[string][]byte{}, whole: ends[tp] >= last[tp]}
	if starts[tp] >= ends[tp] {
		return out, nil
	}
	rd, err := log.Read(ctx, tp, starts[tp], wire.ReadOptions{Committed: true})
	if err != nil {
		return nil, err
	}
	defer rd.Close()
	for at := starts[tp]; at < ends[tp]; {
		b, err := l.s.next(ctx, rd)
		if err != nil {
			return nil, fmt.Errorf("%s/%d: %w", tp.Topic, tp.Partition, err)
		}
		for i := range b.Records {
			rec := &b.Records[i]
			if store, ok := strings.CutPrefix(string(rec.Key), formatPrefix); ok {
				if out.formats[store] = bytes.Clone(rec.Value); rec.Value == nil {
					delete(out.formats, store) // given up
				}
				continue
			}
			if of, ok := strings.CutPrefix(string(rec.Key), farPrefix); ok {
				l.s.base.far.learn(of, rec.Value)
				continue
			}
			if out.tasks[string(rec.Key)], err = decodeRecord(rec.Value); err != nil {
				return nil, fmt.Errorf("%s/%d@%d: %w", tp.Topic, tp.Partition, rec.Offset, err)
			}
		}
		at = max(at, b.Next)
		b.Release()
	}
	return out, nil
}

// adoptFormats notes in the database how stores were written that are restored on a disk which does not know them.
func (l *kafkaLog) adoptFormats(t taskRef, formats map[string][]byte) error {
	var batch state.Batch
	for _, st := range t.sub.Stores {
		at := keys.StoreRecord(t.name(), st.Name, formatRecord)
		known, err := l.s.base.db.Get(at, func([]byte) error { return nil })
		if err != nil {
			return err
		}
		if format := formats[st.Name]; !known && format != nil {
			batch.Put(at, format)
		}
	}
	if batch.Empty() {
		return nil
	}
	return l.s.base.db.Apply(&batch, false)
}

// writeFormats puts the formats of a task's stores into the tasks topic, beside the first delta of a session.
func (l *kafkaLog) writeFormats(r *runner, now int64) error {
	out, err := r.env.Appender.To(r.env.Context, l.s.plan.tasksTopic())
	if err != nil {
		return &errRecover{fmt.Errorf("task %s: %w", r.name, err)}
	}
	for _, name := range l.s.dropped() {
		out.Append(0, now, []byte(formatKey(name)), nil, nil)
	}
	for _, st := range r.sub.Stores {
		if !st.Changelog {
			continue
		}
		_, err := l.s.base.db.Get(keys.StoreRecord(r.name, st.Name, formatRecord), func(format []byte) error {
			out.Append(0, now, []byte(formatKey(st.Name)), format, nil)
			return nil
		})
		if err != nil {
			return fmt.Errorf("task %s: format of store %s: %w", r.name, st.Name, err)
		}
	}
	return nil
}
