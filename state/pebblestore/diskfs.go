package pebblestore

import (
	"path/filepath"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// A diskFS keeps from Pebble those errors of the disk that it does not return: where a log, a manifest or a folder cannot be
// written it panics, now and then with its locks in a state that ends the process whoever recovers, and a failed flush it
// repeats without a pause. Here the failure becomes the database's, and the goroutine that met it is parked, as in health.Fatalf.
type diskFS struct {
	vfs.FS
	health *health
}

// Create is vfs.FS's, as are the others.
func (d *diskFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := d.FS.Create(name, c)
	return d.made(name, f, err)
}

func (d *diskFS) ReuseForWrite(oldname, newname string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := d.FS.ReuseForWrite(oldname, newname, c)
	return d.made(newname, f, err)
}

func (d *diskFS) OpenDir(name string) (vfs.File, error) {
	f, err := d.FS.OpenDir(name)
	return d.made(name, f, err)
}

func (d *diskFS) made(name string, f vfs.File, err error) (vfs.File, error) {
	if err != nil && filepath.Ext(name) == ".log" {
		d.health.park(named(err))
	}
	if d.space(err) != nil {
		return nil, err
	}
	return &diskFile{f, d.health}, nil
}

func (d *diskFS) Link(oldname, newname string) error   { return d.space(d.FS.Link(oldname, newname)) }
func (d *diskFS) Rename(oldname, newname string) error { return d.space(d.FS.Rename(oldname, newname)) }

// space does not return from a full disk. Other errors of these calls may mean nothing to Pebble: a file that is there already.
func (d *diskFS) space(err error) error {
	if err != nil && vfs.IsNoSpaceError(err) {
		d.health.park(named(err))
	}
	return err
}

// A diskFile is a file or folder that Pebble writes. An error of that is never expected.
type diskFile struct {
	vfs.File
	health *health
}

func (f *diskFile) check(err error) error {
	if err != nil {
		f.health.park(named(err))
	}
	return nil
}

func (f *diskFile) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	return n, f.check(err)
}

func (f *diskFile) WriteAt(p []byte, at int64) (int, error) {
	n, err := f.File.WriteAt(p, at)
	return n, f.check(err)
}

func (f *diskFile) Sync() error     { return f.check(f.File.Sync()) }
func (f *diskFile) SyncData() error { return f.check(f.File.SyncData()) }

func (f *diskFile) SyncTo(length int64) (fullSync bool, err error) {
	fullSync, err = f.File.SyncTo(length)
	return fullSync, f.check(err)
}
