package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/weirstream/weir/serde"
)

// A Flight is one line of the file: a scheduled departure from one of New York's three airports in 2013.
type Flight struct {
	Scheduled time.Time // time_hour, which is in UTC, and minute
	Carrier   string
	Tail      string // the aircraft; "" when it is not known
	Origin    string
	Dest      string
	DepDelay  int // minutes
	ArrDelay  int
	Departed  bool // false: cancelled
	Arrived   bool // false: cancelled or diverted
	line      string
}

// columns of the file, in its order.
const (
	colDepDelay = 5
	colArrDelay = 8
	colCarrier  = 9
	colTail     = 11
	colOrigin   = 12
	colDest     = 13
	colMinute   = 17
	colHour     = 18
	columns     = 19
)

var errColumns = errors.New("a flight has 19 columns")

// parse reads a line. What is "NA" in the file is not there.
func parse(line string) (f Flight, err error) {
	c := strings.Split(line, ",")
	if len(c) != columns {
		return f, fmt.Errorf("%w, this line has %d", errColumns, len(c))
	}
	if f.Scheduled, err = time.Parse(time.RFC3339, c[colHour]); err != nil {
		return f, fmt.Errorf("time_hour: %w", err)
	}
	minute, err := strconv.Atoi(c[colMinute])
	if err != nil || minute < 0 || minute > 59 {
		return f, fmt.Errorf("minute %q", c[colMinute])
	}
	f.Scheduled = f.Scheduled.Add(time.Duration(minute) * time.Minute)
	if f.DepDelay, f.Departed, err = number(c[colDepDelay]); err != nil {
		return f, fmt.Errorf("dep_delay: %w", err)
	}
	if f.ArrDelay, f.Arrived, err = number(c[colArrDelay]); err != nil {
		return f, fmt.Errorf("arr_delay: %w", err)
	}
	f.Carrier, f.Origin, f.Dest, f.line = c[colCarrier], c[colOrigin], c[colDest], line
	if c[colTail] != "NA" {
		f.Tail = c[colTail]
	}
	return f, nil
}

func number(s string) (n int, ok bool, err error) {
	if s == "NA" {
		return 0, false, nil
	}
	n, err = strconv.Atoi(s)
	return n, err == nil, err
}

// csv is the serde of flights: the line as it is in the file. What cannot be parsed is a data error of the source.
var csv = serde.New("flight-csv/1",
	func(dst []byte, f Flight) ([]byte, error) { return append(dst, f.line...), nil },
	func(b []byte) (Flight, error) { return parse(string(b)) })
