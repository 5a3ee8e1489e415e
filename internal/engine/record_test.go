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
			{name: "clicks", position: "1:7", mark: task.Mark{W: -5, High: 1 << 40}, topics: []topicID{{"clicks", "id-1"}}},
			{name: "lines", position: "", mark: task.NewMark()},
		},
		handles: []handleRecord{{"files", connector.Handle("part-0001")}},
		logs:    map[uint32]string{7: "id-2", 1 << 31: "id-3"},
	}
}

func TestTaskRecordsReadWhatTheyWrite(t *testing.T) {
	want := sampleRecord()
	got, err := decodeRecord(want.append(nil))
	if err != nil || got.n != want.n || !reflect.DeepEqual(got.logs, want.logs) || !reflect.DeepEqual(got.handles, want.handles) {
		t.Fatalf("got %+v %v", got, err)
	}
	for _, in := range want.inputs {
		m := got.mark(in.name)
		if got.position(in.name) != in.position || m.W != in.mark.W || m.High != in.mark.High {
			t.Errorf("input %s: got %q %+v", in.name, got.position(in.name), m)
		}
	}
	if !reflect.DeepEqual(got.inputs[0].topics, want.inputs[0].topics) || got.inputs[1].topics != nil {
		t.Errorf("ids: %+v", got.inputs)
	}
	if got.position("other") != "" || len(got.handlesOf("other")) != 0 || len(got.handlesOf("files")) != 1 {
		t.Errorf("what is not there: %+v", got)
	}
}

// Records that older versions have written are read.
func TestTaskRecordsOfOlderVersions(t *testing.T) {
	for version, text := range map[string]string{
		"1": "\x01\x2a\x01\x06clicks\x031:7\x09\x0a\x00",
		"2": "\x02\x2a\x01\x06clicks\x031:7\x09\x0a\x00\x01\x01w\x06",
		"4": "\x04\x2a\x01\x06clicks\x031:7\x09\x0a\x01\x01c\x02id\x00\x03\x01w\x06\x01v\x06\x01u\x06\x01\x07\x02id",
		"3": "\x03\x2a\x01\x06clicks\x031:7\x09\x0a\x01\x01c\x02id\x00\x02\x01w\x06\x01v\x06",
	} {
		r, err := decodeRecord([]byte(text))
		if err != nil || r.n != 42 || r.position("clicks") != "1:7" || r.mark("clicks").W != -5 || len(r.nodes) != int(version[0]-'1') {
			t.Errorf("version %s: %+v, %v", version, r, err)
		}
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
