package stream_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/internal/partition"
	"github.com/weirstream/weir/internal/wire"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/state"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/table"
)

// A served is one process of an app whose rows are read over HTTP.
type served struct {
	app       *stream.App
	view      *table.View[string, int64]
	server    *httptest.Server
	forwarded atomic.Int64 // requests that another process has passed on
	ended     chan error
}

// serve runs an app that counts the records of "in" by key, on a cluster with others of its kind.
func serve(t *testing.T, c *memory.Cluster, instance string, metrics stream.Metrics) *served {
	t.Helper()
	s := &served{ended: make(chan error, 1)}
	s.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Weir-Forwarded") != "" {
			s.forwarded.Add(1)
		}
		s.view.ServeHTTP(w, r)
	}))
	t.Cleanup(s.server.Close)
	b := stream.New("served")
	counts := b.Source(kafka.Source("in", serde.String, serde.String)).GroupByKey().Count(stream.Named("counts"))
	var err error
	if s.app, err = b.Build(stream.Config{Cluster: c, State: state.InMemory(), Exchange: stream.Kafka, Instance: instance, Metrics: metrics,
		Advertise: s.server.Listener.Addr().String(), CheckpointInterval: 5 * time.Millisecond, Logger: slog.New(slog.DiscardHandler)}); err != nil {
		t.Fatal(err)
	}
	if s.view, err = s.app.View(counts); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *served) run() { go func() { s.ended <- s.app.Run(context.Background()) }() }

func (s *served) stop(t *testing.T) {
	t.Helper()
	if err := errors.Join(s.app.Stop(context.Background(), stream.Handover), <-s.ended); err != nil {
		t.Error(err)
	}
}

// ask is the code and the body of a request; header is set if it is not empty.
func (s *served) ask(t *testing.T, query, header string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.server.URL+"/?"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	if header != "" {
		req.Header.Set(header, "1")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// Two processes have half of the rows each. Either answers for all: what it does not have it asks the other for, once.
func TestViewOverTwoProcesses(t *testing.T) {
	c := &memory.Cluster{AutoCreate: 4}
	if err := c.Create("in", 4, nil); err != nil {
		t.Fatal(err)
	}
	const keys = 24
	put := func(k string) {
		t.Helper()
		r := wire.Record{Key: []byte(k), Value: []byte("x"), Time: time.Now().UnixMilli()}
		if _, err := c.Append("in", partition.Of([]byte(k), 4), r); err != nil {
			t.Fatal(err)
		}
	}
	for i := range keys {
		put(fmt.Sprint("k", i))
	}
	a, b := serve(t, c, "a", nil), serve(t, c, "b", nil)
	a.run()
	b.run()
	until(t, "both to have tasks", func() bool { return len(a.app.Status().Tasks) == 2 && len(b.app.Status().Tasks) == 2 })
	for i := range keys {
		k := fmt.Sprint("k", i)
		for _, s := range []*served{a, b} {
			until(t, k, func() bool {
				code, body := s.ask(t, "key="+k, "")
				return code == http.StatusOK && strings.Contains(body, `"value":1,`)
			})
		}
		owner, other := a, b
		if _, _, err := a.view.Get(t.Context(), k); err != nil {
			owner, other = b, a
		}
		address := owner.server.Listener.Addr().String()
		elsewhere := &table.NotLocalError{}
		if _, _, err := other.view.Get(t.Context(), k); !errors.As(err, &elsewhere) || elsewhere.Address != address {
			t.Errorf("%s where it is not: %v, want the address %s", k, err, address)
		}
		for _, s := range []*served{a, b} {
			if at, err := s.view.Locate(k); at != address || err != nil {
				t.Errorf("%s is located at %q (%v), want %s", k, at, err, address)
			}
		}
		if code, body := other.ask(t, "key="+k, "Weir-Forwarded"); code != http.StatusMisdirectedRequest {
			t.Errorf("%s, passed on to where it is not: %d %s", k, code, body)
		}
		if code, _ := other.ask(t, "read=live&key="+k, ""); code != http.StatusOK {
			t.Errorf("%s live, by way of the other: %d", k, code)
		}
	}
	if a.forwarded.Load() == 0 || b.forwarded.Load() == 0 {
		t.Errorf("forwarded to a: %d, to b: %d", a.forwarded.Load(), b.forwarded.Load())
	}
	// What is read live while records come rises.
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for n := int64(0); n < 50; {
				for _, s := range []*served{a, b} {
					now, ok, err := s.view.Get(t.Context(), "k0", table.Live)
					if elsewhere := (&table.NotLocalError{}); errors.As(err, &elsewhere) {
						continue
					}
					if err != nil || !ok || now < n {
						t.Errorf("live: %d after %d, %t, %v", now, n, ok, err)
						return
					}
					n = now
				}
			}
		})
	}
	for range 49 {
		put("k0")
	}
	readers.Wait()
	a.stop(t)
	until(t, "b to have what a had", func() bool {
		code, body := b.ask(t, "key=k0", "")
		return code == http.StatusOK && strings.Contains(body, `"value":50,`)
	})
	b.stop(t)
}

// While the state comes back, a query is told so.
func TestViewWhileRestoring(t *testing.T) {
	c := &memory.Cluster{AutoCreate: 1}
	if err := c.Create("in", 1, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Append("in", 0, wire.Record{Key: []byte("k"), Value: []byte("x"), Time: time.Now().UnixMilli()}); err != nil {
		t.Fatal(err)
	}
	c.HoldMarkers(wire.TopicPartition{Topic: "served-counts-changelog"}) // what is committed there cannot be read yet
	first := serve(t, c, "a", nil)
	first.run()
	until(t, "the row", func() bool { _, ok, err := first.view.Get(t.Context(), "k"); return ok && err == nil })
	first.stop(t)
	again := serve(t, c, "a", nil) // its state was in memory
	again.run()
	until(t, "the restore", func() bool {
		_, _, err := again.view.Get(t.Context(), "k")
		return errors.Is(err, table.ErrRestoring)
	})
	if code, body := again.ask(t, "key=k", ""); code != http.StatusServiceUnavailable || !strings.Contains(body, "restored") {
		t.Errorf("over HTTP: %d %s", code, body)
	}
	c.Settle()
	until(t, "the row", func() bool { n, ok, err := again.view.Get(t.Context(), "k"); return n == 1 && ok && err == nil })
	again.stop(t)
}
