package crashtest

import (
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/internal/faults"
)

var (
	seeds       = flag.Int("seeds", 100, "how many seeds each scenario is run with")
	brokerSeeds = flag.Int("brokerseeds", 13, "how many seeds each scenario is run with on the embedded broker")
	keep        = flag.Bool("keep", false, "keep the shrunk script of a seed that fails in testdata")
	first       = flag.Uint64("seed", 0, "the first of them")
)

// plan is what a seed stands for: common faults for a while, up to three kills, and where there are several processes up to two of them cut off.
func plan(s scenario, seed uint64) faults.Plan {
	h := fnv.New64a()
	h.Write([]byte(s.name))
	r := rand.New(rand.NewPCG(seed, h.Sum64()))
	p := faults.Plan{Seed: seed, Last: 600, PassAtMost: 90 * time.Second} // sessions and transactions end meanwhile
	if s.late > 0 {
		p.Odds, p.Within = faults.Common(), 150 // requests: some checkpoints
		p.Odds[faults.OffsetCommit] = faults.Odds{Drop: 10, Lose: 10, After: s.late}
		for range 3 { // what is late matters only to who does not live to see it
			p.Kills = append(p.Kills, 1+r.IntN(200))
		}
	}
	for range r.IntN(4) {
		p.Kills = append(p.Kills, 1+r.IntN(400))
	}
	if s.members > 1 {
		for range r.IntN(3) {
			p.Cuts = append(p.Cuts, 1+r.IntN(500))
		}
	}
	return p
}

func TestUndisturbed(t *testing.T) {
	for _, s := range scenarios() {
		t.Run(s.name, func(t *testing.T) {
			j := faults.NewRandom(faults.Plan{Odds: map[faults.Kind]faults.Odds{}})
			if err := run(s, 0, j); err != nil {
				t.Fatal(err)
			}
			t.Logf("%d requests", j.Requests())
		})
	}
}

func TestSeeds(t *testing.T) {
	for _, s := range scenarios() {
		t.Run(s.name, func(t *testing.T) {
			began, fates, met := time.Now(), 0, met{}
			for seed := *first; seed < *first+uint64(*seeds); seed++ {
				j := faults.NewRandom(plan(s, seed))
				w, err := newWorld(s, seed, j)
				if err != nil {
					t.Fatal(err)
				}
				if err := w.run(); err != nil {
					script := faults.Shrink(j.Script(), func(shorter faults.Script) bool { return run(s, seed, shorter.Judge()) != nil })
					kept(t, s.name, seed, script, err)
					t.Fatalf("seed %d: %v\nagain: go test ./internal/crashtest -run TestSeeds/%s -seeds 1 -seed %d\nshrunk to\n%s", seed, err, s.name, seed, script)
				}
				fates += len(j.Script())
				met.add(w, j)
			}
			t.Logf("%d seeds, %d faults, %+v, %v each", *seeds, fates, met, time.Since(began)/time.Duration(*seeds))
			if *seeds >= 100 {
				met.check(t, s)
			}
		})
	}
}

// met is what the seeds of a scenario have met. What none of them meets is not tested, however many they are.
type met struct {
	cut, mute, parted int // clients cut off, in each way, and requests that were lost with it
	held, meanwhile   int // writes that a slow disk held, and what others did without error meanwhile
	between           int // records that were processed while a barrier was on its way
}

func (m *met) add(w *world, j *faults.Random) {
	for _, f := range j.Script() {
		switch {
		case f.Cut.Answers:
			m.mute++
		case f.Cut != faults.Cut{}:
			m.cut++
		}
	}
	m.parted += j.Parted()
	m.between += int(w.between)
	m.held += w.held
	m.meanwhile += w.meanwhile
}

func (m *met) check(t *testing.T, s scenario) {
	t.Helper()
	if several := s.members > 1; several && (m.cut < *seeds/5 || m.mute < *seeds/5 || m.parted < 5*(m.cut+m.mute)) {
		t.Errorf("processes were hardly cut off: %+v", *m)
	} else if m.held > 0 && several && m.meanwhile == 0 {
		t.Errorf("nothing happened while a disk was slow: %+v", *m)
	}
	if m.between < *seeds {
		t.Errorf("hardly anything was processed while barriers were on their way: %+v", *m)
	}
	if s.disk && m.held < *seeds/5 {
		t.Errorf("disks were hardly slow: %+v", *m)
	}
}

// kept keeps the script of a seed that has failed, if that is asked for. Its name says the scenario and the seed, which is that of everything
// but the requests: when processes freeze and stop.
func kept(t *testing.T, scenario string, seed uint64, script faults.Script, why error) {
	t.Helper()
	if !*keep {
		return
	}
	path, err := script.Keep("testdata", fmt.Sprintf("%s.seed-%d", scenario, seed), why.Error())
	if err != nil {
		t.Error(err)
	}
	t.Log("kept in ", path)
}

// seedOf is the seed in the name of a script; 0 where it has none.
func seedOf(file string) (seed uint64) {
	if _, text, ok := strings.Cut(file, ".seed-"); ok {
		_, _ = fmt.Sscan(strings.TrimSuffix(text, ".txt"), &seed)
	}
	return seed
}

// Scripts are named after the scenario they are for: what failed once, and what is known to be dangerous.
func TestScripts(t *testing.T) {
	for _, s := range scenarios() {
		for _, file := range scriptsOf(t, s.name) {
			t.Run(s.name+"/"+strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
				if err := run(s, seedOf(file), readScript(t, file).Judge()); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// scriptsOf are those of a scenario, and those for all.
func scriptsOf(t *testing.T, scenario string) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/" + scenario + ".*.txt")
	if err != nil {
		t.Fatal(err)
	}
	common, err := filepath.Glob("testdata/all.*.txt")
	if err != nil {
		t.Fatal(err)
	}
	return append(files, common...)
}

func readScript(t *testing.T, file string) faults.Script {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	script, err := faults.Parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return script
}
