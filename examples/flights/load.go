package main

import (
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// january is the first month of nycflights13 (CC0), as gzip.
//
//go:embed january.csv.gz
var january []byte

// malformed lines go in between, as they would in any real feed.
var malformed = []string{
	"2013,1,1,517,515,2",
	"2013,1,1,517,515,2,830,819,11,UA,1545,N14228,EWR,IAH,227,1400,5,15,yesterday",
	"\x00\xff not text at all",
}

// open returns the lines of the data: January's, or those of a CSV file, plain, in gzip or the first one in a zip.
func open(path string) (io.ReadCloser, error) {
	if path == "" {
		return gzip.NewReader(bytes.NewReader(january))
	}
	switch {
	case strings.HasSuffix(path, ".zip"):
		z, err := zip.OpenReader(path)
		if err != nil {
			return nil, err
		}
		if len(z.File) == 0 {
			return nil, errors.Join(fmt.Errorf("%s is empty", path), z.Close())
		}
		f, err := z.File[0].Open()
		if err != nil {
			return nil, errors.Join(err, z.Close())
		}
		return both{f, z}, nil
	case strings.HasSuffix(path, ".gz"):
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		g, err := gzip.NewReader(f)
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		return both{g, f}, nil
	}
	return os.Open(path)
}

// both closes what is read and what that is in.
type both struct {
	io.ReadCloser
	outer io.Closer
}

func (b both) Close() error { return errors.Join(b.ReadCloser.Close(), b.outer.Close()) }

// load writes every line to a topic, in turn over its partitions, and returns how many.
func load(ctx context.Context, brokers []string, path, topic string, partitions int) (n int64, err error) {
	in, err := open(path)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.DefaultProduceTopic(topic), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.MaxBufferedRecords(100_000))
	if err != nil {
		return 0, err
	}
	defer client.Close()
	r, err := kadm.NewClient(client).CreateTopic(ctx, int32(partitions), 1, nil, topic)
	if err != nil && !errors.Is(r.Err, kerr.TopicAlreadyExists) {
		return 0, err
	}
	var failed error
	send := func(line string) {
		client.Produce(ctx, &kgo.Record{Value: []byte(line), Partition: int32(n % int64(partitions))}, func(_ *kgo.Record, err error) {
			if err != nil {
				failed = err
			}
		})
		n++
	}
	lines := bufio.NewScanner(in)
	lines.Scan() // the header
	for lines.Scan() {
		send(lines.Text())
	}
	for _, line := range malformed {
		send(line)
	}
	return n, errors.Join(lines.Err(), client.Flush(ctx), failed)
}
