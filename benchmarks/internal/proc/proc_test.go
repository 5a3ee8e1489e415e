package proc

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

func TestCPUAndWarmth(t *testing.T) {
	sh, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal(err)
	}
	p, err := Start(t.Context(), filepath.Join(t.TempDir(), "log"), []string{sh, "-c",
		`for ((i = 0; i < 100000; i++)); do :; done; echo noise; echo warm; read -t 60 <> <(:)`})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Warm(t.Context()); err != nil {
		t.Fatal(err)
	}
	used, err := p.CPU()
	if err != nil || used < 10*time.Millisecond {
		t.Errorf("a hundred thousand turns of a loop took %v of CPU: %v", used, err)
	}
	if peak, err := p.PeakMemory(); err != nil || peak < 1<<20 {
		t.Errorf("peak memory %d: %v", peak, err)
	}
	if err := p.Alive(); err != nil {
		t.Error(err)
	}
	p.Stop()
	if own, err := cpu(os.Getpid()); err != nil || own < 0 {
		t.Errorf("own CPU %v: %v", own, err)
	}
}

func TestEndingTooEarlyIsAnError(t *testing.T) {
	p, err := Start(t.Context(), filepath.Join(t.TempDir(), "log"), []string{"/bin/false"})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Warm(t.Context()); err == nil {
		t.Error("a program that failed was called warm")
	}
	p.Stop()
}
