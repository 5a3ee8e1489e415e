package kafka

import (
	"cmp"
	"net"
	"slices"
	"time"

	"github.com/IBM/sarama"
)

// requestBytes is about the size of a produce request when there is more to send than that.
const requestBytes = 4 << 20

// A shipment is the parcels of one produce request, of one transactional id.
type shipment struct {
	txID    *string
	parcels []*parcel
	bytes   int
	id      int32 // of the request
}

func (sh *shipment) add(p *parcel) {
	sh.parcels = append(sh.parcels, p)
	sh.bytes += len(p.batch)
}

// request is the produce request in parts: the batches are not copied.
func (sh *shipment) request(p *pipe) net.Buffers {
	slices.SortStableFunc(sh.parcels, func(a, b *parcel) int { return cmp.Compare(a.lane.at.Topic, b.lane.at.Topic) })
	b := p.begin(nil, keyProduce, produceVersion)
	b = appendOptional(b, sh.txID)
	b = appendInt16(b, -1) // all in-sync replicas
	b = appendInt32(b, int32(produceTimeout.Milliseconds()))
	topics, at := int32(0), len(b)
	b = appendInt32(b, 0)
	var parts net.Buffers
	for i, p := range sh.parcels {
		if topic := p.lane.at.Topic; i == 0 || sh.parcels[i-1].lane.at.Topic != topic {
			n := int32(1)
			for _, q := range sh.parcels[i+1:] {
				if q.lane.at.Topic != topic {
					break
				}
				n++
			}
			b = appendString(b, topic)
			b = appendInt32(b, n)
			topics++
		}
		b = appendInt32(b, p.lane.at.Partition)
		b = appendInt32(b, int32(len(p.batch)))
		parts = append(parts, b, p.batch)
		b = nil
	}
	copy(parts[0][at:], appendInt32(nil, topics))
	return parts
}

// A receipt is what the answer says of one parcel.
type receipt struct {
	known  bool
	err    sarama.KError
	offset int64
	words  string
}

// receipts reads the answer: one for each parcel, in their order.
func (sh *shipment) receipts(raw []byte) (list []receipt, throttle time.Duration, err error) {
	list = make([]receipt, len(sh.parcels))
	a := answerBody{b: raw}
	next := 0
	for range a.count(6) {
		topic := a.string()
		for range a.count(36) {
			partition := a.int32()
			r := a.receipt()
			for n := range sh.parcels {
				i := (next + n) % len(sh.parcels)
				if at := sh.parcels[i].lane.at; at.Partition == partition && at.Topic == string(topic) {
					list[i], next = r, i+1
					break
				}
			}
		}
	}
	throttle = time.Duration(a.int32()) * time.Millisecond
	if a.short {
		return nil, 0, errShort
	}
	return list, throttle, nil
}

func (a *answerBody) receipt() receipt {
	r := receipt{known: true, err: sarama.KError(a.int16()), offset: a.int64()}
	a.int64() // when it was appended
	a.int64() // where the partition begins
	for range a.count(6) {
		a.int32() // a record
		r.words = string(a.string())
	}
	if words := a.string(); len(words) > 0 {
		r.words = string(words)
	}
	return r
}
