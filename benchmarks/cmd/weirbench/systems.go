package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weirstream/weir/benchmarks/internal/broker"
)

// A system is something that can do a job. Its command takes the arguments of a job as KEY=VALUE.
type system struct {
	name    string
	command []string
	extra   []string // arguments that make this one of several variants
	decode  broker.Decoder
	loose   bool // at-least-once only: duplicates are no error
}

// heap is what JVMs may use when a job does not limit memory, and smallHeap when it does: state of a peer on RocksDB is outside.
const heap, smallHeap = "-Xmx4g", "-Xmx1g"

// sized is the command for a job that gives state so many bytes, 0 for no limit.
func (s system) sized(memory int64) []string {
	command := slices.Clone(s.command)
	if i := slices.Index(command, heap); i >= 0 && memory > 0 {
		command[i] = smallHeap
	}
	return command
}

// javaOptions open what Flink reaches into.
func javaOptions() []string {
	opts := []string{heap, "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"}
	for _, p := range []string{"lang", "util", "net", "io", "nio", "util.concurrent"} {
		opts = append(opts, "--add-opens=java.base/java."+p+"=ALL-UNNAMED")
	}
	return opts
}

// build makes the wanted systems' programs and returns them by name.
func build(ctx context.Context, root, bin string, want func(name string) bool) (map[string]system, error) {
	all := make(map[string]system)
	add := func(s system) { all[s.name] = s }
	if want("weir") {
		program, err := buildGo(ctx, root, bin, "./cmd/weirprog")
		if err != nil {
			return nil, err
		}
		add(system{name: "weir", command: []string{program}, decode: broker.Ordered})
		add(system{name: "weir-local", command: []string{program}, extra: []string{"exchange=local"}, decode: broker.Ordered})
	}
	if want("goka") {
		program, err := buildGo(ctx, root, bin, "./peers/goka")
		if err != nil {
			return nil, err
		}
		add(system{name: "goka", command: []string{program}, decode: broker.Decimal, loose: true})
	}
	for _, name := range []string{"kstreams", "flink"} {
		if !want(name) {
			continue
		}
		program, err := buildJava(ctx, root, name)
		if err != nil {
			return nil, err
		}
		add(system{name: name, command: program, decode: broker.BigEndian})
		if name == "flink" {
			add(system{name: "flink-rocksdb", command: program, extra: []string{"state=rocksdb"}, decode: broker.BigEndian})
		}
	}
	return all, nil
}

func buildGo(ctx context.Context, root, bin, pkg string) (string, error) {
	program := filepath.Join(bin, filepath.Base(pkg))
	cmd := exec.CommandContext(ctx, "go", "build", "-o", program, pkg)
	cmd.Dir = filepath.Join(root, "benchmarks")
	cmd.Env = append(os.Environ(), "GOTOOLCHAIN=auto")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building %s: %w\n%s", pkg, err, out)
	}
	return program, nil
}

func buildJava(ctx context.Context, root, name string) ([]string, error) {
	dir := filepath.Join(root, "benchmarks", "peers", name)
	cmd := exec.CommandContext(ctx, "mvn", "-q", "-B", "-Dstyle.color=never", "compile", "dependency:copy-dependencies",
		"-DoutputDirectory=target/lib")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building %s: %w\n%s", name, err, out)
	}
	classes := filepath.Join(dir, "target", "classes") + ":" + filepath.Join(dir, "target", "lib", "*")
	return append(append([]string{"java"}, javaOptions()...), "-cp", classes, "weirstream.Peer"), nil
}

// peerOf is the program that a system's name stands for.
func peerOf(name string) string {
	name, _, _ = strings.Cut(name, "-")
	return name
}
