package statedir

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirstream/weir/state"
)

// holdEnv makes this test binary a second process that takes the folder named in it and waits.
const holdEnv = "STATEDIR_HOLD"

func TestMain(m *testing.M) {
	path := os.Getenv(holdEnv)
	if path == "" {
		os.Exit(m.Run())
	}
	if _, err := Open(path); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("held")
	_, _ = io.Copy(io.Discard, os.Stdin) // until the parent ends or kills us
}

func TestSecondProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "app")
	other := exec.CommandContext(t.Context(), os.Args[0])
	other.Env = append(os.Environ(), holdEnv+"="+path)
	in, err := other.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := other.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "held\n" {
		t.Fatalf("the other process says %q", line)
	}
	_, err = Open(path)
	if !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), fmt.Sprintf("process %q", fmt.Sprint(other.Process.Pid))) {
		t.Errorf("beside a process that has it: %v", err)
	}
	if err := other.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = other.Wait() // its error is that it was killed
	d, err := Open(path)
	if err != nil {
		t.Fatalf("after the other was killed: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

func TestTwiceInOneProcess(t *testing.T) {
	path := t.TempDir()
	d, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); !errors.Is(err, ErrInUse) {
		t.Errorf("a second time: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if d, err = Open(path); err != nil {
		t.Fatalf("after Close: %v", err)
	}
	d.Close()
}

func TestInstanceIsKept(t *testing.T) {
	path := t.TempDir()
	var ids []string
	for range 2 {
		d, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			id, err := d.Instance()
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, id)
		}
		d.Close()
	}
	for _, id := range ids {
		if id != ids[0] || len(id) != 12 {
			t.Errorf("ids %q", ids)
		}
	}
}

func TestOtherFormat(t *testing.T) {
	path := t.TempDir()
	if err := os.WriteFile(filepath.Join(path, "format"), []byte("weir state 7\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Open(path)
	if !errors.Is(err, state.ErrFormat) || !strings.Contains(err.Error(), "weir state 7") {
		t.Errorf("Open: %v", err)
	}
	if err := os.WriteFile(filepath.Join(path, "format"), []byte(format), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := Open(path)
	if err != nil {
		t.Fatalf("the failed Open kept the lock: %v", err)
	}
	d.Close()
}

// TestNotWritable puts a file where the folder should be, which stops even root.
func TestNotWritable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{path, filepath.Join(path, "app")} {
		if _, err := Open(p); !errors.Is(err, ErrNotWritable) || !strings.Contains(err.Error(), path) {
			t.Errorf("Open(%s): %v", p, err)
		}
	}
}
