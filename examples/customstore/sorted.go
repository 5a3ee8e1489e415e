package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"

	"github.com/weirstream/weir/state"
)

// Sorted is a state.Backend for small states: all rows in memory, and every batch in a log that is read at start.
type Sorted struct{}

// Open reads the log. It grows for ever, which a real store would not let it.
func (Sorted) Open(_ context.Context, dir string) (state.DB, error) {
	file, err := os.OpenFile(filepath.Join(dir, "log"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	d := &db{log: file}
	d.rows.Store(&rows{})
	if err := d.replay(); err != nil {
		return nil, fmt.Errorf("read %s: %w", file.Name(), errors.Join(err, file.Close()))
	}
	return d, nil
}

// A row is a key and its value.
type row struct{ k, v []byte }

// rows are one version of the database, sorted and never changed: a reader holds its version, and no lock.
type rows []row

func (rs rows) find(k []byte) (int, bool) {
	return slices.BinarySearchFunc(rs, k, func(r row, k []byte) int { return bytes.Compare(r.k, k) })
}

type db struct {
	rows atomic.Pointer[rows]
	log  *os.File
}

// Get implements state.DB, as do the others.
func (d *db) Get(k []byte, use func([]byte) error) (bool, error) {
	rs := *d.rows.Load()
	i, ok := rs.find(k)
	if !ok {
		return false, nil
	}
	return true, use(rs[i].v)
}

func (d *db) Scan(from, to []byte, use func(k, v []byte) bool) error {
	rs := *d.rows.Load()
	for i, _ := rs.find(from); i < len(rs) && bytes.Compare(rs[i].k, to) < 0; i++ {
		if !use(rs[i].k, rs[i].v) {
			return nil
		}
	}
	return nil
}

// Apply logs the batch before anybody sees it: what was seen and then lost in a crash would be worse than lost.
func (d *db) Apply(b *state.Batch, sync bool) error {
	edits := editsOf(b)
	if _, err := d.log.Write(edits.encode()); err != nil {
		return err
	}
	if sync {
		if err := d.log.Sync(); err != nil {
			return err
		}
	}
	d.publish(edits)
	return nil
}

func (d *db) Close() error { return errors.Join(d.log.Sync(), d.log.Close()) }

// publish makes the next version. It copies all rows, so it is for few of them.
func (d *db) publish(e edits) {
	next := slices.Clone(*d.rows.Load())
	for _, r := range e.Ranges {
		i, _ := next.find(r[0])
		j, _ := next.find(r[1])
		next = slices.Delete(next, i, max(i, j))
	}
	for _, w := range e.Writes {
		i, there := next.find(w.Key)
		switch {
		case w.Deleted && there:
			next = slices.Delete(next, i, i+1)
		case w.Deleted:
		case there:
			next[i].v = w.Value
		default:
			next = slices.Insert(next, i, row{w.Key, w.Value})
		}
	}
	d.rows.Store(&next)
}
