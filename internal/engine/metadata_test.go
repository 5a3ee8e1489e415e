package engine

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/weirstream/weir/internal/task"
)

func TestMetadataReadsWhatItWrites(t *testing.T) {
	none := task.NewMark()
	at := func(w int64) task.Mark { return task.Mark{W: w, High: w} }
	idle, ended := at(1_700_000_000_500), at(math.MaxInt64)
	idle.Idle, ended.Ended = true, true
	for name, m := range map[string]metadata{
		"nothing yet":   {mark: none},
		"changelogs":    {n: 7, mark: task.Mark{W: 5, High: 9}, changelogs: targets{1: 0, storeTag("count"): 12, 1<<32 - 1: 1 << 40}},
		"upstream":      {n: 1, mark: at(1_700_000_000_000), upstream: []task.Mark{at(1_700_000_000_000), none, idle, ended}},
		"none upstream": {n: 1, mark: none, upstream: []task.Mark{none, at(3), none}},
		"far apart":     {n: 1, mark: at(math.MaxInt64), upstream: []task.Mark{at(math.MinInt64 + 1), at(math.MaxInt64)}},
		"ids":           {n: 7, mark: none, changelogs: targets{1: 0, 2: 12}, logs: map[uint32]string{2: "AbC-_9"}},
		"topic":         {n: 1, mark: none, topic: "AbC-_9"},
		"both":          {n: 1, topic: "t", mark: at(-5), changelogs: targets{7: 3}, upstream: []task.Mark{at(-5), at(10)}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parseMetadata(m.String())
			if err != nil {
				t.Fatal(err)
			}
			if got.n != m.n || got.mark != m.mark || got.topic != m.topic || !maps.Equal(got.changelogs, m.changelogs) || !maps.Equal(got.logs, m.logs) || !slices.Equal(got.upstream, m.upstream) {
				t.Errorf("%q is read as %+v, want %+v", m, got, m)
			}
		})
	}
}

// What older versions have committed is read.
func TestMetadataOfOlderVersions(t *testing.T) {
	for text, topic := range map[string]string{"1;7;100;200;a=5,b=6;1,,2i,3e": "", "2;7;100;200;a=5,b=6;id;1,,2i,3e": "id"} {
		m, err := parseMetadata(text)
		if err != nil || m.n != 7 || m.mark.W != 100 || m.changelogs[0xb] != 6 || len(m.upstream) != 4 || m.topic != topic || m.logs != nil {
			t.Errorf("%s: %+v, %v", text, m, err)
		}
	}
}

// With dozens of stores the ids of their changelogs go first, for no place can.
func TestMetadataOfManyStores(t *testing.T) {
	m := metadata{mark: task.NewMark(), changelogs: targets{}, logs: map[uint32]string{}, topic: "ErmGDIvQQZKRUDHOhG8Tvw"}
	for i := range uint32(120) {
		m.changelogs[1<<31+i], m.logs[1<<31+i] = 1<<40+int64(i), "ErmGDIvQQZKRUDHOhG8Tvw"
	}
	got, err := parseMetadata(m.String())
	if err != nil || len(m.String()) > 4096 || !maps.Equal(got.changelogs, m.changelogs) || got.logs != nil || got.topic != m.topic {
		t.Errorf("%d bytes, read as %+v, %v", len(m.String()), got, err)
	}
}

func TestMetadataIsNeverTooLong(t *testing.T) {
	m := metadata{mark: task.NewMark(), changelogs: targets{7: 5}, topic: "ErmGDIvQQZKRUDHOhG8Tvw"}
	for i := range int64(1000) {
		m.upstream = append(m.upstream, task.Mark{W: 1_700_000_000_000 + i, High: 1_700_000_000_000 + i})
	}
	text := m.String()
	if len(text) > 4096 {
		t.Fatalf("%d bytes", len(text))
	}
	got, err := parseMetadata(text)
	if err != nil || len(got.upstream) != 0 || got.topic != m.topic || len(got.changelogs) != 1 {
		t.Errorf("%q is read as %+v, %v", text, got, err)
	}
}

func TestMetadataSaysWhatIsWrong(t *testing.T) {
	for _, bad := range []string{"4;1;1;1;;;", "2;1;1;1;;", "1;1;1;1;;;", "1;1;1;1;", "1;x;1;1;;", "1;1;1;1;a;", "1;1;1;1;x=1;", "1;1;1;1;;5x", "hello"} {
		if _, err := parseMetadata(bad); err == nil || !strings.Contains(err.Error(), bad) {
			t.Errorf("%q: error %v", bad, err)
		}
	}
}

func FuzzParseMetadata(f *testing.F) {
	f.Add("1;7;100;200;a=5,b=6;1,,2i,3e")
	f.Add("2;7;100;200;a=5,b=6;id;1,,2i,3e")
	f.Add("3;7;100;200;a=5:x,b=6;id;1,,2i,3e")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		m, err := parseMetadata(text)
		if err != nil {
			return
		}
		if again, err := parseMetadata(m.String()); err != nil || again.String() != m.String() {
			t.Fatalf("%q became %q and then %q (%v)", text, m, again, err)
		}
	})
}
