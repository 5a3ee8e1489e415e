package kafkatest

import (
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// mostMetadata and mostAhead are Kafka's defaults of offset.metadata.max.bytes and message.timestamp.after.max.ms.
const (
	mostMetadata = 4096
	mostAhead    = int64(3_600_000)
)

// refuseTxnOffsets refuses positions with too much metadata, as a broker with Kafka's defaults does.
func refuseTxnOffsets(q *request, b *kmsg.TxnOffsetCommitRequest) []byte {
	large := false
	resp := kmsg.NewPtrTxnOffsetCommitResponse()
	for _, t := range b.Topics {
		topic := kmsg.NewTxnOffsetCommitResponseTopic()
		topic.Topic = t.Topic
		for _, p := range t.Partitions {
			part := kmsg.NewTxnOffsetCommitResponseTopicPartition()
			part.Partition, part.ErrorCode = p.Partition, kerr.OffsetMetadataTooLarge.Code
			topic.Partitions = append(topic.Partitions, part)
			large = large || tooLarge(p.Metadata)
		}
		resp.Topics = append(resp.Topics, topic)
	}
	if !large {
		return nil
	}
	return q.answered(resp)
}

// refuseOffsets is refuseTxnOffsets outside a transaction.
func refuseOffsets(q *request, b *kmsg.OffsetCommitRequest) []byte {
	large := false
	resp := kmsg.NewPtrOffsetCommitResponse()
	for _, t := range b.Topics {
		topic := kmsg.NewOffsetCommitResponseTopic()
		topic.Topic, topic.TopicID = t.Topic, t.TopicID
		for _, p := range t.Partitions {
			part := kmsg.NewOffsetCommitResponseTopicPartition()
			part.Partition, part.ErrorCode = p.Partition, kerr.OffsetMetadataTooLarge.Code
			topic.Partitions = append(topic.Partitions, part)
			large = large || tooLarge(p.Metadata)
		}
		resp.Topics = append(resp.Topics, topic)
	}
	if !large {
		return nil
	}
	return q.answered(resp)
}

func tooLarge(metadata *string) bool { return metadata != nil && len(*metadata) > mostMetadata }

// refuseTimes refuses batches whose records are further ahead of the clock than their topic allows.
func (l *Layer) refuseTimes(q *request, b *kmsg.ProduceRequest) []byte {
	ahead := false
	resp := kmsg.NewPtrProduceResponse()
	for _, t := range b.Topics {
		topic := kmsg.NewProduceResponseTopic()
		topic.Topic, topic.TopicID = t.Topic, t.TopicID
		for _, p := range t.Partitions {
			part := kmsg.NewProduceResponseTopicPartition()
			part.Partition, part.ErrorCode, part.BaseOffset = p.Partition, kerr.InvalidTimestamp.Code, -1
			topic.Partitions = append(topic.Partitions, part)
			var batch kmsg.RecordBatch
			if batch.ReadFrom(p.Records) == nil && batch.MaxTimestamp > time.Now().UnixMilli()+mostAhead {
				ahead = ahead || batch.MaxTimestamp > time.Now().UnixMilli()+l.aheadOf(t.Topic)
			}
		}
		resp.Topics = append(resp.Topics, topic)
	}
	if !ahead {
		return nil
	}
	return q.answered(resp)
}

// aheadOf is how many ms ahead of the clock a topic's records may be.
func (l *Layer) aheadOf(topic string) int64 {
	if info := l.fake.TopicInfo(topic); info != nil {
		if v := info.Configs["message.timestamp.after.max.ms"]; v != nil {
			if ms, err := strconv.ParseInt(*v, 10, 64); err == nil {
				return min(ms, 1<<50)
			}
		}
	}
	return mostAhead
}
