package registry

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirstream/weir/serde"
)

// A Client is a [serde.Registry]. It is used by many goroutines at once and needs no closing: it owns no goroutine beyond
// the calls under way.
type Client struct {
	config    Config
	invalid   error // a mistake in Config, reported by every call
	endpoints []endpoint
	secrets   []string
	counters  counters
	gate      gate
	wire      wire
	cache     atomic.Pointer[cache]

	registered sync.Map // registration → int: what this process has registered
}

var _ serde.Registry = (*Client)(nil)

// A registration is what a register call is about. References are in text, since a key must be comparable.
type registration struct{ subject, format, text, references string }

// New returns a client. It does not connect; a mistake in c is reported by the first call, which is at Build.
func New(c Config) *Client {
	c = c.withDefaults()
	r := &Client{config: c}
	r.endpoints, r.invalid = c.endpoints()
	r.secrets = c.secrets(r.endpoints)
	r.wire = wire{normalize: c.Normalize, http: &http.Client{
		Transport:     newTransport(c, r.endpoints, &r.counters),
		Timeout:       c.RequestTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	r.cache.Store(newCache(newDisk(c.CacheDir, r.endpoints), c.NegativeTTL, &r.counters))
	return r
}

// UseCacheDir makes dir the directory of the client's disk cache, unless Config.CacheDir named one. For the engine, which
// calls it with a place in the app's StateDir before the first record.
func (r *Client) UseCacheDir(dir string) {
	if r.config.CacheDir == "" {
		r.cache.Store(newCache(newDisk(dir, r.endpoints), r.config.NegativeTTL, &r.counters))
	}
}

// Stats returns the client's counters.
func (r *Client) Stats() Stats { return r.counters.stats() }

// String names the registry by its URLs, without credentials.
func (r *Client) String() string {
	names := make([]string, len(r.endpoints))
	for i, e := range r.endpoints {
		names[i] = e.base.String()
	}
	return strings.Join(names, ", ")
}

// Schema implements [serde.Registry]. After the first call for an id it makes no request, ever.
func (r *Client) Schema(ctx context.Context, id int) (serde.Schema, error) {
	c := r.cache.Load()
	if s, ok := c.id(id); ok {
		return s, nil
	}
	a, err := r.cached(ctx, idKey(id), isUnknown, func(ctx context.Context) (answer, error) { return r.wire.byID(ctx, id) })
	if err != nil {
		return serde.Schema{}, fmt.Errorf("registry: schema id %d: %w", id, err)
	}
	c.putID(id, a.schema)
	return a.schema, nil
}

// Version implements [serde.Registry]. A version never changes, so it is cached as ids are. That there is none is not: the program
// may be about to register it.
func (r *Client) Version(ctx context.Context, subject string, version int) (int, serde.Schema, error) {
	key := "version " + strconv.Itoa(version) + " of " + subject
	never := func(error) bool { return false }
	a, err := r.cached(ctx, key, never, func(ctx context.Context) (answer, error) { return r.wire.version(ctx, subject, version) })
	if err != nil {
		return 0, serde.Schema{}, fmt.Errorf("registry: version %d of subject %q: %w", version, subject, err)
	}
	return a.id, a.schema, nil
}

// IDOfGUID returns the id of the schema with a GUID, which Confluent's serializers put into headers. Not every registry has
// them. For serdes.
func (r *Client) IDOfGUID(ctx context.Context, guid string) (int, error) {
	a, err := r.cached(ctx, guidKey+guid, isUnknown, func(ctx context.Context) (answer, error) { return r.wire.byGUID(ctx, guid) })
	if err != nil {
		return 0, fmt.Errorf("registry: schema of GUID %s: %w", guid, err)
	}
	return a.id, nil
}

// guidKey begins the cache's keys of GUIDs.
const guidKey = "guid "

// Latest implements [serde.Registry]. It asks every time.
func (r *Client) Latest(ctx context.Context, subject string) (int, serde.Schema, error) {
	a, err := r.call(ctx, func(ctx context.Context) (answer, error) { return r.wire.latest(ctx, subject) })
	if err != nil {
		return 0, serde.Schema{}, fmt.Errorf("registry: latest version of subject %q: %w", subject, err)
	}
	r.cache.Load().put(idKey(a.id), a)
	return a.id, a.schema, nil
}

// Register implements [serde.Registry]. The same schema is sent once per process and subject.
func (r *Client) Register(ctx context.Context, subject string, s serde.Schema) (int, error) {
	if err := checkFormat(s); err != nil {
		return 0, err
	}
	key := registration{subject, s.Format, s.Text, fmt.Sprint(s.References)}
	if id, ok := r.registered.Load(key); ok {
		return id.(int), nil
	}
	a, err := r.call(ctx, func(ctx context.Context) (answer, error) { return r.wire.register(ctx, subject, s) })
	if err != nil {
		return 0, fmt.Errorf("registry: registering a schema under subject %q: %w", subject, err)
	}
	r.counters.registered.Add(1)
	r.cache.Load().put(idKey(a.id), a)
	r.registered.Store(key, a.id)
	return a.id, nil
}

// Compatible implements [serde.Registry].
func (r *Client) Compatible(ctx context.Context, subject string, s serde.Schema) error {
	if err := checkFormat(s); err != nil {
		return err
	}
	var reasons string
	_, err := r.call(ctx, func(ctx context.Context) (_ answer, err error) {
		reasons, err = r.wire.compatible(ctx, subject, s)
		return answer{}, err
	})
	switch {
	case errors.Is(err, serde.ErrUnknownSchema): // a new subject: anything goes
		return nil
	case err != nil:
		return fmt.Errorf("registry: checking a schema against subject %q: %w", subject, err)
	case reasons != "":
		return fmt.Errorf("registry: the schema does not fit subject %q: %w: %s", subject, serde.ErrIncompatible, r.scrub(reasons))
	}
	return nil
}

// checkFormat refuses what the client library would refuse without asking anyone.
func checkFormat(s serde.Schema) error {
	switch s.Format {
	case serde.FormatAvro, serde.FormatProtobuf, serde.FormatJSON:
		return nil
	}
	return fmt.Errorf("registry: %w: schema format %q; want %s, %s or %s", serde.ErrIncompatible, s.Format, serde.FormatAvro, serde.FormatProtobuf, serde.FormatJSON)
}

func idKey(id int) string { return "id " + strconv.Itoa(id) }

func isUnknown(err error) bool { return errors.Is(err, serde.ErrUnknownSchema) }

// cached is call behind the cache, which remembers failures that absent says yes to. The flight has a context of its own,
// because others may wait for it too.
func (r *Client) cached(ctx context.Context, key string, absent func(error) bool, ask func(context.Context) (answer, error)) (answer, error) {
	if r.invalid != nil {
		return answer{}, r.invalid
	}
	fetch := func() (answer, error) { return r.call(context.WithoutCancel(ctx), ask) }
	a, err := r.cache.Load().get(ctx, key, fetch, absent)
	if err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return answer{}, fmt.Errorf("%w: %w", serde.ErrRegistryUnavailable, err)
	}
	return a, err
}

// call asks until the registry answers or the call's time or patience is over.
func (r *Client) call(ctx context.Context, ask func(context.Context) (answer, error)) (answer, error) {
	if r.invalid != nil {
		return answer{}, r.invalid
	}
	ctx, cancel := context.WithTimeout(ctx, r.config.CallTimeout)
	defer cancel()
	var last error
	until := time.Now().Add(r.config.Patience)
	for {
		round, err := r.gate.pass(ctx, until)
		if err != nil {
			return answer{}, r.unavailable(last, err)
		}
		a, err := ask(ctx)
		var said *apiError
		if err == nil || errors.As(err, &said) && said.kind() != serde.ErrRegistryUnavailable {
			r.gate.succeeded()
			return a, r.describe(said)
		}
		last = err
		r.counters.failures.Add(1)
		r.gate.failed(round)
	}
}

// describe turns the registry's answer into an error of its kind.
func (r *Client) describe(said *apiError) error {
	if said == nil {
		return nil
	}
	return fmt.Errorf("%w: %s", said.kind(), r.scrub(said.Error()))
}

// unavailable says what went wrong last; the end of the call's time is the reason only when nothing else is known.
func (r *Client) unavailable(last, ended error) error {
	if last == nil {
		return fmt.Errorf("%w: %s: %w", serde.ErrRegistryUnavailable, r, ended)
	}
	return fmt.Errorf("%w: %s", serde.ErrRegistryUnavailable, r.scrub(last.Error()))
}

// scrub takes our credentials out of text that came from outside.
func (r *Client) scrub(text string) string {
	for _, s := range r.secrets {
		if s != "" {
			text = strings.ReplaceAll(text, s, "xxxxx")
		}
	}
	return clip(strings.ReplaceAll(text, placeholder, ""))
}
