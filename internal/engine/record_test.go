package engine

import (
	"reflect"
	"testing"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/internal/task"
)

func sampleRecord() *taskRecord {
	return &taskRecord{
		n: 42,
		inputs: []inputRecord{
			{name: "clicks", position: "1:7", mark: task.Mark{W: -5, High: 1 << 40}},
			{name: "lines", position: "", mark: task.NewMark()},
		},
		handles: []handleRecord{{"files", connector.Handle("part-0001")}},
	}
}

func TestTaskRecordsReadWhatTheyWrite(t *testing.T) {
	want := sampleRecord()
	got, err := decodeRecord(want.append(nil))
	if err != nil || got.n != want.n || !reflect.DeepEqual(got.handles, want.handles) {
		t.Fatalf("got %+v %v", got, err)
	}
	for _, in := range want.inputs {
		m := got.mark(in.name)
		if got.position(in.name) != in.position || m.W != in.mark.W || m.High != in.mark.High {
			t.Errorf("input %s: got %q %+v", in.name, got.position(in.name), m)
		}
	}
	if got.position("other") != "" || len(got.handlesOf("other")) != 0 || len(got.handlesOf("files")) != 1 {
		t.Errorf("what is not there: %+v", got)
	}
}

// FuzzTaskRecord: whatever is stored, reading it ends with a record or an error; a prefix of a record is never one.
func FuzzTaskRecord(f *testing.F) {
	good := sampleRecord().append(nil)
	f.Add(good)
	f.Add([]byte{recordVersion, 0xff, 0xff, 0xff})
	for i := range good {
		if _, err := decodeRecord(good[:i]); err == nil {
			f.Errorf("the first %d of %d bytes are taken for a record", i, len(good))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := decodeRecord(b)
		if err == nil && r == nil {
			t.Error("neither a record nor an error")
		}
	})
}
