package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/weirstream/weir/benchmarks/internal/broker"
	"github.com/weirstream/weir/benchmarks/internal/report"
)

// limits measures what no program on this machine gets past: copying a record's bytes, a cache miss, an fsync, and what Kafka's own
// performance tests take for writing and reading the same records.
func limits(ctx context.Context, args []string) error {
	c, f, err := newInvocation("limits")
	if err != nil {
		return err
	}
	records := f.Int("records", 5_000_000, "records of 100 bytes that Kafka's tests write and read")
	syncs := f.Int("syncs", 500, "how often a file is written and synced")
	if err := c.parse(f, args, map[string]string{"records": "50000", "syncs": "20"}); err != nil {
		return err
	}
	memory := report.Group{Name: "memory", Unit: "ns", Rows: []report.Row{{System: "copying 100 bytes"}, {System: "reading a word of 1 GiB at random"}}}
	disk := report.Group{Name: "disk", Unit: "µs at p50", Rows: []report.Row{{System: "4 KiB appended and synced"}}}
	for range c.rounds {
		memory.Rows[0].Runs = append(memory.Rows[0].Runs, copying())
		memory.Rows[1].Runs = append(memory.Rows[1].Runs, missing())
		run, err := syncing(*syncs)
		if err != nil {
			return err
		}
		disk.Rows[0].Runs = append(disk.Rows[0].Runs, run)
	}
	kafka, err := performance(ctx, c, *records)
	if err != nil {
		return err
	}
	return c.finish(&report.Suite{When: time.Now().UTC(), Machine: report.ThisMachine().WithJava(), Groups: []report.Group{memory, disk, kafka},
		Notes: []string{fmt.Sprintf("Kafka's ProducerPerformance (acks all, linger 20 ms, batches of 128 KiB, 4 partitions) and ConsumerPerformance over %d records; "+
			"CPU of the whole client process, its start included", *records)}}, "What the machine and the broker give")
}

// copying copies more than any cache holds.
func copying() report.Run {
	from, to := make([]byte, 256<<20), make([]byte, 256<<20)
	copy(to, from) // the kernel hands out pages at the first touch
	const times = 8
	began := time.Now()
	for range times {
		copy(to, from)
	}
	took := time.Since(began)
	return report.Run{Cost: float64(took.Nanoseconds()) / float64(times*len(from)) * 100, More: map[string]float64{"GB/s": float64(times*len(from)) / float64(took.Nanoseconds())}}
}

// missing follows a chain through 1 GiB whose next link is in no cache.
func missing() report.Run {
	chain := make([]uint64, 1<<27)
	for i := range chain { // a full period: every link once before the first again
		chain[i] = (uint64(i)*6364136223846793005 + 1442695040888963407) % uint64(len(chain))
	}
	const steps = 2_000_000
	at := uint64(0)
	began := time.Now()
	for range steps {
		at = chain[at]
	}
	took := time.Since(began)
	return report.Run{Cost: float64(took.Nanoseconds()) / steps, More: map[string]float64{"ended at": float64(at)}}
}

// syncing appends to a file and waits for the disk, again and again.
func syncing(times int) (report.Run, error) {
	f, err := os.CreateTemp("", "weirbench-sync")
	if err != nil {
		return report.Run{}, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	page := make([]byte, 4<<10)
	took := make([]float64, times)
	for i := range took {
		began := time.Now()
		if _, err := f.Write(page); err != nil {
			return report.Run{}, err
		}
		if err := f.Sync(); err != nil {
			return report.Run{}, err
		}
		took[i] = float64(time.Since(began).Microseconds())
	}
	slices.Sort(took)
	return report.Run{Cost: percentile(took, 50), More: map[string]float64{"p99 µs": percentile(took, 99)}}, nil
}

// performance runs Kafka's own tests, writing and reading in turn.
func performance(ctx context.Context, c *invocation, records int) (report.Group, error) {
	group := report.Group{Name: "Kafka's own performance tests", Unit: "ns of CPU per record", Rows: []report.Row{{System: "writing"}, {System: "reading"}}}
	b, err := broker.Start(c.root, "")
	if err != nil {
		return group, err
	}
	defer b.Close()
	lib, err := exec.CommandContext(ctx, filepath.Join(c.root, "scripts", "kafka"), "install").Output()
	if err != nil {
		return group, fmt.Errorf("scripts/kafka install: %w", err)
	}
	tool := []string{"java", "-Xmx1g", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "-cp", filepath.Join(strings.TrimSpace(string(lib)), "*")}
	for round := range c.rounds {
		topic := fmt.Sprintf("limits-%d-%d", os.Getpid(), round)
		if err := b.CreateTopic(ctx, topic, 4); err != nil {
			return group, err
		}
		for i, args := range [][]string{
			{"org.apache.kafka.tools.ProducerPerformance", "--topic", topic, "--num-records", strconv.Itoa(records), "--record-size", "100", "--throughput", "-1",
				"--producer-props", "bootstrap.servers=" + b.Addresses, "acks=all", "linger.ms=20", "batch.size=131072"},
			{"org.apache.kafka.tools.ConsumerPerformance", "--bootstrap-server", b.Addresses, "--topic", topic, "--messages", strconv.Itoa(records)},
		} {
			run, err := tested(ctx, append(slices.Clone(tool), args...), records)
			if err != nil {
				return group, err
			}
			group.Rows[i].Runs = append(group.Rows[i].Runs, run)
		}
		if err := b.DeleteTopics(ctx, topic); err != nil {
			return group, err
		}
	}
	return group, nil
}

var perSecond = regexp.MustCompile(`([\d.]+) records/sec`)

// tested runs one of Kafka's tests. The one that writes says its rate, start not included.
func tested(ctx context.Context, command []string, records int) (report.Run, error) {
	var out, complaints bytes.Buffer
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if err := cmd.Run(); err != nil {
		return report.Run{}, fmt.Errorf("%v: %w\n%s", command, err, complaints.Bytes())
	}
	used, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return report.Run{}, errors.New("this system does not say what a process has used")
	}
	return report.Run{Cost: float64(used.Utime.Nano()+used.Stime.Nano()) / float64(records), PerSecond: lastRate(out.Bytes())}, nil
}

// lastRate is the rate of the whole, which comes behind those of parts; 0 when there is none.
func lastRate(out []byte) float64 {
	all := perSecond.FindAllSubmatch(out, -1)
	if len(all) == 0 {
		return 0
	}
	rate, _ := strconv.ParseFloat(string(all[len(all)-1][1]), 64) // digits and points alone
	return rate
}
