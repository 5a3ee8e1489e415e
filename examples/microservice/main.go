// A microservice with an app inside: HTTP queries of its tables, health, and a stop that leaves nothing half done.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"log"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/state/pebblestore"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/table"
	"github.com/weirstream/weir/window"
)

type Click struct {
	Page string
	Bot  bool
}
type Stats struct{ Views, Bots int64 }

// Clicks is the topology with the handles that queries need.
type Clicks struct {
	*stream.Builder
	Total     *stream.Table[string, Stats]
	PerMinute *stream.Table[window.Key[string], int64]
}

func newClicks() *Clicks {
	b := stream.New("clicks")
	byPage := b.Source(kafka.Source("clicks", serde.String, serde.JSON[Click]()), stream.IdleAfter(10*time.Second)).
		SelectKey(func(_ string, c Click) string { return c.Page }).
		Repartition(stream.Named("by-page")). // once, for both aggregates
		GroupByKey()
	c := &Clicks{Builder: b}
	c.Total = byPage.Aggregate(func() Stats { return Stats{} }, func(_ string, c Click, s Stats) Stats {
		s.Views++
		if c.Bot {
			s.Bots++
		}
		return s
	}, stream.Named("total"))
	c.PerMinute = byPage.Window(window.Tumbling(time.Minute)).Count(stream.Named("per-minute"), stream.Retain(24*time.Hour))
	c.Total.To(kafka.Sink("totals", serde.String, serde.JSON[Stats]()))
	c.PerMinute.To(kafka.Sink("per-minute", serde.Windowed(serde.String), serde.Int64))
	return c
}

// service answers HTTP from an app's views.
type service struct {
	app       *stream.App
	total     *table.View[string, Stats]
	perMinute *table.View[window.Key[string], int64]
}

func (s *service) page(w http.ResponseWriter, r *http.Request) {
	st, ok, err := s.total.Get(r.Context(), r.PathValue("page"))
	var elsewhere *table.NotLocalError
	switch {
	case errors.As(err, &elsewhere):
		http.Redirect(w, r, "http://"+elsewhere.Address+r.URL.Path, http.StatusTemporaryRedirect)
	case err != nil:
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	case !ok:
		http.NotFound(w, r)
	default:
		json.NewEncoder(w).Encode(st)
	}
}

func (s *service) minutes(w http.ResponseWriter, r *http.Request) {
	page, now := r.PathValue("page"), time.Now()
	key := func(t time.Time) window.Key[string] {
		return window.Key[string]{Key: page, Span: window.NewSpan(t, t.Add(time.Minute))}
	}
	out := map[time.Time]int64{}
	for row, err := range s.perMinute.Range(r.Context(), key(now.Add(-time.Hour)), key(now), table.Live) {
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		out[row.Key.Span.Start()] = row.Value
	}
	json.NewEncoder(w).Encode(out)
}

func (s *service) ready(w http.ResponseWriter, _ *http.Request) {
	select {
	case <-s.app.Ready():
	default:
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	json.NewEncoder(w).Encode(s.app.Status())
}

func run(ctx context.Context) error {
	clicks := newClicks()
	app, err := clicks.Build(stream.Config{
		Cluster:     &kafka.Cluster{Brokers: []string{os.Getenv("KAFKA")}},
		State:       pebblestore.New(pebblestore.CacheBytes(256 << 20)),
		StateDir:    os.Getenv("STATE"),
		Advertise:   os.Getenv("POD_IP") + ":8080",
		StopTimeout: 20 * time.Second,
	})
	if err != nil {
		return err
	}
	s := &service{app: app}
	if s.total, err = app.View(clicks.Total); err != nil {
		return err
	}
	if s.perMinute, err = app.View(clicks.PerMinute); err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /pages/{page}", s.page)
	mux.HandleFunc("GET /pages/{page}/minutes", s.minutes)
	mux.HandleFunc("GET /ready", s.ready)
	srv := &http.Server{Addr: ":8080", Handler: mux}

	// Whichever of the two ends first ends the other.
	ctx, cancel := context.WithCancelCause(ctx)
	go func() { cancel(srv.ListenAndServe()) }()
	err = app.Run(ctx) // returns nil once ctx has ended and the last checkpoint is taken
	stop, done := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer done()
	err = errors.Join(err, srv.Shutdown(stop))
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) && !errors.Is(cause, http.ErrServerClosed) {
		err = errors.Join(err, cause)
	}
	return err
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		log.Fatal(err)
	}
}
