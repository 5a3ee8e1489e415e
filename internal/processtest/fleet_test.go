package processtest

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	stateKeys = flag.Int("statekeys", 20_000, "how many keys of state, of a hundred bytes each, TestFleet has; 2000000 are 200 MB")
	fleetRate = flag.Int("fleetrate", 3_000, "records per second of TestFleet's load")
	fleetFill = flag.Int("fleetfill", 20_000, "records per second that bring TestFleet's state about")
	fleetRest = flag.Duration("fleetrest", time.Second, "how long TestFleet goes on after each change")
)

// fleetPartitions is how many tasks a fleet has.
const fleetPartitions = 32

// A fleet is members of which a test knows what runs where and what the group went through.
type fleet struct {
	*world
	load    *load
	members []*ship
	changes int

	mu         sync.Mutex
	generation int
	probes     int
	trail      []string // what members said, and when
}

// A ship is a member of a fleet.
type ship struct {
	*member
	tasks    []string       // that run; guarded by the fleet's mu, like all below
	restored map[string]int // how often each task was
	records  int            // that were restored
	peak     int64          // of resident memory, over all its lives
}

func newFleet(t *testing.T, how string) *fleet {
	w := newWorldOf(t, fleetPartitions)
	f := &fleet{world: w, load: newLoad(t, w.broker.Brokers(), w.app+"-in", w.app+"-out", *stateKeys, fleetPartitions)}
	for _, name := range []string{"a", "b", "c", "d"} {
		s := &ship{member: w.down(name, filepath.Join(t.TempDir(), name)), restored: map[string]int{}}
		s.env = []string{"WEIR_TEST_PROGRAM=fleet", "WEIR_TEST_STOP=" + how}
		r, pipe := io.Pipe()
		s.out = pipe
		go func() {
			for lines := bufio.NewScanner(r); lines.Scan(); {
				f.hear(s, strings.Fields(lines.Text()))
			}
		}()
		t.Cleanup(func() { pipe.Close() })
		f.members = append(f.members, s)
	}
	return f
}

// hear takes in a line that a member has printed.
func (f *fleet) hear(s *ship, words []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.trail = append(f.trail, fmt.Sprint(time.Now().Format("15:04:05.000 "), s.name, " ", strings.ReplaceAll(strings.Join(words, " "), f.app, "")))
	switch {
	case len(words) > 0 && words[0] == "tasks":
		s.tasks = words[1:]
	case len(words) == 3 && words[0] == "restored":
		n, _ := strconv.Atoi(words[2])
		s.restored[words[1]]++
		s.records += n
	case len(words) == 2 && words[0] == "round":
		n, _ := strconv.Atoi(words[1])
		f.generation = max(f.generation, n)
	case len(words) == 1 && words[0] == "probe":
		f.probes++
	}
}

// owners say which member runs each task.
func (f *fleet) owners() map[string]*ship {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := map[string]*ship{}
	for _, s := range f.members {
		for _, task := range s.tasks {
			all[task] = s
		}
	}
	return all
}

// await waits until something is so, however slow the machine is.
func (f *fleet) await(what string, is func() bool) {
	f.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(4 * time.Minute); !is(); {
		if _, err := f.load.behind(); err != nil {
			f.explain()
			f.t.Fatal(err)
		}
		select {
		case <-end:
			for task, s := range f.owners() {
				f.t.Logf("%s runs %s", s.name, task)
			}
			f.t.Fatalf("waited for %s", what)
		case <-tick.C:
		}
	}
}

// explain logs what the group went through and what became of the key that went wrong.
func (f *fleet) explain() {
	f.t.Helper()
	f.mu.Lock()
	trail := f.trail
	f.mu.Unlock()
	for _, line := range trail {
		f.t.Log(line)
	}
	for _, line := range f.load.history(f.broker.Brokers(), f.app+"-in", f.app+"-out", f.app+"-"+f.app+"-in-count-changelog") {
		f.t.Log(line)
	}
}

// settled waits until all tasks run, evenly spread among those that are up, and what was sent has come out but for the latest.
func (f *fleet) settled() {
	f.t.Helper()
	f.await("tasks to be evenly spread", func() bool {
		if len(f.owners()) != fleetPartitions {
			return false
		}
		up := 0
		for _, s := range f.members {
			if s.cmd != nil {
				up++
			}
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		return !slices.ContainsFunc(f.members, func(s *ship) bool {
			n := len(s.tasks)
			return s.cmd != nil && (n < fleetPartitions/up || n > (fleetPartitions+up-1)/up)
		})
	})
	f.await("what was sent to come out", func() bool { n, _ := f.load.behind(); return n < *fleetRate })
}

// change does something to a member, or to none, and says how long partitions were silent. What stays with another is not restored.
func (f *fleet) change(of *ship, what string, do func()) {
	f.t.Helper()
	before := f.owners()
	restored := f.restores(before)
	f.load.watch()
	began := time.Now()
	do()
	f.settled()
	took := time.Since(began)
	goesBy(*fleetRest)
	silent := f.load.silences()
	after := f.owners()
	var longest [2]time.Duration // of those that stayed, and that moved
	var moves int
	for task, s := range after {
		moved := 0
		if before[task] != s {
			moved = 1
			moves++
		}
		p, err := strconv.Atoi(task[strings.LastIndexByte(task, '/')+1:])
		if err != nil {
			f.t.Fatal(err)
		}
		longest[moved] = max(longest[moved], silent[p])
		if again := f.restores(map[string]*ship{task: s})[task] - restored[task]; moved == 0 && again > 0 && s != of {
			f.t.Errorf("%s: %s stayed with %s and was restored there %d times", what, task, s.name, again)
		}
	}
	if of != nil {
		what = of.name + " " + what
	}
	f.t.Logf("%-14s took %5d ms; %2d tasks moved, silent for at most %5d ms; the others %5d ms", what, took.Milliseconds(), moves, longest[1].Milliseconds(), longest[0].Milliseconds())
}

// goesBy lets time pass under load. Nothing rests on how much it is.
func goesBy(d time.Duration) { <-time.After(d) }

// restores are how often tasks were restored where they run.
func (f *fleet) restores(owners map[string]*ship) map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := map[string]int{}
	for task, s := range owners {
		n[task] = s.restored[task]
	}
	return n
}

// total is how often all tasks were restored.
func total(restored map[string]int) (n int) {
	for _, times := range restored {
		n += times
	}
	return n
}

// halt takes a member down.
func (f *fleet) halt(s *ship) {
	f.t.Helper()
	s.peak = max(s.peak, peakMemory(s.cmd.Process.Pid))
	s.stop()
	f.mu.Lock()
	defer f.mu.Unlock()
	s.tasks = nil
}

// peakMemory is the greatest resident size of a process, 0 where the system does not say.
func peakMemory(pid int) int64 {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(status)) {
		if rest, found := strings.CutPrefix(line, "VmHWM:"); found {
			kb, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kb << 10
		}
	}
	return 0
}

// finish sends no more, waits for the rest and judges.
func (f *fleet) finish(stop func() error) {
	f.t.Helper()
	if err := stop(); err != nil {
		f.t.Fatal(err)
	}
	f.await("all to come out", func() bool { n, _ := f.load.behind(); return n <= 0 })
	for _, s := range f.members {
		f.halt(s)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.members {
		f.t.Logf("%s: %d restores of %d records, peak of memory %d MiB, of which its app may take %d", s.name, total(s.restored), s.records, s.peak>>20, fleetMemory>>20)
	}
	f.t.Logf("%d generations, %d changes, %d probes, %d records", f.generation, f.changes, f.probes, f.load.total)
	if f.generation > 2*f.changes+f.probes || f.generation == 0 {
		f.t.Errorf("%d generations for %d changes and %d probes", f.generation, f.changes, f.probes)
	}
	if err := f.load.judge(); err != nil {
		f.t.Error(err)
	}
	f.broker.Eventually("no open transaction", func() bool { return len(f.broker.OpenTransactions(f.app)) == 0 })
}

// TestFleet has four members with 32 partitions and more state than memory start a second apart, and then each restart under load, giving its
// tasks to the others while it is away, or keeping them. Their group takes no more rounds than it must, what did not move is not restored, and
// the output is exact. How long partitions were silent and what memory was taken is in the log.
func TestFleet(t *testing.T) {
	needGroup(t)
	for _, how := range []string{"handover", "stay"} {
		t.Run(how, func(t *testing.T) {
			f := newFleet(t, how)
			for i, s := range f.members {
				if i > 0 {
					goesBy(time.Second) // as a deployment starts them
				}
				s.start()
				f.changes++
			}
			if err := f.load.fill(t.Context(), *fleetFill); err != nil {
				t.Fatal(err)
			}
			stop := f.load.pace(*fleetRate)
			f.settled()
			f.change(nil, "nothing", func() { goesBy(3 * *fleetRest) })
			for _, s := range f.members {
				if how == "stay" {
					f.change(s, "restarts", func() { f.halt(s); s.start(); f.changes += 2 })
					continue
				}
				f.change(s, "goes", func() { f.halt(s); f.changes++ })
				f.change(s, "comes", func() { s.start(); f.changes++ })
			}
			f.finish(stop)
		})
	}
}
