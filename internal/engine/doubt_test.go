package engine

import (
	"log/slog"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/internal/wire"
)

// listed are the positions of a source of some topics: topic=offset, with commas.
type listed struct{ wire.Positions }

func (listed) Offsets(_ int, position string) (all []wire.TopicOffset) {
	for text := range strings.SplitSeq(position, ",") {
		topic, offset, _ := strings.Cut(text, "=")
		n, _ := strconv.ParseInt(offset, 10, 64)
		all = append(all, wire.TopicOffset{Topic: topic, Offset: n})
	}
	return all
}

func (listed) Position(_ int, offsets []wire.TopicOffset) string {
	var all []string
	for _, o := range offsets {
		all = append(all, o.Topic+"="+strconv.FormatInt(o.Offset, 10))
	}
	return strings.Join(all, ",")
}

// A said task has two inputs, of topics a and b, and of c, and a store.
func saidTask() (*session, taskRef) {
	both, third := &Source{Name: "both", Positions: listed{}}, &Source{Name: "third", Input: 1, Positions: listed{}}
	sub := &Sub{Name: "s", Sources: []*Source{both, third}, Stores: []Store{{Name: "sums", Changelog: true}}}
	s := &session{app: &App{log: slog.New(slog.DiscardHandler)}, plan: &Plan{App: "app"}, config: &Config{},
		sourceNames: map[*Source][]string{both: {"a", "b"}, third: {"c"}}}
	return s, taskRef{sub: sub}
}

func committedOf(at map[string]metadata, offset int64) map[wire.TopicPartition]wire.Committed {
	all := map[wire.TopicPartition]wire.Committed{}
	for topic, m := range at {
		all[wire.TopicPartition{Topic: topic}] = wire.Committed{Offset: offset, Metadata: m.String()}
	}
	return all
}

// TestRecordIsPutInPlaceOfWhatIsOlder: topic by topic, and no further: what is newer than the record stays, and so does what is of a topic made anew. Watermarks never
// sink, and of upstream tasks those are taken that belong to the place.
func TestRecordIsPutInPlaceOfWhatIsOlder(t *testing.T) {
	mark := func(w int64) task.Mark { return task.Mark{W: w, High: w} }
	upstream := []task.Mark{mark(50), {W: 60, High: 60, Idle: true}}
	own := func() *taskRecord {
		r := &taskRecord{n: 8, doubted: true, inputs: []inputRecord{
			{name: "both", position: "a=20,b=20", mark: mark(100), upstream: upstream, topics: []topicID{{"a", "id-a"}, {"b", "id-b"}}},
			{name: "third", position: "c=20", mark: mark(100)},
		}}
		read, err := decodeRecord(r.append(nil))
		if err != nil {
			t.Fatal(err)
		}
		return read
	}
	to := targets{storeTag("sums"): 3}
	for name, c := range map[string]struct {
		at          map[string]metadata
		own         *taskRecord
		both, third string
		w           int64 // of both
		upstream    int   // of both
		back        bool
	}{
		"all older": {map[string]metadata{"a": {n: 5, mark: mark(40), changelogs: to}, "b": {n: 5}, "c": {n: 5}}, own(), "a=20,b=20", "c=20", 100, 2, true},
		"one older": {map[string]metadata{"a": {n: 9, mark: mark(140), changelogs: to}, "b": {n: 5}, "c": {n: 9}}, own(), "a=10,b=20", "c=10", 140, 2, false},
		"none":      {map[string]metadata{"a": {n: 9, mark: mark(40), changelogs: to}, "b": {n: 8}, "c": {n: 9}}, own(), "a=10,b=10", "c=10", 40, 0, false},
		"anew":      {map[string]metadata{"a": {n: 5, mark: mark(40), topic: "id-x", changelogs: to}, "b": {n: 9}, "c": {n: 9}}, own(), "a=10,b=10", "c=10", 40, 0, true},
		"another one says": {map[string]metadata{"a": {n: 9, changelogs: to}, "b": {n: 9}, "c": {n: 5, changelogs: targets{storeTag("sums"): 1}}}, own(),
			"a=10,b=10", "c=20", 0, 0, false},
		"not doubted": {map[string]metadata{"a": {n: 5, mark: mark(40), changelogs: to}, "b": {n: 5}, "c": {n: 5}}, &taskRecord{n: 8, inputs: own().inputs}, "a=10,b=10", "c=10", 40, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			s, ref := saidTask()
			committed := committedOf(c.at, 10)
			said, err := s.saidOf(ref, committed)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(said.to, to) {
				t.Errorf("the changelog is restored to %v", said.to)
			}
			left, back, err := s.putRight(ref, said, c.own, committed)
			if err != nil || left != c.own || back != c.back {
				t.Errorf("left of the record is %+v, moved back %v, %v", left, back, err)
			}
			if a, b := said.position("both"), said.position("third"); string(a) != c.both || string(b) != c.third {
				t.Errorf("inputs go on at %s and %s, want %s and %s", a, b, c.both, c.third)
			}
			if m := said.mark("both"); m.W != c.w {
				t.Errorf("the watermark is %d, want %d", m.W, c.w)
			}
			if got := said.upstream("both"); len(got) != c.upstream || len(got) > 0 && !reflect.DeepEqual(got, upstream) {
				t.Errorf("upstream tasks were at %+v", got)
			}
		})
	}
}

// TestPlacesOfATaskWithoutPositions: behind a local exchange each changelog has a position of its own. Where one of them is older than the record, any of them may
// have been moved back.
func TestPlacesOfATaskWithoutPositions(t *testing.T) {
	s := &session{plan: &Plan{App: "app"}, config: &Config{}, app: &App{log: slog.New(slog.DiscardHandler)}}
	ref := taskRef{sub: &Sub{Name: "s", Stores: []Store{{Name: "x", Changelog: true}, {Name: "y", Changelog: true}}}}
	for n, want := range map[uint64]bool{7: true, 8: false} {
		committed := committedOf(map[string]metadata{s.plan.changelogTopic("x"): {n: 9}, s.plan.changelogTopic("y"): {n: n}}, 4)
		said, err := s.saidOf(ref, committed)
		if err != nil || len(said.to) != 2 || said.n != 9 {
			t.Fatalf("it says %+v, %v", said, err)
		}
		if _, back, err := s.putRight(ref, said, &taskRecord{n: 8, doubted: true}, committed); back != want || err != nil {
			t.Errorf("positions of checkpoint %d were moved back: %v, %v", n, back, err)
		}
	}
}
