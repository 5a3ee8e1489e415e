package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/stream/streamtest"
	"github.com/weirstream/weir/window"
)

const header = "year,month,day,dep_time,sched_dep_time,dep_delay,arr_time,sched_arr_time,arr_delay,carrier,flight,tailnum,origin,dest,air_time,distance,hour,minute,time_hour"

// sessionsInSQL are the sessions as SQLite finds them in the lines: a flight more than six hours behind the one before it begins one.
const sessionsInSQL = `
WITH scheduled AS (SELECT tailnum, CAST(strftime('%s', time_hour) AS INTEGER) + 60 * minute AS at FROM flights WHERE tailnum <> 'NA'),
     begun AS (SELECT tailnum, at, at - lag(at, 1, -21601) OVER (PARTITION BY tailnum ORDER BY at) > 21600 AS first FROM scheduled),
     numbered AS (SELECT tailnum, at, sum(first) OVER (PARTITION BY tailnum ORDER BY at ROWS UNBOUNDED PRECEDING) AS n FROM begun)
SELECT tailnum, min(at), max(at), count(*) FROM numbered GROUP BY tailnum, n;`

// askSQL imports lines into SQLite and returns the sessions that it finds. It needs the command sqlite3.
func askSQL(t *testing.T, lines []string) map[window.Key[string]]int64 {
	t.Helper()
	path, err := exec.LookPath("sqlite3")
	if err != nil {
		t.Skip("no sqlite3 to compare with: install its command-line shell")
	}
	file := filepath.Join(t.TempDir(), "flights.csv")
	if err := os.WriteFile(file, []byte(header+"\n"+strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), path, ":memory:")
	cmd.Stdin = strings.NewReader(".mode csv\n.import " + strconv.Quote(file) + " flights\n" + sessionsInSQL + "\n")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	sessions := map[window.Key[string]]int64{}
	for rows := bufio.NewScanner(bytes.NewReader(out)); rows.Scan(); {
		c := strings.Split(strings.TrimSpace(rows.Text()), ",")
		if len(c) != 4 {
			t.Fatalf("sqlite3 says %q", rows.Text())
		}
		var n [3]int64
		for i := range n {
			if n[i], err = strconv.ParseInt(c[i+1], 10, 64); err != nil {
				t.Fatalf("sqlite3 says %q", rows.Text())
			}
		}
		// A session's last millisecond belongs to it.
		span := window.NewSpan(time.Unix(n[0], 0), time.Unix(n[1], 0).Add(time.Millisecond))
		sessions[window.Key[string]{Key: c[0], Span: span}] = n[2]
	}
	return sessions
}

// The sessions of aircraft are those that another engine finds in the same lines.
func TestSessionsAgainstSQL(t *testing.T) {
	path := ""
	if !testing.Short() && os.Getenv("WEIR_DATA") != "" {
		path = filepath.Join(dataDir(t), "flights.csv.zip")
	}
	var lines []string
	if path == "" {
		eachLine(t, path, func(line string) { lines = append(lines, line) })
	} else {
		for _, f := range calendar(t, path) {
			lines = append(lines, f.line)
		}
	}
	d := streamtest.New(t, inWindows(24*time.Hour), streamtest.ManualCheckpoints(), streamtest.StartAt(newYear))
	in := d.In[struct{}, Flight](topicFlights)
	for i, line := range lines {
		in.SendBytes(nil, []byte(line))
		if i%100_000 == 99_999 {
			d.Checkpoint()
		}
	}
	in.End()
	d.Checkpoint()
	want := askSQL(t, lines)
	if len(want) < 1000 {
		t.Fatalf("sqlite3 finds %d sessions in %d lines", len(want), len(lines))
	}
	same(t, "sessions", closed[int64](t, d, topicSessions), want)
}
