// Package statedir is an app's folder on disk: one process at a time has it, it knows which instance of the app it belongs to,
// and it says in which layout it was written.
//
//	lock       held while a process uses the folder; names that process
//	format     the layout's version, first of all to be read
//	instance   the id that this copy of the app keeps over restarts
//	db/        the backend's
//	registry/  schemas that the registry's client has fetched
package statedir

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/weirstream/weir/state"
)

// Errors of Open, for errors.Is. A folder of another layout is a state.ErrFormat, one on a full disk a state.ErrDiskFull.
var (
	ErrInUse       = errors.New("state directory is in use by another process")
	ErrNotWritable = errors.New("state directory is not writable")
)

// format is the content of the format file. Another layout gets another number, and code that reads this one.
const format = "weir state 1\n"

// A Dir is the folder of one app, locked by this process.
type Dir struct {
	path string
	lock *os.File
}

// Open makes the folder where it is missing, locks it, and checks its format.
func Open(path string) (*Dir, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, unwritten(err)
	}
	lock, err := acquire(filepath.Join(path, "lock"))
	if err != nil {
		return nil, err
	}
	d := &Dir{path, lock}
	if err := d.prepare(); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return d, nil
}

// acquire takes the lock, which ends with the process whatever ends it.
func acquire(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, unwritten(err)
	}
	if err := lock(f); err != nil {
		owner, _ := os.ReadFile(path) // for the message only
		err = fmt.Errorf("%w: %s is locked by process %q (%w); give each process a StateDir of its own", ErrInUse, path,
			strings.TrimSpace(string(owner)), err)
		return nil, errors.Join(err, f.Close())
	}
	if err := errors.Join(f.Truncate(0), writeAt(f, fmt.Sprintln(os.Getpid()))); err != nil {
		return nil, errors.Join(unwritten(err), f.Close())
	}
	return f, nil
}

// unwritten names what keeps the folder from being written.
func unwritten(err error) error {
	if noSpace(err) {
		return fmt.Errorf("%w: %w", state.ErrDiskFull, err)
	}
	return fmt.Errorf("%w: %w", ErrNotWritable, err)
}

func writeAt(f *os.File, s string) error {
	_, err := f.WriteAt([]byte(s), 0)
	return err
}

func (d *Dir) prepare() error {
	stored, err := d.read("format")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := d.write("format", format); err != nil {
			return err
		}
	case err != nil:
		return err
	case stored != format:
		return fmt.Errorf("%w: %s was written as %q, this program writes %q", state.ErrFormat, d.path, strings.TrimSpace(stored),
			strings.TrimSpace(format))
	}
	if err := os.MkdirAll(d.DB(), 0o700); err != nil {
		return unwritten(err)
	}
	return nil
}

// DB is the folder for the backend.
func (d *Dir) DB() string { return filepath.Join(d.path, "db") }

// Instance returns the id that this folder keeps, made at random the first time.
func (d *Dir) Instance() (string, error) {
	id, err := d.read("instance")
	if err == nil {
		if id = strings.TrimSpace(id); id == "" {
			return "", fmt.Errorf("%s is empty; remove it to get a new id", filepath.Join(d.path, "instance"))
		}
		return id, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	id = strings.ToLower(rand.Text()[:12])
	return id, d.write("instance", id+"\n")
}

// maxFile bounds what is read: these files have a line each.
const maxFile = 4096

func (d *Dir) read(name string) (string, error) {
	path := filepath.Join(d.path, name)
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if info.Size() > maxFile {
		return "", fmt.Errorf("%s has %d bytes; it is none of ours", path, info.Size())
	}
	b, err := os.ReadFile(path)
	return string(b), err
}

// write makes a file that is there whole after a crash, or not at all.
func (d *Dir) write(name, content string) error {
	path := filepath.Join(d.path, name)
	f, err := os.CreateTemp(d.path, name+".new")
	if err != nil {
		return unwritten(err)
	}
	_, err = f.WriteString(content)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return unwritten(errors.Join(err, os.Remove(f.Name())))
	}
	return syncDir(d.path)
}

// Close gives the folder up.
func (d *Dir) Close() error { return d.lock.Close() }
