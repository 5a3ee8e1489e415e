package kafkatest

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// A place is a partition, of a topic by its name or its id: a Fetch names the one or the other.
type place struct {
	topic     string
	partition int32
}

// wroteLocked notes partitions that were in transactions.
func (l *Layer) wroteLocked(b *kmsg.AddPartitionsToTxnRequest) {
	for _, t := range b.Topics {
		for _, p := range t.Partitions {
			l.wrote[place{t.Topic, p}] = true
		}
	}
}

// cleanedTo notes up to where the compacted partitions are cleaned. Nothing is open.
func (l *Layer) cleanedTo() {
	l.mu.Lock()
	var of []place
	for p := range l.wrote {
		of = append(of, p)
	}
	l.mu.Unlock()
	for _, p := range of {
		topic, at := l.fake.TopicInfo(p.topic), l.fake.PartitionInfo(p.topic, p.partition)
		if topic == nil || at == nil {
			continue
		}
		if policy := topic.Configs["cleanup.policy"]; policy == nil || !strings.Contains(*policy, "compact") {
			continue
		}
		l.mu.Lock()
		l.cleaned[p] = at.LastStableOffset
		l.cleaned[place{string(topic.TopicID[:]), p.partition}] = at.LastStableOffset
		l.mu.Unlock()
	}
}

// withoutCleaned is the answer to a Fetch without aborted transactions that were cleaned away. The embedded broker drops their records and, where the producer
// has no others, their markers, and goes on naming them, as Kafka does not: a reader would take what the producer commits next for a part of them.
func (l *Layer) withoutCleaned(q *request, frame []byte) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.cleaned) == 0 {
		return frame
	}
	body, err := q.answerOf(frame)
	if err != nil {
		return frame
	}
	resp, changed := body.(*kmsg.FetchResponse), false
	for i := range resp.Topics {
		t := &resp.Topics[i]
		for j := range t.Partitions {
			p := &t.Partitions[j]
			to := max(l.cleaned[place{t.Topic, p.Partition}], l.cleaned[place{string(t.TopicID[:]), p.Partition}])
			before := len(p.AbortedTransactions)
			p.AbortedTransactions = slices.DeleteFunc(p.AbortedTransactions, func(a kmsg.FetchResponseTopicPartitionAbortedTransaction) bool {
				return a.FirstOffset < to && !begins(p.RecordBatches, a.FirstOffset)
			})
			changed = changed || len(p.AbortedTransactions) < before
		}
	}
	if !changed {
		return frame
	}
	return q.answered(resp)
}

// begins reports whether a batch begins at an offset: what the broker has read before it cleaned is still there.
func begins(batches []byte, at int64) bool {
	const head = 12 // offset and length
	for len(batches) >= head {
		if int64(binary.BigEndian.Uint64(batches)) == at {
			return true
		}
		batches = batches[min(len(batches), head+int(binary.BigEndian.Uint32(batches[8:]))):]
	}
	return false
}
