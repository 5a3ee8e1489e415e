package processtest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/weirstream/weir/internal/kafkatest"
	"github.com/weirstream/weir/state"
)

// The disk of the only member fills up while it counts: it ends by itself and says why, and says so again when it is started on the full disk. When
// there is room again it goes on as if nothing had been.
func TestFullDisk(t *testing.T) {
	w := newWorld(t)
	disk := smallDisk(t, 16<<20)
	a := w.memberOn("a", filepath.Join(disk, "a"))
	w.send()
	w.awaitCounted()
	free := fill(t, filepath.Join(disk, "ballast"), 1<<20)
	w.sendNew(60_000)
	a.ends(state.ErrDiskFull)
	a.start()
	a.ends(state.ErrDiskFull)
	free()
	a.start()
	w.send()
	w.finish(a)
}

// The disk of one of three members fills up: it ends by itself and says why, and the others have its tasks and count on, exactly. On the full disk it ends
// again, and they go on; with room it takes tasks as before.
func TestFullDiskOfOneOfThree(t *testing.T) {
	needGroup(t)
	w := newWorld(t)
	disk := smallDisk(t, 16<<20)
	a, others := w.memberOn("a", filepath.Join(disk, "a")), []*member{w.member("b"), w.member("c")}
	w.members(3)
	w.send()
	w.awaitCounted()
	w.works(a)
	free := fill(t, filepath.Join(disk, "ballast"), 256<<10)
	w.sendNew(120_000) // a quarter of them or more are its own
	a.ends(state.ErrDiskFull)
	w.members(2)
	w.send()
	w.awaitCounted()
	a.start()
	a.ends(state.ErrDiskFull)
	w.send()
	w.awaitCounted()
	free()
	a.start()
	w.works(a)
	w.send()
	w.finish(append(others, a)...)
}

// sendNew puts in each of so many new words once: every one is a row of state more.
func (w *world) sendNew(n int) {
	w.t.Helper()
	var records []*kafkatest.Record
	for i := range n {
		records = append(records, kafkatest.KV(fmt.Sprint(i), fmt.Sprint("new", w.single+i)))
	}
	w.broker.Produce(w.app+"-in", records...)
	w.single += n
}

// smallDisk is a file system of its own, of so many bytes.
func smallDisk(t *testing.T, bytes int) string {
	t.Helper()
	dir := t.TempDir()
	err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", bytes))
	if errors.Is(err, syscall.EPERM) && os.Getenv("CI") == "" {
		t.Skip("mounting a small disk needs root")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fill takes the room of a disk but so many bytes, until it is called off.
func fill(t *testing.T, path string, but int64) (free func()) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n, err := io.Copy(f, endless{})
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("filling the disk ends after %d bytes: %v", n, err)
	}
	if err := f.Truncate(max(0, n-but)); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

type endless struct{}

func (endless) Read(b []byte) (int, error) { return len(b), nil }

// A member whose disk has no room at all, or hardly any, when it starts for the first time says that the disk is full, whichever of its files was to be
// written. With room it begins.
func TestFirstStartOnAFullDisk(t *testing.T) {
	w := newWorld(t)
	disk := smallDisk(t, 16<<20)
	free := func() {}
	for _, left := range []int64{0, 4 << 10, 8 << 10, 12 << 10} { // a page for each file of the folder, before the database's
		free()
		free = fill(t, filepath.Join(disk, "ballast"), left)
		a := w.memberOn("a", filepath.Join(disk, fmt.Sprint("with", left)))
		a.ends(state.ErrDiskFull)
	}
	free()
	a := w.memberOn("a", filepath.Join(disk, "with0"))
	w.send()
	w.finish(a)
}
