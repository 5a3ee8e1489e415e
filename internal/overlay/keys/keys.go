// Package keys lays out the keys of stored state so that their bytes sort as what they mean.
//
// Everything of an app is in one database:
//
//	<task> 00 01 01 <name>                    a record of the task: positions, state time …
//	<task> 00 01 02 <store> 00 01 00 <name>   a record of a store: format, changelog position …
//	<task> 00 01 02 <store> 00 01 01 <key>    a row of the store
//
// Names are escaped (a zero byte becomes 00 ff) and ended by 00 01, so none is the beginning of another, and one range
// holds a task or a store with all that belongs to it: that is what an Ingest or a rebuild replaces.
// Task names are chosen by the engine and never change for the same state.
package keys

import "fmt"

// The byte behind a task's name, and behind a store's.
const (
	taskRecord  = 1
	taskStore   = 2
	storeRecord = 0
	storeRow    = 1
)

// Task is the prefix of everything that belongs to a task.
func Task(task string) []byte { return AppendBytes(nil, []byte(task)) }

// TaskRecord is the key of one of the task's own records.
func TaskRecord(task, name string) []byte { return append(append(Task(task), taskRecord), name...) }

// Store is the prefix of everything that belongs to a store of a task.
func Store(task, store string) []byte {
	return AppendBytes(append(Task(task), taskStore), []byte(store))
}

// StoreRecord is the key of one of the store's own records.
func StoreRecord(task, store, name string) []byte {
	return append(append(Store(task, store), storeRecord), name...)
}

// Rows is the prefix of the store's rows.
func Rows(task, store string) []byte { return append(Store(task, store), storeRow) }

// CutStore reads whose a key is: the task's name, and the store's, "" where it is one of the task's own records.
func CutStore(key []byte) (task, store string, err error) {
	name, rest, err := CutBytes(nil, key)
	if err != nil || len(rest) == 0 {
		return "", "", ErrMalformed
	}
	if rest[0] == taskRecord {
		return string(name), "", nil
	}
	of, _, err := CutBytes(nil, rest[1:])
	return string(name), string(of), err
}

// End is the first key behind all that begin with prefix. A prefix of 0xff bytes alone has no end and panics.
func End(prefix []byte) []byte {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] != 0xff {
			end := append([]byte(nil), prefix[:i+1]...)
			end[i]++
			return end
		}
	}
	panic(fmt.Sprintf("keys: prefix %x has no end", prefix))
}
