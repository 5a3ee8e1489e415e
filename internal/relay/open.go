package relay

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/weirstream/weir/internal/wire"
)

// open takes the partition over, and begins where the far cluster says.
func (r *Relay) open(ctx context.Context) (err error) {
	if err := r.look(ctx); err != nil {
		return err
	}
	if r.log, err = r.Outbox.far.Log(ctx); err != nil {
		return err
	}
	if err := r.ensure(ctx); err != nil {
		return err
	}
	// First the ids, then the place: behind the takeover nobody else can move it.
	id := fmt.Sprintf("%s/%d", r.near.Topic, r.near.Partition)
	c := wire.TxConfig{IDs: [2]string{id + "-0", id + "-1"}, Timeout: r.Timeout, Alone: true}
	c.Name, c.BufferedBytes = r.App, relayBytes
	if r.tx, err = r.log.Transactions(ctx, c); err != nil {
		return fmt.Errorf("take over transactions %s: %w", c.IDs[0], err)
	}
	from, err := r.from(ctx)
	if err != nil {
		return err
	}
	r.n, r.outs = 0, map[string]wire.Out{}
	if r.in, err = r.tx.Appender(r.near.Topic, 1); err != nil {
		return err
	}
	if r.place, err = r.in.To(ctx, r.far.Topic); err != nil {
		return err
	}
	r.at.Store(from)
	r.reader, err = r.Near.Read(ctx, r.near, from, wire.ReadOptions{Committed: true, Headers: true})
	return err
}

// relayBytes is what a relay may have written and not acknowledged: a batch is at most a MiB, beside large records.
const relayBytes = 4 << 20

// look learns how long the outbox is before the far cluster is asked, which may be down: what is carried is deleted, so the start tells.
func (r *Relay) look(ctx context.Context) error {
	of := []wire.TopicPartition{r.near}
	starts, err := r.Near.List(ctx, wire.Start, of)
	if err != nil {
		return err
	}
	ends, err := r.Near.List(ctx, wire.Stable, of)
	if err != nil {
		return err
	}
	r.at.Store(max(r.at.Load(), starts[r.near]))
	r.Wrote(ends[r.near])
	return nil
}

// placeConfigs keep places for ever: nothing but a later place makes one useless.
var placeConfigs = map[string]string{"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}

// ensure makes the topic of places on the far cluster.
func (r *Relay) ensure(ctx context.Context) error {
	spec := wire.TopicSpec{Name: r.far.Topic, Partitions: r.Partitions, Configs: placeConfigs}
	if err := r.log.Create(ctx, spec); err != nil {
		return fmt.Errorf("create topic %s on the other cluster: %w", spec.Name, err)
	}
	found, err := r.log.Topics(ctx, spec.Name)
	if err != nil {
		return err
	}
	if n := found[spec.Name].Partitions; n != spec.Partitions {
		return fmt.Errorf("%w: topic %s on the other cluster has %d partitions, and the outbox has %d", ErrPlace, spec.Name, n, spec.Partitions)
	}
	return nil
}

// from is where to begin: behind the last batch that was carried.
func (r *Relay) from(ctx context.Context) (int64, error) {
	of := []wire.TopicPartition{r.near}
	starts, err := r.Near.List(ctx, wire.Start, of)
	if err != nil {
		return 0, err
	}
	p, err := r.lastPlace(ctx)
	switch {
	case err != nil:
		return 0, err
	case p == nil:
		if starts[r.near] > 0 {
			r.Logger.Warn("the other cluster does not know how far an outbox was carried: everything that is left is carried",
				"outbox", r.near.Topic, "partition", r.near.Partition, "start", starts[r.near])
		}
		return starts[r.near], nil
	case p.cluster != r.Near.ClusterID():
		return 0, fmt.Errorf("%w: %s on the other cluster is of an app of this name on cluster %q, and this one is on %q: give one of them another name",
			ErrPlace, r.far.Topic, p.cluster, r.Near.ClusterID())
	case p.topicID != r.TopicID:
		r.Logger.Warn("the outbox was made anew: it is carried from its start", "outbox", r.near.Topic, "partition", r.near.Partition)
		return starts[r.near], nil
	}
	ends, err := r.Near.List(ctx, wire.End, of)
	if err != nil {
		return 0, err
	}
	if p.next < starts[r.near] || p.next > ends[r.near] {
		return 0, fmt.Errorf("%w: it was carried up to %d, and has %d to %d", ErrGone, p.next, starts[r.near], ends[r.near])
	}
	return p.next, nil
}

// lastPlace reads the place; nil when there is none.
func (r *Relay) lastPlace(ctx context.Context) (last *place, err error) {
	of := []wire.TopicPartition{r.far}
	starts, err := r.log.List(ctx, wire.Start, of)
	if err != nil {
		return nil, err
	}
	ends, err := r.log.List(ctx, wire.End, of)
	if err != nil {
		return nil, err
	}
	if starts[r.far] >= ends[r.far] {
		return nil, nil
	}
	rd, err := r.log.Read(ctx, r.far, starts[r.far], wire.ReadOptions{Committed: true})
	if err != nil {
		return nil, err
	}
	defer rd.Close()
	for at := starts[r.far]; at < ends[r.far]; {
		b, err := rd.Next(ctx)
		if err != nil {
			return nil, fmt.Errorf("%s/%d on the other cluster: %w", r.far.Topic, r.far.Partition, err)
		}
		if n := len(b.Records); n > 0 {
			if last, err = decodePlace(b.Records[n-1].Value); err != nil {
				return nil, fmt.Errorf("%s/%d@%d on the other cluster: %w", r.far.Topic, r.far.Partition, b.Records[n-1].Offset, err)
			}
		}
		at = b.Next
		b.Release()
	}
	return last, nil
}

// A place is how far an outbox is carried, of which outbox.
type place struct {
	next    int64
	topicID string
	cluster string
}

const placeVersion = 1

func (p place) append(b []byte) []byte {
	b = binary.AppendUvarint(append(b, placeVersion), uint64(p.next))
	b = append(binary.AppendUvarint(b, uint64(len(p.topicID))), p.topicID...)
	return append(b, p.cluster...)
}

func decodePlace(b []byte) (*place, error) {
	if len(b) == 0 || b[0] != placeVersion {
		return nil, fmt.Errorf("%w: it was written by another version of weir", ErrPlace)
	}
	next, n := binary.Uvarint(b[1:])
	if n <= 0 {
		return nil, errPlace
	}
	b = b[1+n:]
	size, n := binary.Uvarint(b)
	if n <= 0 || size > uint64(len(b)-n) {
		return nil, errPlace
	}
	b = b[n:]
	return &place{next: int64(next), topicID: string(b[:size]), cluster: string(b[size:])}, nil
}

var errPlace = errors.Join(ErrPlace, errors.New("the record is damaged"))
