package stream_test

import (
	"errors"
	"testing"
	"time"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/stream"
)

func TestTransformSetsTimeAndHeaders(t *testing.T) {
	r := rec("a", 1, 10)
	r.Headers = connector.Headers{{Key: "h", Value: []byte("x")}}
	got := pipe(t, func(s *stream.Stream[string, int]) *stream.Stream[int, string] {
		return s.Transform(func(r stream.Record[string, int], emit func(stream.Record[int, string])) error {
			emit(r.WithHeader("from", r.Origin.Topic).WithTime(r.Time.Add(time.Second)).WithKey(r.Value).WithValue(r.Key))
			emit(r.WithKey(7).WithValue("as it was")) // what the first one had does not leak into it
			return nil
		})
	}, r)
	same(t, got, "1=a@1010 h:x from:in", "7=as it was@10 h:x")
}

// What Transform emitted before it failed stays.
func TestTransformRejectedHalfWay(t *testing.T) {
	bad := errors.New("bad")
	got := pipe(t, func(s *stream.Stream[string, int]) *stream.Stream[string, int] {
		return s.Transform(func(r stream.Record[string, int], emit func(stream.Record[string, int])) error {
			emit(r)
			if r.Value == 1 {
				return bad
			}
			return nil
		}, stream.OnError(stream.Skip))
	}, rec("a", 1, 1), rec("a", 2, 2))
	same(t, got, "a=1@1", "a=2@2")
}

// The origin stays with the record unless Transform sets another.
func TestTransformKeepsTheOrigin(t *testing.T) {
	var seen []connector.Origin
	pipe(t, func(s *stream.Stream[string, int]) *stream.Stream[string, int] {
		return s.Transform(func(r stream.Record[string, int], emit func(stream.Record[string, int])) error {
			emit(stream.Record[string, int]{Key: r.Key, Time: r.Time})
			r.Origin = connector.Origin{Topic: "elsewhere", Offset: 9}
			emit(r)
			return nil
		}).Transform(func(r stream.Record[string, int], emit func(stream.Record[string, int])) error {
			seen = append(seen, r.Origin)
			return nil
		})
	}, rec("a", 1, 1), rec("a", 2, 2))
	if len(seen) != 4 || seen[0].Topic != "in" || seen[1].Topic != "elsewhere" || seen[2] != (connector.Origin{Topic: "in", Offset: 1}) {
		t.Errorf("got %v", seen)
	}
}

func ExampleStream_Transform() {
	b := stream.New("example")
	words(b, "late", "early").
		Transform(func(r stream.Record[int, string], emit func(stream.Record[string, time.Time])) error {
			emit(r.WithKey(r.Value).WithValue(r.Time.Add(time.Hour)))
			return nil
		}).
		ForEach(print)
	runExample(b)
	// Output:
	// late 2000-01-01 01:00:00 +0000 UTC
	// early 2000-01-01 01:00:01 +0000 UTC
}
