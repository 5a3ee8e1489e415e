package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// kills is how often the app is killed on its way.
const kills = 4

// withCrashes runs the app as a process of its own, kills it at random moments, and starts it again on the same state.
func withCrashes(ctx context.Context, o options, lines int64, progress io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	app := &victim{o: o, ctx: ctx}
	if err := app.start(); err != nil {
		return err
	}
	killed := 0
	var failed error
	next := nextKill(0, lines)
	err := watch(ctx, o.brokers, lines, progress, func(done int64) {
		if killed < kills && done >= next {
			killed++
			fmt.Fprintf(progress, "\nkill -9 at %d lines committed (%d of %d)\n", done, killed, kills)
			failed = errors.Join(failed, app.kill(), app.start())
			next = nextKill(done, lines)
		}
		if failed != nil {
			cancel()
		}
	})
	return errors.Join(failed, err, app.stop())
}

// nextKill is after how many lines the next kill comes: somewhere in the next fifth.
func nextKill(done, lines int64) int64 { return done + 1 + rand.Int64N(max(1, lines/(kills+1))) }

// A victim is the app's process.
type victim struct {
	o   options
	ctx context.Context
	cmd *exec.Cmd
}

func (v *victim) start() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	v.cmd = exec.CommandContext(v.ctx, self, "-worker", "-brokers", strings.Join(v.o.brokers, ","), "-state", v.o.dir,
		"-partitions", strconv.Itoa(v.o.partitions), "-interval", v.o.interval.String())
	v.cmd.Stdout, v.cmd.Stderr = os.Stderr, os.Stderr
	return v.cmd.Start()
}

func (v *victim) kill() error {
	if err := v.cmd.Process.Kill(); err != nil {
		return err
	}
	_ = v.cmd.Wait() // it says that it was killed
	return nil
}

// stop ends the app as an operator would, and waits for its last checkpoint.
func (v *victim) stop() error {
	if err := v.cmd.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	timer := time.AfterFunc(20*time.Second, func() { _ = v.cmd.Process.Kill() })
	defer timer.Stop()
	err := v.cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGINT {
		return nil // it had only just been started, and did not listen yet: there is nothing it could have left undone
	}
	return err
}
