package faults_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/internal/faults"
	"github.com/weirstream/weir/internal/faults/oracle"
	"github.com/weirstream/weir/internal/wire"
)

var (
	seeds = flag.Int("seeds", 1000, "how many seeds TestSeeds runs")
	from  = flag.Uint64("seed", 0, "the first of them")
	keep  = flag.Bool("keep", false, "keep the script of a seed that fails in testdata")
)

// count runs the app under a judge and asks the oracle. perturb happens before the app starts.
func count(j faults.Judge) error {
	c, err := newCluster(j)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	a := &counter{c: c, ids: [2]string{"app-0", "app-1"}}
	if err := a.run(ctx); err != nil {
		return err
	}
	return judged(ctx, c)
}

// judged is the oracle's word: every sum once and in order, the changelog the state, no transaction open, no lag.
func judged(ctx context.Context, c *memory.Cluster) error {
	c.Judge = nil
	c.Settle()
	l, err := c.Connect(ctx, "oracle")
	if err != nil {
		return err
	}
	defer l.Close()
	if err := oracle.NothingOpen(ctx, l, "app-"); err != nil {
		return err // and everything else would wait for it
	}
	out, err := oracle.Read(ctx, l, "out")
	if err != nil {
		return err
	}
	log, err := oracle.Read(ctx, l, "log")
	if err != nil {
		return err
	}
	want := map[string]int64{"a": records / 3, "b": records / 3, "c": records / 3}
	table := map[string]string{}
	for key, n := range want {
		table[key] = fmt.Sprint(n)
	}
	return errors.Join(
		oracle.Counts(out, want, oracle.Decimal),
		oracle.Same(oracle.Table(log), table),
		oracle.NoLag(ctx, l, "g", "in"),
	)
}

// plan is what a seed stands for: common faults, and up to two kills among the requests of a run.
func plan(seed uint64) faults.Plan {
	r := rand.New(rand.NewPCG(seed, 1))
	p := faults.Plan{Seed: seed, Last: 400, PassAtMost: 90 * time.Second} // longer than sessions and transactions last
	for range r.IntN(3) {
		p.Kills = append(p.Kills, 1+r.IntN(150))
	}
	return p
}

func TestSeeds(t *testing.T) {
	began, fates := time.Now(), 0
	for seed := *from; seed < *from+uint64(*seeds); seed++ {
		j := faults.NewRandom(plan(seed))
		err := count(j)
		fates += len(j.Script())
		if err == nil {
			continue
		}
		script := faults.Shrink(j.Script(), func(s faults.Script) bool { return count(s.Judge()) != nil })
		if *keep {
			t.Log(script.Keep("testdata", fmt.Sprint("seed-", seed), fmt.Sprintf("Seed %d: %v", seed, err)))
		}
		t.Fatalf("seed %d: %v\nagain: go test ./internal/faults -run TestSeeds -seeds 1 -seed %d\nshrunk to\n%s", seed, err, seed, script)
	}
	t.Logf("%d seeds, %d faults, %v each", *seeds, fates, time.Since(began)/time.Duration(*seeds))
}

// Scripts of seeds that failed once, and of what is known to be dangerous.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s, err := faults.Parse(string(text))
			if err != nil {
				t.Fatal(err)
			}
			if err := count(s.Judge()); err != nil {
				t.Error(err)
			}
		})
	}
}

// What a seed finds becomes a short script in a file, which fails again whenever it is played.
func TestPlantedBugShrinksToAFile(t *testing.T) {
	careless := func(j faults.Judge) error {
		c, err := newCluster(j)
		if err != nil {
			t.Fatal(err)
		}
		a := &counter{c: c, ids: [2]string{"app-0", "app-1"}, careless: true}
		return errors.Join(a.run(t.Context()), judged(t.Context(), c))
	}
	for seed := range uint64(300) {
		j := faults.NewRandom(plan(seed))
		found := careless(j)
		if found == nil {
			continue
		}
		drawn := len(j.Script())
		script := faults.Shrink(j.Script(), func(s faults.Script) bool { return careless(s.Judge()) != nil })
		path, err := script.Keep(t.TempDir(), "careless", found.Error())
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		kept, err := faults.Parse(string(text))
		if err != nil {
			t.Fatalf("%s is no script: %v", text, err)
		}
		if len(kept) >= drawn/2 || len(kept) > 4 {
			t.Errorf("%d of %d faults are left:\n%s", len(kept), drawn, text)
		}
		if careless(kept.Judge()) == nil {
			t.Errorf("it does not fail any more:\n%s", text)
		}
		if err := count(kept.Judge()); err != nil {
			t.Errorf("an app without the bug fails, too: %v", err)
		}
		return
	}
	t.Error("300 seeds did not find it")
}

// The oracle and the faults are worth something when an app that breaks a rule is found out.
func TestBrokenAppIsFoundOut(t *testing.T) {
	var found int
	for seed := range uint64(300) {
		c, err := newCluster(faults.NewRandom(plan(seed)))
		if err != nil {
			t.Fatal(err)
		}
		a := &counter{c: c, ids: [2]string{"app-0", "app-1"}, careless: true}
		if err := a.run(t.Context()); err != nil || judged(t.Context(), c) != nil {
			found++
		}
	}
	if found == 0 {
		t.Error("300 seeds did not find it")
	}
	t.Logf("%d of 300 seeds found it", found)
}

func TestSameSeedSameRun(t *testing.T) {
	run := func() string {
		j := faults.NewRandom(plan(3))
		if err := count(j); err != nil {
			t.Fatal(err)
		}
		return j.String()
	}
	if a, b := run(), run(); a != b {
		t.Errorf("one seed, two runs:\n%s\n%s", a, b)
	}
}

var _ wire.Log = (*faults.Log)(nil)
