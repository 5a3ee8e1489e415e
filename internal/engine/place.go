package engine

import (
	"encoding/binary"
	"errors"
	"strconv"

	"github.com/weirstream/weir/internal/overlay/keys"
	"github.com/weirstream/weir/internal/wire"
)

// changelogRecord is the name under which a store keeps how far its changelog was applied.
const changelogRecord = "changelog"

// A storePlace is how far a store in the database is in its changelog.
type storePlace struct {
	offset int64
	time   int64  // when that was all there was, in ms: what was deleted later, its tombstones must tell
	topic  string // the topic's id, which changes when it is made anew
}

// changelogPlace encodes a place that a store is brought to, with the time when that was all there was.
func (s *session) changelogPlace(st Store, offset, when int64) []byte {
	b := binary.AppendVarint(binary.AppendUvarint(nil, uint64(offset)), when)
	return append(b, s.logOf(st).ID...)
}

// tombstones is how long a changelog keeps them after a compaction, in ms: state that is older may miss deletions. What a restore takes
// is part of it, so a tenth is left for that.
func tombstones(t wire.Topic) int64 {
	keep, err := strconv.ParseInt(t.Configs["delete.retention.ms"], 10, 64)
	if err != nil {
		keep = 24 * 60 * 60 * 1000 // Kafka's default, when the cluster does not say
	}
	return keep - keep/10
}

// changelogApplied is how far the database has a store's changelog.
func (s *session) changelogApplied(t taskRef, st Store) (at storePlace, err error) {
	_, err = s.base.db.Get(keys.StoreRecord(t.name(), st.Name, changelogRecord), func(v []byte) error {
		n, used := binary.Uvarint(v)
		if used <= 0 {
			return errors.New("the record of the changelog's position is damaged")
		}
		at.offset = int64(n)
		var more int
		if at.time, more = binary.Varint(v[used:]); more <= 0 {
			return errors.New("the record of the changelog's position is damaged")
		}
		at.topic = string(v[used+more:])
		return nil
	})
	return at, err
}
