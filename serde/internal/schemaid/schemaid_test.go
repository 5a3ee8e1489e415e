package schemaid

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/weirstream/weir/serde"
)

func headers(h map[string]string) func(string) []byte {
	return func(name string) []byte {
		if v, ok := h[name]; ok {
			return []byte(v)
		}
		return nil
	}
}

func TestLocate(t *testing.T) {
	type want struct {
		id            int
		more, payload string
		inHeader      bool
		fails         bool
	}
	value := "\x00\x00\x00\x00\x07payload"
	for name, c := range map[string]struct {
		key     bool
		headers map[string]string
		want    want
	}{
		"prefix":            {false, nil, want{7, "", "payload", false, false}},
		"confluent":         {false, map[string]string{confluentValue: "\x00\x00\x00\x00\x05"}, want{5, "", value, true, false}},
		"confluent, more":   {false, map[string]string{confluentValue: "\x00\x00\x00\x00\x05\x02"}, want{5, "\x02", value, true, false}},
		"apicurio":          {true, map[string]string{apicurioKey: "\x00\x00\x00\x00\x00\x00\x01\x00"}, want{256, "", value, true, false}},
		"of the other part": {true, map[string]string{confluentValue: "\x00\x00\x00\x00\x05"}, want{7, "", "payload", false, false}},
		"guid":              {false, map[string]string{confluentValue: "\x01234567890123456"}, want{fails: true}},
		"short":             {false, map[string]string{confluentValue: "\x00\x00"}, want{fails: true}},
		"empty":             {false, map[string]string{confluentValue: ""}, want{fails: true}},
		"long id":           {false, map[string]string{apicurioValue: "\x01\x00\x00\x00\x00\x00\x00\x00"}, want{fails: true}},
		"short id":          {false, map[string]string{apicurioValue: "\x01"}, want{fails: true}},
	} {
		id, more, payload, inHeader, err := (&Locator{Key: c.key}).Locate([]byte(value), headers(c.headers))
		if c.want.fails != (err != nil) {
			t.Errorf("%s: error %v", name, err)
		} else if got := (want{id, string(more), string(payload), inHeader, false}); err == nil && got != c.want {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
}

func TestTable(t *testing.T) {
	var table Table[int, string]
	calls := 0
	get := func(key int, err error) (string, error) {
		return table.Get(key, func() (string, error) { calls++; return fmt.Sprint(key), err })
	}
	for range 3 {
		if v, err := get(1, nil); v != "1" || err != nil || calls != 1 {
			t.Fatalf("got %q, %v after %d calls", v, err, calls)
		}
	}
	broken := errors.New("broken schema")
	for range 3 {
		if _, err := get(2, broken); !errors.Is(err, broken) || calls != 2 {
			t.Fatalf("got %v after %d calls: an error of a schema stays", err, calls)
		}
	}
	for i := range 3 {
		if _, err := get(3, fmt.Errorf("down: %w", serde.ErrRegistryUnavailable)); err == nil || calls != 3+i {
			t.Fatalf("got %v after %d calls: an outage passes", err, calls)
		}
	}
	if v, err := get(3, nil); v != "3" || err != nil {
		t.Fatalf("got %q, %v when the registry is back", v, err)
	}
}

func TestTableIsShared(t *testing.T) {
	var table Table[int, int]
	var once Once[int]
	made := 0 // guarded by the table's lock
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 100 {
				if v, err := table.Get(i, func() (int, error) { made++; return i, nil }); v != i || err != nil {
					t.Errorf("%d is %d, %v", i, v, err)
				}
				if v, err := once.Get(func() (int, error) { return 5, nil }); v != 5 || err != nil {
					t.Errorf("once is %d, %v", v, err)
				}
			}
		})
	}
	wg.Wait()
	if made != 100 {
		t.Errorf("100 keys were made %d times", made)
	}
}

func TestOnceRepeatsFailures(t *testing.T) {
	var once Once[int]
	if _, err := once.Get(func() (int, error) { return 0, errors.New("no") }); err == nil {
		t.Error("the failure was lost")
	}
	if v, err := once.Get(func() (int, error) { return 2, nil }); v != 2 || err != nil {
		t.Errorf("got %d, %v", v, err)
	}
	if v, _ := once.Get(func() (int, error) { return 3, nil }); v != 2 {
		t.Errorf("got %d, the first success is 2", v)
	}
}

func BenchmarkTable(b *testing.B) {
	var table Table[int, string]
	for i := range 20 {
		table.Get(i, func() (string, error) { return "", nil })
	}
	b.ReportAllocs()
	for b.Loop() {
		table.Get(7, func() (string, error) { return "", nil })
	}
}
