package stream_test

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/stream/streamtest"
)

// digestOf names a list shortly.
func digestOf(elements []string) string {
	h := fnv.New64a()
	for _, e := range elements {
		fmt.Fprintf(h, "%d %s;", len(e), e)
	}
	return fmt.Sprintf("%d:%x", len(elements), h.Sum64())
}

// listing does to a list what its records say, and emits what it has been.
func listing() *stream.Builder {
	b := stream.New("listing")
	b.Source(kafka.Source("in", serde.String, serde.String)).
		ProcessValues(func(p *stream.Processor[string, string, string]) func(stream.Record[string, string]) error {
			l := p.List("l", serde.String, stream.TTL(time.Hour))
			read := func(each func(at int)) (seen []string) {
				for e := range l.All() {
					each(len(seen))
					seen = append(seen, e)
				}
				return seen
			}
			return func(r stream.Record[string, string]) error {
				var seen []string
				word, rest, _ := strings.Cut(r.Value, " ")
				switch word {
				case "append":
					l.Append(strings.Split(rest, " ")...)
				case "refused": // leaves no trace
					l.Append(strings.Split(rest, " ")...)
					l.Clear()
					l.Append("x")
					return errNo
				case "clear":
					l.Clear()
				case "read":
					seen = read(func(int) {})
				case "clear-while-reading":
					seen = read(func(at int) {
						if at == 3 {
							l.Clear()
							l.Append(rest)
						}
					})
				case "append-while-reading":
					seen = read(func(at int) {
						if at < 3 {
							l.Append(rest)
						}
					})
				}
				p.Emit(r.Key, fmt.Sprint(digestOf(seen), " ", l.Len()))
				return nil
			}
		}, stream.Named("lists"), stream.OnError(stream.Skip)).
		To(kafka.Sink("out", serde.String, serde.String))
	return b
}

// A list is what a slice would be, whatever its elements' sizes, in memory or on disk, through checkpoints, crashes and refused records, and
// while it is read. A checkpoint now and then makes heads grow over several; most elements are small, some larger than a chunk.
func TestListsAreSlices(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 7))
			d := streamtest.New(t, listing(), streamtest.ManualCheckpoints(), streamtest.Config(func(c *stream.Config) { c.MemoryBytes = 1 << 20 }))
			in, out := d.In[string, string]("in"), d.Out[string, string]("out")
			model := map[string][]string{}
			var want []string
			element := func() string {
				e := fmt.Sprint("e", rnd.IntN(1e6))
				if rnd.IntN(20) == 0 {
					e += strings.Repeat("-", rnd.IntN(7000))
				}
				return e
			}
			for range 1500 {
				key := fmt.Sprint("k", rnd.IntN(6))
				had := model[key]
				var seen []string
				do := "read"
				switch n := rnd.IntN(100); {
				case n < 70:
					es := []string{element()}
					for rnd.IntN(3) == 0 {
						es = append(es, element())
					}
					do = "append " + strings.Join(es, " ")
					model[key] = append(had, es...)
				case n < 75:
					in.Send(key, "refused "+element()+" "+element())
					continue
				case n < 76:
					do, model[key] = "clear", nil
				case n < 77:
					e := element()
					do, seen = "clear-while-reading "+e, had
					if len(had) > 3 {
						model[key] = []string{e}
					}
				case n < 80:
					e := element()
					do, seen = "append-while-reading "+e, had
					model[key] = append(slices.Clip(had), slices.Repeat([]string{e}, min(3, len(had)))...)
				case n < 92:
					seen = had
				case n < 97:
					d.Checkpoint()
					continue
				default:
					d.Crash()
					continue
				}
				in.Send(key, do)
				want = append(want, fmt.Sprint(key, " ", digestOf(seen), " ", len(model[key])))
			}
			d.Checkpoint()
			expectInOrder(t, texts(out), want)
			d.Advance(2 * time.Hour) // all expire
			for k := range model {
				in.Send(k, "read")
			}
			d.Checkpoint()
			for _, got := range texts(out) {
				if !strings.HasSuffix(got, " "+digestOf(nil)+" 0") {
					t.Errorf("after its life a list is %s", got)
				}
			}
		})
	}
}

func expectInOrder(t *testing.T, got, want []string) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%d outputs, want %d", len(got), len(want))
	}
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Fatalf("output %d is %s, want %s", i, got[i], want[i])
		}
	}
}
