package kafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/internal/wire"
	"github.com/weirstream/weir/serde"
)

func (r *rig) env() connector.Env {
	return connector.Env{App: "weir-test", Log: r.log, Logger: slog.New(slog.NewTextHandler(testWriter{r.TB}, nil))}
}

// A seen is a decoded record and where reading goes on behind it.
type seen[K, V any] struct {
	connector.Record[K, V]
	after connector.Position
}

// take reads n records of a source.
func take[K, V any](r *rig, s *TopicSource[K, V], partition int, from connector.Position, n int) (out []seen[K, V], end connector.Position) {
	r.Helper()
	rd, err := s.Open(r.ctx, r.env(), partition, from)
	if err != nil {
		r.Fatal(err)
	}
	defer rd.Close()
	for len(out) < n {
		b, err := rd.Next(r.ctx)
		if err != nil {
			r.Fatalf("after %d of %d records: %v", len(out), n, err)
		}
		for i := range b.Len() {
			var s seen[K, V]
			if err := b.Decode(i, &s.Record); err != nil {
				r.Fatalf("record %d: %v", len(out), err)
			}
			s.after = b.Position(i)
			out = append(out, s)
		}
		end = b.End()
		b.Release()
	}
	return out, end
}

func valuesOf[K, V any](seen []seen[K, V]) string {
	var out []string
	for _, s := range seen {
		out = append(out, fmt.Sprint(s.Value))
	}
	return strings.Join(out, " ")
}

func TestSourceDecodesAndResumes(t *testing.T) {
	r := newRig(t)
	topic := r.topic(2)
	at := time.Now().Truncate(time.Millisecond).UTC()
	for i := range 5 {
		r.produce(&kgo.Record{Topic: topic, Partition: 1, Key: fmt.Append(nil, "k", i), Value: fmt.Append(nil, i), Timestamp: at})
	}
	s := Source(topic, serde.String, serde.String)
	if n, err := s.Partitions(r.ctx, r.env()); n != 2 || err != nil {
		t.Fatal(n, err)
	}
	all, end := take(r, s, 1, "", 5)
	if got := valuesOf(all); got != "0 1 2 3 4" {
		t.Fatal(got)
	}
	if got := all[3]; got.Key != "k3" || !got.Time.Equal(at) || got.Origin != (connector.Origin{Topic: topic, Partition: 1, Offset: 3}) || got.NoKey || got.Deleted {
		t.Errorf("%+v", got)
	}
	again, _ := take(r, s, 1, all[2].after, 2)
	if got := valuesOf(again); got != "3 4" {
		t.Errorf("behind record 2: %s", got)
	}
	if at := s.Offsets(1, string(end)); !slices.Equal(at, []wire.TopicOffset{{Topic: topic, Offset: 5}}) || s.Position(1, at) != string(end) {
		t.Errorf("the end is %v", at)
	}
}

func TestSourceNulls(t *testing.T) {
	r := newRig(t)
	topic := r.topic(1)
	r.produce(&kgo.Record{Topic: topic, Value: []byte("v")}, &kgo.Record{Topic: topic, Key: []byte("k")}, &kgo.Record{Topic: topic, Key: []byte{}, Value: []byte{}})
	plain, _ := take(r, Source(topic, serde.String, serde.String), 0, "", 3)
	for i, want := range []struct{ noKey, deleted bool }{{true, false}, {false, true}, {false, false}} {
		if plain[i].NoKey != want.noKey || plain[i].Deleted != want.deleted {
			t.Errorf("record %d: no key %v, deleted %v", i, plain[i].NoKey, plain[i].Deleted)
		}
	}
	optional, _ := take(r, Source(topic, serde.String, serde.Optional(serde.String)), 0, "", 3)
	if optional[1].Value != nil || optional[1].Deleted || *optional[2].Value != "" {
		t.Errorf("with Optional: %+v", optional)
	}
}

func TestSourceHeadersOnlyWhenWanted(t *testing.T) {
	r := newRig(t)
	topic := r.topic(1)
	r.produce(&kgo.Record{Topic: topic, Value: []byte("v"), Headers: []kgo.RecordHeader{{Key: "h", Value: []byte("1")}}})
	for _, wanted := range []bool{true, false} {
		env := r.env()
		env.Headers = wanted
		rd, err := Source(topic, serde.String, serde.String).Open(r.ctx, env, 0, "")
		if err != nil {
			t.Fatal(err)
		}
		b, err := rd.Next(r.ctx)
		if err != nil {
			t.Fatal(err)
		}
		var rec connector.Record[string, string]
		if err := b.Decode(0, &rec); err != nil {
			t.Fatal(err)
		}
		b.Release()
		if got, _ := rec.Headers.Get("h"); (got == "1") != wanted {
			t.Errorf("wanted %v, got %v", wanted, rec.Headers)
		}
		rd.Close()
	}
}

// byHeader finds in a header what is before the value.
type byHeader struct{ serde.Serde[string] }

func (byHeader) DecodeHeaders(b []byte, header func(name string) []byte) (string, error) {
	return string(header("id")) + string(b), nil
}

// A serde that may find its schema in a header gets to see headers, and the last one of a name, also when nobody else does.
func TestSourceDecodesWithHeaders(t *testing.T) {
	r := newRig(t)
	topic := r.topic(1)
	r.produce(&kgo.Record{Topic: topic, Value: []byte("v"), Headers: []kgo.RecordHeader{{Key: "id", Value: []byte("0")}, {Key: "id", Value: []byte("1")}}},
		&kgo.Record{Topic: topic, Value: []byte("v")})
	all, _ := take(r, Source[string, string](topic, serde.String, byHeader{serde.String}), 0, "", 2)
	if got := valuesOf(all); got != "1v v" || all[0].Headers != nil {
		t.Errorf("got %s with headers %v", got, all[0].Headers)
	}
}

func TestSourceStarts(t *testing.T) {
	r := newRig(t)
	topic := r.topic(1)
	at := time.Now().Truncate(time.Millisecond)
	for i := range 4 {
		r.produce(&kgo.Record{Topic: topic, Value: fmt.Append(nil, i), Timestamp: at.Add(time.Duration(i) * time.Second)})
	}
	for name, c := range map[string]struct {
		option SourceOption
		want   string
	}{
		"earliest": {StartAt(Earliest), "0 1 2 3"},
		"time":     {StartAtTime(at.Add(1500 * time.Millisecond)), "2 3"},
		"offsets":  {StartAtOffsets(map[int32]int64{0: 3}), "3"},
		"others":   {StartAtOffsets(map[int32]int64{7: 3}), "0 1 2 3"},
	} {
		got, _ := take(r, Source(topic, serde.String, serde.String, c.option), 0, "", len(strings.Fields(c.want)))
		if valuesOf(got) != c.want {
			t.Errorf("%s: %s", name, valuesOf(got))
		}
	}
	rd, err := Source(topic, serde.String, serde.String, StartAt(Latest)).Open(r.ctx, r.env(), 0, "")
	if err != nil {
		t.Fatal(err)
	}
	defer rd.Close()
	r.produce(&kgo.Record{Topic: topic, Value: []byte("new")})
	for {
		b, err := rd.Next(r.ctx)
		if err != nil {
			t.Fatal(err)
		}
		if b.Len() > 0 {
			if _, v := b.Raw(0); string(v) != "new" {
				t.Errorf("latest: %s", v)
			}
			b.Release()
			break
		}
	}
}

func TestSourcePositionLost(t *testing.T) {
	r := newRig(t)
	topic := r.topic(1)
	for i := range 6 {
		r.produce(&kgo.Record{Topic: topic, Value: fmt.Append(nil, i)})
	}
	first, _ := take(r, Source(topic, serde.String, serde.String), 0, "", 1)
	if err := r.log.DeleteRecords(r.ctx, map[wire.TopicPartition]int64{{Topic: topic}: 4}); err != nil {
		t.Fatal(err)
	}
	rd, err := Source(topic, serde.String, serde.String).Open(r.ctx, r.env(), 0, first[0].after)
	if err != nil {
		t.Fatal(err)
	}
	_, err = rd.Next(r.ctx)
	rd.Close()
	if !errors.Is(err, wire.ErrOffsetGone) || !strings.Contains(err.Error(), topic) || !strings.Contains(err.Error(), "3 are gone") {
		t.Errorf("by default: %v", err)
	}
	got, _ := take(r, Source(topic, serde.String, serde.String, OnPositionLost(GoOnEarliest)), 0, first[0].after, 2)
	if valuesOf(got) != "4 5" {
		t.Errorf("earliest: %s", valuesOf(got))
	}
	latest := Source(topic, serde.String, serde.String, OnPositionLost(GoOnLatest))
	rd, err = latest.Open(r.ctx, r.env(), 0, first[0].after)
	if err != nil {
		t.Fatal(err)
	}
	defer rd.Close()
	b, err := rd.Next(r.ctx)
	if err != nil || b.Len() != 0 || !slices.Equal(latest.Offsets(0, string(b.End())), []wire.TopicOffset{{Topic: topic, Offset: 6}}) {
		t.Errorf("latest: %v, %v", b, err)
	}
}

func TestSourceMissingTopic(t *testing.T) {
	r := newRig(t)
	s := Source("no-such-topic", serde.String, serde.String)
	if _, err := s.Partitions(r.ctx, r.env()); !errors.Is(err, wire.ErrNoTopic) || !strings.Contains(err.Error(), "no-such-topic") {
		t.Error(err)
	}
	if _, err := s.Open(r.ctx, r.env(), 0, ""); !errors.Is(err, wire.ErrNoTopic) {
		t.Error(err)
	}
	if _, err := s.Partitions(r.ctx, connector.Env{}); err == nil {
		t.Error("no error without a cluster")
	}
}

func TestSourceDataErrors(t *testing.T) {
	r := newRig(t)
	topic := r.topic(1)
	r.produce(&kgo.Record{Topic: topic, Key: []byte("k"), Value: []byte("not eight bytes")})
	at := time.Date(2013, 1, 1, 0, 0, 0, 0, time.UTC)
	decode := func(s connector.Source[string, int64]) error {
		rd, err := s.Open(r.ctx, r.env(), 0, "")
		if err != nil {
			t.Fatal(err)
		}
		defer rd.Close()
		b, err := rd.Next(r.ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer b.Release()
		var rec connector.Record[string, int64]
		err = b.Decode(0, &rec)
		if rec.Origin.Topic != topic {
			t.Errorf("origin %+v", rec.Origin)
		}
		if k, v := b.Raw(0); string(k) != "k" || string(v) != "not eight bytes" {
			t.Errorf("raw %q %q", k, v)
		}
		return err
	}
	if err := decode(Source(topic, serde.String, serde.Int64)); err == nil {
		t.Error("bytes that are no int64 are no error")
	}
	length := serde.New("length/1", func(dst []byte, v int64) ([]byte, error) { return dst, nil }, func(b []byte) (int64, error) { return int64(len(b)), nil })
	if err := decode(Source(topic, serde.String, length).Time(func(string, int64) time.Time { return at })); err != nil {
		t.Error(err)
	}
	if err := decode(Source(topic, serde.String, length).Time(func(string, int64) time.Time { return time.Time{} })); !errors.Is(err, errZeroTime) {
		t.Errorf("zero time: %v", err)
	}
}

// Several topics are one partition, in the order of time, and a position names an offset in each.
func TestSourceMergesTopicsByTime(t *testing.T) {
	r := newRig(t)
	a, b, c := r.topic(2), r.topic(1), r.topic(2)
	at := time.Now().Truncate(time.Millisecond)
	for i := range 30 {
		topic := []string{a, b, c}[i*7%3]
		r.produce(&kgo.Record{Topic: topic, Value: fmt.Appendf(nil, "%02d", i), Timestamp: at.Add(time.Duration(i) * time.Millisecond)})
	}
	r.produce(&kgo.Record{Topic: c, Partition: 1, Value: []byte("other")})
	s := Source(a, serde.String, serde.String, Topics(b, c))
	if n, err := s.Partitions(r.ctx, r.env()); n != 2 || err != nil {
		t.Fatal(n, err)
	}
	all, _ := take(r, s, 0, "", 30)
	for i, got := range all {
		if got.Value != fmt.Sprintf("%02d", i) {
			t.Fatalf("out of order: %s", valuesOf(all))
		}
	}
	for _, i := range []int{0, 1, 13, 28} {
		rest, _ := take(r, s, 0, all[i].after, 29-i)
		if valuesOf(rest) != valuesOf(all[i+1:]) {
			t.Errorf("behind record %d: %s", i, valuesOf(rest))
		}
	}
	other, _ := take(r, s, 1, "", 1)
	if other[0].Value != "other" {
		t.Errorf("partition 1, which one topic lacks: %v", other)
	}
}

func TestSourcePattern(t *testing.T) {
	r := newRig(t)
	prefix := r.topic(1)
	for i := range 2 {
		name := fmt.Sprintf("%s-%d", prefix, i)
		if err := r.log.Create(r.ctx, wire.TopicSpec{Name: name, Partitions: 1}); err != nil {
			t.Fatal(err)
		}
		r.produce(&kgo.Record{Topic: name, Value: fmt.Append(nil, i), Timestamp: time.UnixMilli(time.Now().UnixMilli() + int64(i))})
	}
	s := Source("all", serde.String, serde.String, TopicPattern(regexp.MustCompile(regexp.QuoteMeta(prefix)+"-.")))
	names, err := s.Topics(r.ctx, r.log)
	if err != nil || !slices.Equal(names, []string{prefix + "-0", prefix + "-1"}) {
		t.Fatal(names, err)
	}
	got, end := take(r, s, 0, "", 2)
	if valuesOf(got) != "0 1" || len(s.Offsets(0, string(end))) != 2 {
		t.Errorf("%s, end %v", valuesOf(got), s.Offsets(0, string(end)))
	}
}

// A merge waits for a topic that is known to have more, and goes on without one that has not.
func TestMergeWaitsForWhatIsThere(t *testing.T) {
	r := newRig(t)
	a, b := r.topic(1), r.topic(1)
	r.produce(&kgo.Record{Topic: a, Value: []byte("a")})
	rd, err := Source(a, serde.String, serde.String, Topics(b)).Open(r.ctx, r.env(), 0, "")
	if err != nil {
		t.Fatal(err)
	}
	defer rd.Close()
	seen := 0
	for seen == 0 {
		batch, err := rd.Next(r.ctx)
		if err != nil {
			t.Fatal(err)
		}
		seen += batch.Len()
		if batch.Len() > 0 && !batch.State().AtEnd {
			t.Errorf("state %+v at the end of both", batch.State())
		}
		batch.Release()
	}
	ended, cancel := context.WithCancel(r.ctx)
	cancel()
	for {
		batch, err := rd.Next(ended)
		if err != nil {
			break
		}
		if batch.Len() > 0 {
			t.Error("a record from nowhere")
		}
		batch.Release()
	}
}

func FuzzPosition(f *testing.F) {
	f.Add([]byte(encodePosition([]wire.TopicOffset{{Topic: "b", Offset: 1 << 40}, {Topic: "a", Offset: 0}})))
	f.Add([]byte{1, 200, 1, 'x'})
	f.Add([]byte(""))
	f.Fuzz(func(t *testing.T, b []byte) {
		at, err := decodePosition(connector.Position(b))
		if err != nil {
			return
		}
		again, err := decodePosition(encodePosition(slices.Clone(at)))
		if err != nil || len(again) != len(at) {
			t.Fatalf("%v became %v, %v", at, again, err)
		}
	})
}

func TestBindReportsMistakes(t *testing.T) {
	for name, s := range map[string]*TopicSource[string, string]{
		"name":    Source("", serde.String, serde.String),
		"twice":   Source("a", serde.String, serde.String, Topics("b", "a")),
		"time":    Source("a", serde.String, serde.String, StartAtTime(time.Time{})),
		"offsets": Source("a", serde.String, serde.String, StartAtOffsets(map[int32]int64{0: -1})),
		"serde":   Source[string, string]("a", serde.String, nil),
	} {
		if _, err := s.Bind("app", nil); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := Sink("a", serde.String, serde.String, Create(-1, 0)).Bind("app", nil); err == nil {
		t.Error("a sink with -1 partitions is no error")
	}
	if _, err := Source("a", serde.String, serde.String).Bind("app", nil); err != nil {
		t.Error(err)
	}
}
