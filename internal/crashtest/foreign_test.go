package crashtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/internal/faults/oracle"
	"github.com/weirstream/weir/internal/partition"
	"github.com/weirstream/weir/internal/wire"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
)

// foreign is a scenario of two tables that are joined by key and on a foreign key. Rows of the left one are the name of a right one, or of none, and
// what no other row has; questions and answers are on their way when processes are killed.
func foreign(name string, config func(*stream.Config)) scenario {
	return scenario{name: name, build: joinTables, check: joinedTables, config: config,
		input: changesOfTables(), outputs: []string{"by-key"}, settling: 10}
}

func joinTables(b *stream.Builder, _ *world) {
	left := b.Table(kafka.Source("left", serde.String, serde.String))
	right := b.Table(kafka.Source("right", serde.String, serde.String))
	both := func(l, r string) string { return l + "+" + r }
	left.JoinOn(right, named, both, stream.Named("on")).To(kafka.Sink("out", serde.String, serde.String))
	left.Join(right, both, stream.Named("by")).To(kafka.Sink("by-key", serde.String, serde.String))
}

// named is the foreign key of a row.
func named(_, row string) (string, bool) {
	name, _, _ := strings.Cut(row, "|")
	return name, name != ""
}

// changesOfTables moves left rows about, deletes and brings back rows of both sides, and ends with some left rows deleted.
func changesOfTables() (all []given) {
	r := rand.New(rand.NewPCG(7, 4))
	change := func(topic, key, value string) {
		rec := wire.Record{Time: eventTime.UnixMilli() + int64(len(all))*1000, Key: []byte(key)}
		if value != "" {
			rec.Value = []byte(value)
		}
		all = append(all, given{wire.TopicPartition{Topic: topic, Partition: partition.Of([]byte(key), partitions)}, rec})
	}
	some := func(n int) string { return fmt.Sprint("k", r.IntN(n)) }
	for len(all) < records-4 {
		switch n := r.IntN(10); {
		case n < 2:
			change("left", some(8), "")
		case n < 6:
			change("left", some(8), some(4)+fmt.Sprint("|", len(all)))
		case n < 7:
			change("left", some(8), fmt.Sprint("|", len(all)))
		case n < 8:
			change("right", some(4), "")
		default:
			change("right", some(4), fmt.Sprint("r", len(all)))
		}
	}
	for i := range 4 {
		change("left", fmt.Sprint("k", i), "")
	}
	return all
}

// joinedTables compares with the joins of the final rows. What is known of left rows beside them is gone with them.
func joinedTables(out oracle.Records, w *world) error {
	rows := map[string]map[string]string{"left": {}, "right": {}}
	for _, g := range w.input {
		if rows[g.at.Topic][string(g.rec.Key)] = string(g.rec.Value); g.rec.Value == nil {
			delete(rows[g.at.Topic], string(g.rec.Key))
		}
	}
	on, by, naming := map[string]string{}, map[string]string{}, 0
	for k, l := range rows["left"] {
		name, ok := named(k, l)
		if ok {
			naming++
		}
		if r, there := rows["right"][name]; ok && there {
			on[k] = l + "+" + r
		}
		if r, there := rows["right"][k]; there {
			by[k] = l + "+" + r
		}
	}
	byKey, err := recordsIn(w.c, "by-key")
	if err != nil {
		return err
	}
	known, err := recordsIn(w.c, "app-on-versions-changelog")
	if err != nil {
		return err
	}
	if n := len(oracle.Table(known)); n != naming {
		err = fmt.Errorf("the join keeps the versions of %d left rows, of which %d name another", n, naming)
	}
	return errors.Join(oracle.Same(oracle.Table(out), on), oracle.Same(oracle.Table(byKey), by), err)
}

// recordsIn is what a topic has that is committed.
func recordsIn(c *memory.Cluster, topic string) (oracle.Records, error) {
	all := oracle.Records{}
	for p := range int32(c.Topics()[topic]) {
		records, _, err := c.Records(topic, p, 0)
		if err != nil {
			return nil, err
		}
		all[p] = records
	}
	return all, nil
}
