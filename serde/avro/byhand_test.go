package avro_test

import (
	"encoding/binary"
	"net/http/httptest"
	"sync"
	"testing"

	ha "github.com/hamba/avro/v2"
	"github.com/riferrei/srclient"

	"github.com/weirstream/weir/serde/avro"
	"github.com/weirstream/weir/serde/registry/registrytest"
)

// byHand is what programs do without a framework's serdes: srclient for schemas and hamba for values. It is here to be
// measured beside ours.
type byHand struct {
	client *srclient.SchemaRegistryClient
	id     int
	schema ha.Schema

	mu      sync.RWMutex
	schemas map[int]ha.Schema
}

func newByHand(t testing.TB, url, text string) *byHand {
	t.Helper()
	client := srclient.NewSchemaRegistryClient(url)
	s, err := client.CreateSchema("trades-value", text, srclient.Avro)
	must(t, s, err)
	return &byHand{client: client, id: s.ID(), schema: ha.MustParse(text), schemas: map[int]ha.Schema{}}
}

func (h *byHand) encode(v *trade) ([]byte, error) {
	payload, err := ha.Marshal(h.schema, v)
	if err != nil {
		return nil, err
	}
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(h.id)), payload...), nil
}

func (h *byHand) decode(b []byte, v *trade) error {
	id := int(binary.BigEndian.Uint32(b[1:5]))
	h.mu.RLock()
	schema := h.schemas[id]
	h.mu.RUnlock()
	if schema == nil {
		s, err := h.client.GetSchema(id)
		if err != nil {
			return err
		}
		if schema, err = ha.Parse(s.Schema()); err != nil {
			return err
		}
		h.mu.Lock()
		h.schemas[id] = schema
		h.mu.Unlock()
	}
	return ha.Unmarshal(schema, b[5:], v)
}

// gokaStyle is a codec as goka wants them: values are any on both sides.
type gokaStyle struct{ *byHand }

func (g gokaStyle) Encode(value any) ([]byte, error) { return g.encode(value.(*trade)) }
func (g gokaStyle) Decode(data []byte) (any, error)  { v := new(trade); return v, g.decode(data, v) }

type gokaCodec interface {
	Encode(value any) ([]byte, error)
	Decode(data []byte) (any, error)
}

func BenchmarkRivals(b *testing.B) {
	server := httptest.NewServer(registrytest.New())
	defer server.Close()
	v := someTrade()
	text := must1(avro.SchemaOf[trade]())
	hand := newByHand(b, server.URL, text)
	var goka gokaCodec = gokaStyle{hand}
	ours := boundTrade(b)
	enc := must1(hand.encode(&v))
	own := must1(ours.Append(nil, v))
	buf := make([]byte, 0, 256)
	for _, c := range []struct {
		name string
		run  func() error
	}{
		{"encode weir", func() error { return second(ours.Append(buf[:0], v)) }},
		{"encode srclient and hamba by hand", func() error { return second(hand.encode(&v)) }},
		{"encode goka style", func() error { return second(goka.Encode(&v)) }},
		{"decode weir", func() error { _, err := ours.Decode(own); return err }},
		{"decode srclient and hamba by hand", func() error { var got trade; return hand.decode(enc, &got) }},
		{"decode goka style", func() error { _, err := goka.Decode(enc); return err }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := c.run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// By hand and by serde, the bytes are the same.
func TestByHandIsTheSame(t *testing.T) {
	server := httptest.NewServer(registrytest.New())
	t.Cleanup(server.Close)
	hand := newByHand(t, server.URL, must1(avro.SchemaOf[trade]()))
	v := someTrade()
	ours := must1(boundTrade(t).Append(nil, v))
	var got trade
	if err := hand.decode(ours, &got); err != nil || got.Symbol != v.Symbol || got.Tags[1] != v.Tags[1] {
		t.Errorf("ours by hand: %+v, %v", got, err)
	}
	theirs := must1(hand.encode(&v))
	back, err := boundTrade(t).Decode(theirs)
	if must(t, back, err).Symbol != v.Symbol || back.Tags[1] != v.Tags[1] {
		t.Errorf("by hand, read by ours: %+v", back)
	}
}
