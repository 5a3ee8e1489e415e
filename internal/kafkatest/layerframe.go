package kafkatest

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirstream/weir/internal/faults"
)

// A request is one that was read from a client.
type request struct {
	frame  []byte
	client string
	corr   int32
	body   kmsg.Request
	kind   faults.Kind
	known  bool // it is of a kind that judges know
}

// judgedKinds are the requests that judges know. Positions enter a transaction as partitions do.
var judgedKinds = map[int16]faults.Kind{
	int16(kmsg.Produce): faults.Produce, int16(kmsg.Fetch): faults.Fetch, int16(kmsg.ListOffsets): faults.ListOffsets,
	int16(kmsg.Metadata): faults.Metadata, int16(kmsg.OffsetCommit): faults.OffsetCommit, int16(kmsg.OffsetFetch): faults.OffsetFetch,
	int16(kmsg.JoinGroup): faults.JoinGroup, int16(kmsg.CreateTopics): faults.CreateTopics, int16(kmsg.DeleteRecords): faults.DeleteRecords,
	int16(kmsg.InitProducerID): faults.InitProducer, int16(kmsg.AddPartitionsToTxn): faults.AddPartitions,
	int16(kmsg.AddOffsetsToTxn): faults.AddPartitions, int16(kmsg.TxnOffsetCommit): faults.TxnOffsets, int16(kmsg.EndTxn): faults.EndTxn,
}

// parseRequest reads a request's head, and the whole of those that judges know.
func parseRequest(frame []byte) (*request, error) {
	if len(frame) < 8 {
		return nil, errors.New("kafkatest: a request without a head")
	}
	q := &request{frame: frame, corr: int32(binary.BigEndian.Uint32(frame[4:]))}
	key, version := int16(binary.BigEndian.Uint16(frame)), int16(binary.BigEndian.Uint16(frame[2:]))
	r := kbin.Reader{Src: frame[8:]}
	if id := r.NullableString(); id != nil {
		q.client = *id
	}
	if q.kind, q.known = judgedKinds[key]; !q.known {
		return q, nil
	}
	q.body = kmsg.RequestForKey(key)
	q.body.SetVersion(version)
	if q.body.IsFlexible() {
		kmsg.SkipTags(&r)
	}
	if err := q.body.ReadFrom(r.Src); err != nil {
		return nil, fmt.Errorf("kafkatest: request %s v%d: %w", kmsg.NameForKey(key), version, err)
	}
	return q, nil
}

// id is the transactional id or the group.
func (q *request) id() string {
	switch b := q.body.(type) {
	case *kmsg.InitProducerIDRequest:
		if b.TransactionalID != nil {
			return *b.TransactionalID
		}
	case *kmsg.AddPartitionsToTxnRequest:
		return b.TransactionalID
	case *kmsg.AddOffsetsToTxnRequest:
		return b.TransactionalID
	case *kmsg.TxnOffsetCommitRequest:
		return b.TransactionalID
	case *kmsg.EndTxnRequest:
		return b.TransactionalID
	case *kmsg.OffsetCommitRequest:
		return b.Group
	case *kmsg.OffsetFetchRequest:
		return b.Group
	case *kmsg.JoinGroupRequest:
		return b.Group
	}
	return ""
}

// answered is the frame of an answer to the request.
func (q *request) answered(body kmsg.Response) []byte {
	body.SetVersion(q.body.GetVersion())
	frame := binary.BigEndian.AppendUint32(nil, uint32(q.corr))
	if body.IsFlexible() {
		frame = append(frame, 0)
	}
	return body.AppendTo(frame)
}

// answerOf reads the answer to the request.
func (q *request) answerOf(frame []byte) (kmsg.Response, error) {
	body := q.body.ResponseKind()
	body.SetVersion(q.body.GetVersion())
	head := 4
	if body.IsFlexible() {
		head++
	}
	if len(frame) < head {
		return nil, errors.New("kafkatest: an answer without a head")
	}
	return body, body.ReadFrom(frame[head:])
}
