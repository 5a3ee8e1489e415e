package wiretest

import (
	"regexp"
	"slices"
	"testing"

	"github.com/weirstream/weir/internal/wire"
)

func testAdmin(t *testing.T, c Cluster) {
	t.Run("TopicsAreDescribed", func(t *testing.T) {
		k := c.start(t)
		name := k.topic("a", 3, "cleanup.policy=compact", "retention.ms=-1")
		found, err := k.log.Topics(k.ctx, name, k.name+"-missing")
		k.must(err)
		topic := found[name]
		if len(found) != 1 || topic.Name != name || topic.Partitions != 3 {
			t.Fatalf("found %+v, want only %s with 3 partitions", found, name)
		}
		for setting, want := range map[string]string{"cleanup.policy": "compact", "retention.ms": "-1", "max.message.bytes": "1048588"} {
			if got := topic.Configs[setting]; got != want {
				t.Errorf("%s is %q, want %q", setting, got, want)
			}
		}
	})
	t.Run("CreateLeavesWhatExists", func(t *testing.T) {
		k := c.start(t)
		name := k.topic("a", 2)
		before, err := k.log.Topics(k.ctx, name)
		k.must(err)
		k.must(k.log.Create(k.ctx, wire.TopicSpec{Name: name, Partitions: 5}, wire.TopicSpec{Name: name + "2", Partitions: 1}))
		after, err := k.log.Topics(k.ctx, name, name+"2")
		k.must(err)
		if after[name].Partitions != 2 || after[name].ID != before[name].ID || after[name+"2"].Partitions != 1 {
			t.Fatalf("before %+v, after %+v", before, after)
		}
		if id := after[name].ID; id == "" || id == after[name+"2"].ID {
			t.Errorf("ids are %q and %q, want two", id, after[name+"2"].ID)
		}
	})
	t.Run("CreateRefuses", func(t *testing.T) {
		c.strict(t)
		k := c.start(t)
		err := k.log.Create(k.ctx, wire.TopicSpec{Name: k.name + "-a", Partitions: 1, Configs: map[string]string{"retention.ms": "soon"}})
		k.is(err, wire.ErrRefused)
		found, err := k.log.Topics(k.ctx, k.name+"-a")
		k.must(err)
		if len(found) != 0 {
			t.Errorf("it was made all the same: %+v", found)
		}
	})
	t.Run("Match", func(t *testing.T) {
		k := c.start(t)
		a, b := k.topic("x-a", 1), k.topic("x-b", 1)
		k.topic("y", 1)
		found, err := k.log.Match(k.ctx, regexp.MustCompile("^"+regexp.QuoteMeta(k.name)+"-x-"))
		k.must(err)
		slices.Sort(found)
		if !slices.Equal(found, []string{a, b}) {
			t.Errorf("found %q, want %q", found, []string{a, b})
		}
		found, err = k.log.Match(k.ctx, regexp.MustCompile("^__"))
		k.must(err)
		if len(found) != 0 {
			t.Errorf("found internal topics %q", found)
		}
	})
	t.Run("DeleteRecords", func(t *testing.T) {
		k := c.start(t)
		name := k.topic("a", 1)
		k.write(name, "1", "2", "3", "4")
		k.must(k.log.DeleteRecords(k.ctx, map[wire.TopicPartition]int64{at(name, 0): 3}))
		k.offset(wire.Start, name, 3)
		k.offset(wire.End, name, 4)
		records, _ := k.take(k.reader(name, 3, wire.ReadOptions{}), 1)
		if values(records) != "4" {
			t.Errorf("left are %q, want 4", values(records))
		}
	})
	t.Run("ClusterID", func(t *testing.T) {
		k := c.start(t)
		if a, b := k.log.ClusterID(), k.connect().ClusterID(); a == "" || a != b {
			t.Errorf("ids of two connections are %q and %q", a, b)
		}
	})
	t.Run("MaxTransactionTimeout", func(t *testing.T) {
		k := c.start(t)
		longest, err := k.log.MaxTransactionTimeout(k.ctx)
		k.must(err)
		if longest < 0 {
			t.Errorf("is %v", longest)
		}
	})
}

// offset fails unless a place in partition 0 is want.
func (k *kit) offset(where wire.Where, topic string, want int64) {
	k.Helper()
	found, err := k.log.List(k.ctx, where, []wire.TopicPartition{at(topic, 0)})
	k.must(err)
	if got, ok := found[at(topic, 0)]; !ok || got != want {
		k.Fatalf("place %d of %s is %d (%v), want %d", where, topic, got, ok, want)
	}
}
