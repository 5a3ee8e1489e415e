package pebblestore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// tableBytes is where Ingest begins a new table. Compactions cut tables to their own sizes later.
const tableBytes = 16 << 20

// Ingest replaces a range by sorted rows: it writes them to tables beside the database, which then takes the tables
// and drops what the range had, in one edit of its manifest.
func (d *db) Ingest(ctx context.Context, from, to []byte, sorted iter.Seq2[[]byte, []byte]) error {
	if err := d.health.err(); err != nil {
		return err
	}
	paths, err := d.buildTables(ctx, sorted)
	if err == nil {
		err = d.take(ctx, from, to, paths)
	}
	if err != nil {
		for _, p := range paths { // a crash leaves them to the next Open
			err = errors.Join(err, d.fs.Remove(p))
		}
		return fmt.Errorf("ingesting state: %w", named(err))
	}
	return nil
}

func (d *db) take(ctx context.Context, from, to []byte, paths []string) error {
	span := pebble.KeyRange{Start: from, End: to}
	return d.write(func() error {
		switch {
		case to == nil && len(paths) == 0:
			return nil
		case to == nil: // IngestAndExcise would do the same: a range without bounds is none to it
			return d.pebble.Ingest(ctx, paths) // what overlaps it in memory is flushed first
		case len(paths) == 0:
			return d.pebble.Excise(ctx, span)
		}
		_, err := d.pebble.IngestAndExcise(ctx, paths, nil, nil, span)
		return err
	})
}

func (d *db) buildTables(ctx context.Context, sorted iter.Seq2[[]byte, []byte]) (paths []string, err error) {
	t := tableWriter{db: d}
	for k, v := range sorted {
		if err = t.add(ctx, k, v); err != nil {
			break
		}
	}
	return t.paths, errors.Join(err, t.finish())
}

// A tableWriter writes rows to one table after the other.
type tableWriter struct {
	db    *db
	w     *sstable.Writer
	rows  int
	paths []string
}

func (t *tableWriter) add(ctx context.Context, key, value []byte) (err error) {
	if t.rows++; t.rows%1024 == 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		if t.w != nil && t.w.Raw().EstimatedSize() > tableBytes {
			if err := t.finish(); err != nil {
				return err
			}
		}
	}
	if t.w == nil {
		if err := t.begin(); err != nil {
			return err
		}
	}
	if value == nil {
		return t.w.Delete(key)
	}
	return t.w.Set(key, value)
}

func (t *tableWriter) begin() error {
	if err := t.db.fs.MkdirAll(t.db.unfinished(), 0o700); err != nil {
		return err
	}
	path := filepath.Join(t.db.unfinished(), fmt.Sprintf("%d.sst", t.db.ingest.Add(1)))
	f, err := t.db.fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	// As for any level but the lowest: there a deletion has nothing to hide and is written as one that can be skipped.
	opts := t.db.tables.MakeWriterOptions(0, t.db.pebble.TableFormat())
	t.w = sstable.NewWriter(objstorageprovider.NewFileWritable(f), opts)
	t.paths = append(t.paths, path)
	return nil
}

func (t *tableWriter) finish() error {
	if t.w == nil {
		return nil
	}
	w := t.w
	t.w = nil
	return w.Close()
}

// clearUnfinished removes the tables of an Ingest that a crash ended.
func (d *db) clearUnfinished() error { return d.fs.RemoveAll(d.unfinished()) }
