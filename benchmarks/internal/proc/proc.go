// Package proc runs a system under test as a process of its own and reads from the kernel what it costs: CPU seconds of
// the whole process, garbage collection and compilation included, and its greatest resident memory.
package proc

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A Process is a running system.
type Process struct {
	cmd    *exec.Cmd
	warm   chan struct{}
	exited chan error
	log    *os.File
}

// Start runs command with its standard error appended to logPath. Its standard output is read for the line "warm".
func Start(ctx context.Context, logPath string, command []string) (*Process, error) {
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		log.Close()
		return nil, err
	}
	p := &Process{cmd: cmd, warm: make(chan struct{}), exited: make(chan error, 1), log: log}
	go func() {
		warm := false
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if lines.Text() == "warm" && !warm {
				warm = true
				close(p.warm)
			}
			fmt.Fprintln(log, lines.Text())
		}
		p.exited <- cmd.Wait()
	}()
	return p, nil
}

// Warm waits until the system says that it has taken in its warm-up.
func (p *Process) Warm(ctx context.Context) error {
	select {
	case <-p.warm:
		return nil
	case err := <-p.exited:
		p.exited <- err
		return fmt.Errorf("ended before it was warm: %v; see %s", err, p.log.Name())
	case <-ctx.Done():
		return fmt.Errorf("not warm: %w; see %s", ctx.Err(), p.log.Name())
	}
}

// Alive says why the process has ended, nil while it runs.
func (p *Process) Alive() error {
	select {
	case err := <-p.exited:
		p.exited <- err
		return fmt.Errorf("ended: %v; see %s", err, p.log.Name())
	default:
		return nil
	}
}

// Stop ends the process: politely, and after ten seconds not.
func (p *Process) Stop() {
	defer p.log.Close()
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.exited:
	case <-time.After(10 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.exited
	}
}

// Kill ends the process as kill -9 does.
func (p *Process) Kill() {
	defer p.log.Close()
	_ = p.cmd.Process.Kill()
	<-p.exited
}

// CPU is the time that all threads have spent so far, in user and kernel mode.
func (p *Process) CPU() (time.Duration, error) { return cpu(p.cmd.Process.Pid) }

func cpu(pid int) (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// The name of the program is in parentheses and may hold anything; what follows is numbers: state is field 3, utime 14.
	_, rest, found := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	if !found || len(fields) < 13 {
		return 0, errors.New("/proc/PID/stat has an unknown form")
	}
	user, err1 := strconv.ParseInt(fields[11], 10, 64)
	system, err2 := strconv.ParseInt(fields[12], 10, 64)
	const tick = 10 * time.Millisecond // USER_HZ is 100 on every Linux that Go runs on
	return time.Duration(user+system) * tick, errors.Join(err1, err2)
}

// PeakMemory is the greatest resident size so far, in bytes.
func (p *Process) PeakMemory() (int64, error) { return p.status("VmHWM:") }

// Memory is the resident size now, in bytes.
func (p *Process) Memory() (int64, error) { return p.status("VmRSS:") }

func (p *Process) status(field string) (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if value, found := strings.CutPrefix(line, field); found {
			kb, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			return kb << 10, err
		}
	}
	return 0, errors.New("/proc/PID/status has no " + field)
}
