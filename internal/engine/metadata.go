package engine

import (
	"cmp"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weirstream/weir/internal/task"
)

// metadata is what a committed position says beside its offset: text, for that is what Kafka takes, and less than its 4,096 bytes.
//
//	version;checkpoint;watermark;latest time;changelogs' next offsets;topic's id;upstream tasks' watermarks
//
// Version 1 has no topic's id, version 2 none of changelogs. Lists have commas. An offset is behind the tag of its store, and before the id of its
// changelog. Upstream watermarks are relative to the input's own, empty when there is none yet, and end with i or e when that task is idle or
// has ended.
type metadata struct {
	n          uint64
	mark       task.Mark
	changelogs targets
	logs       map[uint32]string // the ids of the changelogs' topics that are known, as changelogIDs has them
	topic      string            // the id of the topic that the position is in; "" when it was not known
	upstream   []task.Mark
}

// targets are places in changelogs by the tag of their store.
type targets map[uint32]int64

// storeTag is a store's name in few bytes.
func storeTag(name string) uint32 { return crc32.ChecksumIEEE([]byte(name)) }

// maxMetadata leaves upstream watermarks out of what would be too long otherwise, which takes hundreds of upstream tasks: a reader that
// starts again then waits for each of them to say something. Before that go the ids of changelogs, which takes dozens of stores.
const maxMetadata = 4000

func (m metadata) String() string {
	text := m.head(m.logs)
	if len(text) > maxMetadata {
		text = m.head(nil)
	}
	var b strings.Builder
	b.WriteString(text)
	for i, u := range m.upstream {
		if i > 0 {
			b.WriteByte(',')
		}
		if u.W != task.MinTime {
			b.WriteString(strconv.FormatInt(u.W-m.base(), 10))
		}
		if u.Idle {
			b.WriteByte('i')
		}
		if u.Ended {
			b.WriteByte('e')
		}
	}
	if b.Len() > maxMetadata {
		return text
	}
	return b.String()
}

// head is all but upstream watermarks.
func (m metadata) head(logs map[uint32]string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "3;%d;%d;%d;", m.n, m.mark.W, m.mark.High)
	for i, tag := range slices.Sorted(maps.Keys(m.changelogs)) {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%x=%d", tag, m.changelogs[tag])
		if id := logs[tag]; id != "" {
			b.WriteString(":" + id)
		}
	}
	fmt.Fprintf(&b, ";%s;", escapeID.Replace(m.topic))
	return b.String()
}

// escapeID keeps an id, of which nothing is known but that it is text, from ending its field.
var escapeID = strings.NewReplacer(";", "_", ",", "_")

// saysAnew reports whether one position's metadata differs from another's in more than the number of its checkpoint: an app that has nothing
// to do commits nothing.
func saysAnew(before, now string) bool {
	_, before, _ = cutNumber(before)
	_, now, _ = cutNumber(now)
	return before != now
}

// cutNumber cuts the checkpoint's number out.
func cutNumber(text string) (n, rest string, ok bool) {
	_, text, _ = strings.Cut(text, ";")
	return strings.Cut(text, ";")
}

// base is what upstream watermarks are relative to. Differences wrap around and back.
func (m metadata) base() int64 {
	if m.mark.W == task.MinTime {
		return 0
	}
	return m.mark.W
}

func parseMetadata(text string) (m metadata, err error) {
	m.mark = task.NewMark()
	if text == "" {
		return m, nil // committed by someone else: an operator's reset has no metadata
	}
	f := strings.Split(text, ";")
	switch {
	case len(f) == 7 && (f[0] == "2" || f[0] == "3"):
		m.topic = f[5]
	case len(f) == 6 && f[0] == "1":
	default:
		return m, fmt.Errorf("position metadata %q is of another version", text)
	}
	m.n, err = strconv.ParseUint(f[1], 10, 64)
	number := func(s string) (v int64) {
		if err == nil {
			v, err = strconv.ParseInt(s, 10, 64)
		}
		return v
	}
	m.mark.W, m.mark.High = number(f[2]), number(f[3])
	if f[4] != "" {
		m.changelogs = targets{}
		for o := range strings.SplitSeq(f[4], ",") {
			tag, offset, _ := strings.Cut(o, "=")
			offset, id, known := strings.Cut(offset, ":")
			n, bad := strconv.ParseUint(tag, 16, 32)
			if known && id != "" {
				if m.logs == nil {
					m.logs = map[uint32]string{}
				}
				m.logs[uint32(n)] = id
			}
			err = cmp.Or(err, bad)
			m.changelogs[uint32(n)] = number(offset)
		}
	}
	if last := f[len(f)-1]; last != "" {
		for u := range strings.SplitSeq(last, ",") {
			mark := task.NewMark()
			u, mark.Ended = strings.CutSuffix(u, "e")
			u, mark.Idle = strings.CutSuffix(u, "i")
			if u != "" {
				mark.W = number(u) + m.base()
				mark.High = mark.W
			}
			m.upstream = append(m.upstream, mark)
		}
	}
	if err != nil {
		err = fmt.Errorf("position metadata %q: %w", text, err)
	}
	return m, err
}
