package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/serde/avro"
	"github.com/weirstream/weir/serde/registry"
	"github.com/weirstream/weir/serde/registry/registrytest"
)

// A shop is what surrounds the app: the broker, the registry, those who write orders and those who read totals.
type shop struct {
	out      io.Writer
	brokers  []string
	registry serde.Registry
	dir      string
	broken   chan error // an app that ended by itself
}

func (s *shop) say(what string) { fmt.Fprintln(s.out, what) }

// connect sets the registry: the one with this URL, or one in memory that is spoken to as if it had one. Orders are to be readable
// both ways, by old programs and by new ones.
func (s *shop) connect(ctx context.Context, url string) error {
	subject := topicOrders + "-value"
	if url == "" {
		reg := registrytest.New()
		reg.SetCompatibility(subject, registrytest.FullTransitive)
		s.registry = registry.New(reg.Config())
		return nil
	}
	s.registry = registry.New(registry.Config{URLs: []string{url}})
	body := strings.NewReader(`{"compatibility":"FULL_TRANSITIVE"}`)
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, strings.TrimRight(url, "/")+"/config/"+subject, body)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// produce writes orders of any version with its schema, as a program outside of weir would.
func produce[T any](ctx context.Context, s *shop, orders ...T) error {
	at, err := serde.Bind(avro.Registered[T](orderName), serde.Binding{Topic: topicOrders, Registry: s.registry, Writes: true})
	if err != nil {
		return err
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(s.brokers...), kgo.DefaultProduceTopic(topicOrders), kgo.AllowAutoTopicCreation())
	if err != nil {
		return err
	}
	defer client.Close()
	for _, o := range orders {
		value, err := at.Append(nil, o)
		if err != nil {
			return err
		}
		if err := client.ProduceSync(ctx, &kgo.Record{Value: value}).FirstErr(); err != nil {
			return err
		}
		id, _, err := serde.CutSchemaID(value)
		if err != nil {
			return err
		}
		s.say(fmt.Sprintf("  written with schema id %d: %s", id, shown(o)))
	}
	return nil
}

// shown is an order for people.
func shown(o any) string {
	text, err := json.Marshal(o)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// tryThird starts a producer whose schema readers could not follow.
func (s *shop) tryThird() error {
	_, err := serde.Bind(avro.Registered[renamedOrder](orderName), serde.Binding{Topic: topicOrders, Registry: s.registry, Writes: true})
	if !errors.Is(err, serde.ErrIncompatible) {
		return fmt.Errorf("version 3 should be refused, got %v", err)
	}
	s.say("version 3 is refused before anything is written")
	return nil
}

// await reads committed totals until all of these have come.
func (s *shop) await(ctx context.Context, totals ...string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	client, err := kgo.NewClient(kgo.SeedBrokers(s.brokers...), kgo.ConsumeTopics(topicTotals), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.UnknownTopicRetries(-1))
	if err != nil {
		return err
	}
	defer client.Close()
	for missing := slices.Clone(totals); len(missing) > 0; {
		select {
		case err := <-s.broken:
			return fmt.Errorf("the app ended: %w", err)
		default:
		}
		poll, done := context.WithTimeout(ctx, time.Second)
		client.PollFetches(poll).EachRecord(func(r *kgo.Record) {
			got := fmt.Sprintf("%s: %s", r.Key, r.Value)
			missing = slices.DeleteFunc(missing, func(want string) bool { return want == got })
		})
		done()
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("waiting for %q: %w", missing, err)
		}
	}
	for _, t := range totals {
		s.say("  committed total of " + t)
	}
	return nil
}

// readAllAsFirst reads the topic with the type of version 1.
func (s *shop) readAllAsFirst(ctx context.Context) error {
	at, err := serde.Bind(avro.Registered[order](orderName), serde.Binding{Topic: topicOrders, Registry: s.registry})
	if err != nil {
		return err
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(s.brokers...), kgo.ConsumeTopics(topicOrders), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	s.say("a program that knows version 1 only reads the topic")
	for n := 0; n < 6; {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return err
		}
		for r := range fetches.RecordsAll() {
			o, err := at.Decode(r.Value)
			if err != nil {
				return err
			}
			s.say("  " + shown(o))
			n++
		}
	}
	return nil
}
