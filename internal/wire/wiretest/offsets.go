package wiretest

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/internal/wire"
)

func testOffsets(t *testing.T, c Cluster) {
	t.Run("List", func(t *testing.T) {
		k := c.start(t)
		name := k.topic("a", 2)
		k.write(name, "0", "1")
		both := []wire.TopicPartition{at(name, 0), at(name, 1)}
		for where, want := range map[wire.Where]int64{wire.Start: 0, wire.End: 2, wire.Stable: 2} {
			found, err := k.log.List(k.ctx, where, both)
			k.must(err)
			if !maps.Equal(found, map[wire.TopicPartition]int64{both[0]: want, both[1]: 0}) {
				t.Errorf("place %d is %v, want %d and 0", where, found, want)
			}
		}
		_, err := k.log.List(k.ctx, wire.End, []wire.TopicPartition{at(k.name+"-missing", 0)})
		k.is(err, wire.ErrNoTopic)
	})
	t.Run("ListAtTime", func(t *testing.T) {
		k := c.start(t)
		name, now := k.topic("a", 1), k.now()
		w := k.writer(wire.WriterConfig{})
		a := k.appender(w, 1)
		o := k.out(a, name)
		for _, ago := range []int64{5000, 4000, 3000} {
			o.Append(0, now-ago, nil, []byte("v"), nil)
		}
		a.Cut(1)
		_, err := w.Flush(k.ctx, 1)
		k.must(err)
		for ago, want := range map[int64]int64{9000: 0, 5000: 0, 4500: 1, 4000: 1, 3000: 2, 0: 3} {
			found, err := k.log.ListAtTime(k.ctx, time.UnixMilli(now-ago), []wire.TopicPartition{at(name, 0)})
			k.must(err)
			if got, ok := found[at(name, 0)]; !ok || got != want {
				t.Errorf("%d ms ago is offset %d (%v), want %d", ago, got, ok, want)
			}
		}
	})
	t.Run("CommittedPlain", func(t *testing.T) {
		k := c.start(t)
		name, group := k.topic("a", 3), k.name+"-group"
		all := []wire.TopicPartition{at(name, 0), at(name, 1), at(name, 2)}
		found, err := k.log.Committed(k.ctx, group, all)
		k.must(err)
		if len(found) != 0 {
			t.Fatalf("a new group is at %v", found)
		}
		k.must(k.log.CommitPlain(k.ctx, nobody(group), []wire.Position{
			{TopicPartition: all[0], Committed: wire.Committed{Offset: 5, Metadata: "meta"}},
			{TopicPartition: all[2], Committed: wire.Committed{Offset: 0}},
		}))
		if k.log.Unanswered(nobody(group)) {
			t.Error("a commit that was answered is held to be unanswered")
		}
		found, err = k.connect().Committed(k.ctx, group, all)
		k.must(err)
		want := map[wire.TopicPartition]wire.Committed{all[0]: {Offset: 5, Metadata: "meta"}, all[2]: {}}
		if !maps.Equal(found, want) {
			t.Errorf("found %v, want %v", found, want)
		}
		found, open, err := k.log.Settled(k.ctx, group, all)
		k.must(err)
		if !maps.Equal(found, want) || len(open) > 0 {
			t.Errorf("settled are %v, want %v; open %v", found, want, open)
		}
	})
	t.Run("MetadataTooLarge", func(t *testing.T) {
		c.strict(t)
		k := c.start(t)
		name, group := k.topic("a", 1), k.name+"-group"
		err := k.log.CommitPlain(k.ctx, nobody(group), []wire.Position{
			{TopicPartition: at(name, 0), Committed: wire.Committed{Offset: 1, Metadata: strings.Repeat("m", 4097)}},
		})
		k.is(err, wire.ErrRefused)
	})
	t.Run("NotAMember", func(t *testing.T) {
		k := c.start(t)
		name, group := k.topic("a", 1), k.name+"-group"
		err := k.log.CommitPlain(k.ctx, wire.Identity{Group: group, Member: "stranger", Generation: 3}, []wire.Position{
			{TopicPartition: at(name, 0), Committed: wire.Committed{Offset: 1}},
		})
		k.is(err, wire.ErrGeneration)
	})
}

// nobody commits for a group that has no members.
func nobody(group string) wire.Identity { return wire.Identity{Group: group, Generation: -1} }
