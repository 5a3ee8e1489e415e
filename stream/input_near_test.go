package stream

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/internal/task"
)

// numbered is a batch of n records whose keys are their places.
type numberedBatch struct {
	connector.Values[int, []byte]
	n      int
	bad    int  // a place whose record cannot be decoded
	fine   bool // it can be by now
	panics int  // a place whose decoder does; 0: none
	seen   []int
}

func (b *numberedBatch) Len() int { return b.n }

func (b *numberedBatch) Decode(i int, r *Record[int, []byte]) error {
	b.seen = append(b.seen, i)
	if b.panics > 0 && i == b.panics {
		panic("a decoder's")
	}
	if i == b.bad && !b.fine {
		return errors.New("not a record")
	}
	r.Key, r.Value, r.NoKey, r.Time = i, []byte{byte(i)}, i == 3, time.UnixMilli(int64(1000+i))
	return nil
}

// Records are told of once, before the first of them is processed, those without a key or a meaning are not; nobody looks into the next batch.
func TestRecordsThatComeNextAreToldOf(t *testing.T) {
	b := &numberedBatch{n: 50, bad: 5}
	var told []string
	n := nearby[int, []byte]{lookout: lookout[int]{ahead: func(ks []int, times []int64) {
		told = append(told, fmt.Sprint(ks[0], len(ks), times[len(times)-1], " decoded ", len(b.seen)))
	}}}
	for i := range 50 {
		r := n.at(&sourceBatch[int, []byte]{b}, i, false)
		if (r.err != nil) != (i == 5) || r.err == nil && (r.Key != i || r.time != int64(1000+i)) {
			t.Fatalf("record %d: %+v", i, r)
		}
	}
	if want := []string{"0 4 1004 decoded 6", "6 32 1037 decoded 39", "38 12 1049 decoded 51"}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
	if !slices.IsSorted(b.seen) { // the bad one twice: its failure ahead of its turn says nothing
		t.Errorf("decoded %v", b.seen)
	}
	n.drop()
	if r := n.at(&sourceBatch[int, []byte]{b}, 0, false); r.Key != 0 || len(b.seen) != 51+6 {
		t.Errorf("in the next batch: %+v, %d decoded", r, len(b.seen))
	}
}

// A record that nobody looks ahead of is decoded when it is its turn.
func TestRecordsAreDecodedInTheirTurn(t *testing.T) {
	b := &numberedBatch{n: 50, bad: -1}
	var n nearby[int, []byte]
	for i := range 50 {
		if r := n.at(&sourceBatch[int, []byte]{b}, i, false); r.Key != i || len(b.seen) != i+1 {
			t.Fatalf("record %d: %+v, %d decoded", i, r, len(b.seen))
		}
	}
}

// What the chain has changed of a record before it failed is not there when the record is given to it again.
func TestRecordGivenAgainIsAsItWas(t *testing.T) {
	b := &numberedBatch{n: 50, bad: -1}
	n := nearby[int, []byte]{lookout: lookout[int]{ahead: func([]int, []int64) {}}}
	batch := &sourceBatch[int, []byte]{b}
	n.at(batch, 7, false).Value[0] = 99
	if r := n.at(batch, 7, true); r.Value[0] != 7 {
		t.Errorf("its value is %d", r.Value[0])
	}
}

// A failure ahead of a record's turn may have been an outage. It is asked about in its turn, and again when it comes back.
func TestFailureIsTriedAgain(t *testing.T) {
	b := &numberedBatch{n: 50, bad: 5}
	n := nearby[int, []byte]{lookout: lookout[int]{ahead: func([]int, []int64) {}}}
	batch := &sourceBatch[int, []byte]{b}
	n.at(batch, 0, false)
	if r := n.at(batch, 5, false); r.err == nil {
		t.Error("it is decoded")
	}
	b.fine = true
	if r := n.at(batch, 5, true); r.err != nil || r.Key != 5 {
		t.Errorf("decoded again: %+v", r)
	}
}

// Where a source gives what it cannot decode no time, it is that of the record before, or now.
func TestTimeOfWhatCannotBeDecoded(t *testing.T) {
	in := &input[int, []byte]{task: task.New("t", 0)}
	in.task.Clock(5000)
	var times []int64
	in.reject = func(c *task.Context, _ error, _ []byte) { times = append(times, c.Time) }
	in.Push(&sourceBatch[int, []byte]{&numberedBatch{n: 1, bad: 0}})
	in.Push(&sourceBatch[int, []byte]{&numberedBatch{n: 2, bad: 1}})
	in.next = func(*task.Context, int, []byte) {}
	in.Run(task.MaxTime, 10)
	if want := []int64{5000, 1000}; !slices.Equal(times, want) {
		t.Errorf("rejected at %v, want %v", times, want)
	}
}

// A decoder that panics does so when it is the record's turn: those before it are processed.
func TestDecoderPanicsInItsTurn(t *testing.T) {
	b := &numberedBatch{n: 50, bad: -1, panics: 9}
	n := nearby[int, []byte]{lookout: lookout[int]{ahead: func([]int, []int64) {}}}
	batch := &sourceBatch[int, []byte]{b}
	for i := range 9 {
		if r := n.at(batch, i, false); r.err != nil || r.Key != i {
			t.Errorf("record %d: %+v", i, r)
		}
	}
	defer func() {
		if p := recover(); p != "a decoder's" {
			t.Errorf("in its turn: %v", p)
		}
	}()
	n.at(batch, 9, false)
	t.Error("it is decoded")
}

// A key whose encoder panics is the fault of its record, when that is processed, and of nobody before.
func TestLookingAheadDoesNotFail(t *testing.T) {
	l := lookout[int]{ahead: func([]int, []int64) { panic("an encoder's") }}
	l.note(1, 1)
	l.tell()
	if l.ahead != nil || len(l.ks) != 0 {
		t.Errorf("it goes on: %d noted", len(l.ks))
	}
}
