package stream_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/stream/streamtest"
	"github.com/weirstream/weir/window"
)

type (
	texted  = stream.Stream[string, string]
	tabled  = stream.Table[string, string]
	scripts = []string
)

// A joinCase is what docs/joins.md says of a join, as a script: records of L and R before "→", what is committed of them behind it. "nil" is
// a null value, "-" no key, T what both inputs promise.
type joinCase struct {
	name   string // as in the documentation; what is behind a comma is for people
	build  func(b *stream.Builder, left, right *kafka.TopicSource[string, string]) *texted
	table  func(b *stream.Builder, left, right *kafka.TopicSource[string, string]) *tabled
	script scripts
	drops  int64
}

func withBoth(a, b string) string { return pair(a, true, b, true) }

func withLeft(a, b string, ok bool) string { return pair(a, true, b, ok) }

func withEither(a, b string, m stream.Match) string {
	return pair(a, m != stream.RightOnly, b, m != stream.LeftOnly)
}

// streams are joined within 50 ms, tables are asked in all ways.
var joinCases = []joinCase{
	{name: "Stream.Join", build: func(b *stream.Builder, l, r *kafka.TopicSource[string, string]) *texted {
		return b.Source(l).Join(b.Source(r), window.Within(50*time.Millisecond).Grace(time.Second), withBoth)
	}, drops: 4, script: scripts{"L a=1@100 →", "R a=x@120 → a=1+x@120", "R a=y@90 → a=1+y@100", "R a=z@300 →",
		"L -=2@130 →", "R -=w@132 →", "L a=nil@131 →", "R a=nil@133 →", "L b=5@400 →", "T@5000 →"}},
	{name: "Stream.LeftJoin", build: func(b *stream.Builder, l, r *kafka.TopicSource[string, string]) *texted {
		return b.Source(l).LeftJoin(b.Source(r), window.Within(50*time.Millisecond).Grace(time.Second), withLeft)
	}, drops: 3, script: scripts{"L a=1@100 →", "R a=x@120 → a=1+x@120", "R a=y@90 → a=1+y@100", "R a=z@300 →",
		"L -=2@130 → -=2+-@130", "R -=w@132 →", "L a=nil@131 →", "R a=nil@133 →", "L b=5@400 →", "T@5000 → b=5+-@400"}},
	{name: "Stream.OuterJoin", build: func(b *stream.Builder, l, r *kafka.TopicSource[string, string]) *texted {
		return b.Source(l).OuterJoin(b.Source(r), window.Within(50*time.Millisecond).Grace(time.Second), withEither)
	}, drops: 2, script: scripts{"L a=1@100 →", "R a=x@120 → a=1+x@120", "R a=y@90 → a=1+y@100", "R a=z@300 →",
		"L -=2@130 → -=2+-@130", "R -=w@132 → -=-+w@132", "L a=nil@131 →", "R a=nil@133 →", "L b=5@400 →", "T@5000 → a=-+z@300 b=5+-@400"}},
	{name: "Stream.JoinTable", build: func(b *stream.Builder, l, r *kafka.TopicSource[string, string]) *texted {
		return b.Source(l).JoinTable(b.Table(r), withBoth)
	}, drops: 3, script: scripts{"L a=1@10 →", "R a=x@20 →", "L a=2@15 → a=2+x@15", "L -=3@16 →", "L a=nil@17 →", "R -=y@18 →", "R a=nil@30 →", "L a=4@31 →"}},
	{name: "Stream.LeftJoinTable", build: func(b *stream.Builder, l, r *kafka.TopicSource[string, string]) *texted {
		return b.Source(l).LeftJoinTable(b.Table(r), withLeft)
	}, drops: 2, script: scripts{"L a=1@10 → a=1+-@10", "R a=x@20 →", "L a=2@15 → a=2+x@15", "L -=3@16 → -=3+-@16", "L a=nil@17 →", "R -=y@18 →", "R a=nil@30 →", "L a=4@31 → a=4+-@31"}},
	{name: "Stream.JoinTable, of a table that holds its changes back", build: func(b *stream.Builder, l, r *kafka.TopicSource[string, string]) *texted {
		return b.Source(l).JoinTable(b.Source(r).ToTable(), withBoth)
	}, script: scripts{"R a=x@10 L a=1@11 R a=y@12 L a=2@13 → a=1+x@11 a=2+y@13"}},
	{name: "Stream.JoinTable, Versioned", build: func(b *stream.Builder, l, r *kafka.TopicSource[string, string]) *texted {
		return b.Source(l).JoinTable(b.Table(r, stream.Versioned(time.Second)), withBoth)
	}, drops: 2, script: scripts{"R a=x@10 R a=y@30 →", "L a=1@20 → a=1+x@20", "L a=2@5 →", "L a=3@30 → a=3+y@30", "R a=nil@40 →", "L a=4@35 → a=4+y@35", "L a=5@40 →", "L -=6@41 →", "R -=z@42 →"}},
	{name: "Stream.JoinTable, WaitFor", build: func(b *stream.Builder, l, r *kafka.TopicSource[string, string]) *texted {
		return b.Source(l).JoinTable(b.Table(r, stream.Versioned(time.Second)), withBoth, stream.WaitFor(100*time.Millisecond))
	}, drops: 1, script: scripts{"R a=x@10 →", "L a=2@60 →", "L a=1@50 →", "R a=y@55 →", "T@149 →", "T@150 → a=1+x@50", "T@160 → a=2+y@60", "L -=3@170 →", "T@300 →"}},
	{name: "Stream.LeftJoinTable, WaitFor", build: func(b *stream.Builder, l, r *kafka.TopicSource[string, string]) *texted {
		return b.Source(l).LeftJoinTable(b.Table(r, stream.Versioned(time.Second)), withLeft, stream.WaitFor(100*time.Millisecond))
	}, script: scripts{"L b=2@60 L a=1@50 →", "R a=y@55 →", "R b=y@55 →", "T@160 → a=1+-@50 b=2+y@60", "L -=3@170 →", "T@300 → -=3+-@170"}},
	{name: "Stream.JoinGlobal", build: func(b *stream.Builder, l, r *kafka.TopicSource[string, string]) *texted {
		return b.Source(l).JoinGlobal(b.Global(r), foreignKey, withBoth)
	}, drops: 1, script: scripts{"R x=X@20 →", "L a=x|1@10 → a=x|1+X@10", "L -=x|2@11 → -=x|2+X@11", "L a=|3@12 →", "L a=y|4@13 →", "L a=nil@14 →", "R -=z@22 →", "R x=nil@23 →", "L a=x|5@24 →"}},
	{name: "Stream.LeftJoinGlobal", build: func(b *stream.Builder, l, r *kafka.TopicSource[string, string]) *texted {
		return b.Source(l).LeftJoinGlobal(b.Global(r), foreignKey, withLeft)
	}, drops: 1, script: scripts{"R x=X@20 →", "L a=x|1@10 → a=x|1+X@10", "L -=x|2@11 → -=x|2+X@11", "L a=|3@12 → a=|3+-@12", "L a=y|4@13 → a=y|4+-@13", "L a=nil@14 →", "R -=z@22 →", "R x=nil@23 →", "L a=x|5@24 → a=x|5+-@24"}},
	{name: "Table.Join", table: func(b *stream.Builder, l, r *kafka.TopicSource[string, string]) *tabled {
		return b.Table(l).Join(b.Table(r), withBoth)
	}, drops: 2, script: scripts{"L a=1@10 →", "R a=x@5 → a=1+x@10", "R a=y@30 → a=1+y@30", "L a=2@20 → a=2+y@30", "L -=3@21 →", "R -=z@22 →", "R a=nil@40 → a=deleted@40", "R b=w@41 →",
		"L a=nil@50 →", "L b=5@60 → b=5+w@60", "L b=nil@61 → b=deleted@61", "R b=nil@62 →", "L c=nil@70 →"}},
	{name: "Table.LeftJoin", table: func(b *stream.Builder, l, r *kafka.TopicSource[string, string]) *tabled {
		return b.Table(l).LeftJoin(b.Table(r), withLeft)
	}, drops: 2, script: scripts{"L a=1@10 → a=1+-@10", "R a=x@5 → a=1+x@10", "R a=y@30 → a=1+y@30", "L a=2@20 → a=2+y@30", "L -=3@21 →", "R -=z@22 →", "R a=nil@40 → a=2+-@40", "R b=w@41 →",
		"L a=nil@50 → a=deleted@50", "L b=5@60 → b=5+w@60", "L b=nil@61 → b=deleted@61", "R b=nil@62 →", "L c=nil@70 →"}},
	{name: "Table.OuterJoin", table: func(b *stream.Builder, l, r *kafka.TopicSource[string, string]) *tabled {
		return b.Table(l).OuterJoin(b.Table(r), withEither)
	}, drops: 2, script: scripts{"L a=1@10 → a=1+-@10", "R a=x@5 → a=1+x@10", "R a=y@30 → a=1+y@30", "L a=2@20 → a=2+y@30", "L -=3@21 →", "R -=z@22 →", "R a=nil@40 → a=2+-@40", "R b=w@41 → b=-+w@41",
		"L a=nil@50 → a=deleted@50", "L b=5@60 → b=5+w@60", "L b=nil@61 → b=-+w@61", "R b=nil@62 → b=deleted@62", "L c=nil@70 →"}},
	{name: "Table.JoinOn", table: func(b *stream.Builder, l, r *kafka.TopicSource[string, string]) *tabled {
		return b.Table(l).JoinOn(b.Table(r), foreignKey, withBoth)
	}, drops: 2, script: scripts{"L a=x|1@10 →", "R x=X@5 → a=x|1+X@5", "R x=Y@30 → a=x|1+Y@30", "L a=x|2@20 → a=x|2+Y@30", "L a=z|3@40 → a=deleted@40", "L a=|4@41 →", "L a=x|5@42 → a=x|5+Y@42",
		"R x=nil@50 → a=deleted@50", "L a=nil@60 →", "L -=x|9@61 →", "R -=Q@62 →"}},
	{name: "Table.LeftJoinOn", table: func(b *stream.Builder, l, r *kafka.TopicSource[string, string]) *tabled {
		return b.Table(l).LeftJoinOn(b.Table(r), foreignKey, withLeft)
	}, drops: 2, script: scripts{"L a=x|1@10 → a=x|1+-@10", "R x=X@5 → a=x|1+X@5", "R x=Y@30 → a=x|1+Y@30", "L a=x|2@20 → a=x|2+Y@30", "L a=z|3@40 → a=z|3+-@40", "L a=|4@41 → a=|4+-@41", "L a=x|5@42 → a=x|5+Y@42",
		"R x=nil@50 → a=x|5+-@50", "L a=nil@60 → a=deleted@60", "L -=x|9@61 →", "R -=Q@62 →"}},
	{name: "Table.Join, at checkpoints", table: func(b *stream.Builder, l, r *kafka.TopicSource[string, string]) *tabled {
		return b.Table(l).Join(b.Table(r), withBoth)
	}, script: scripts{"R a=x@1 L a=1@10 L a=2@11 → a=2+x@11"}},
	{name: "Table.Join, OnUpdate", table: func(b *stream.Builder, l, r *kafka.TopicSource[string, string]) *tabled {
		return b.Table(l).Join(b.Table(r), withBoth, stream.OnUpdate)
	}, script: scripts{"R a=x@1 L a=1@10 L a=2@11 → a=1+x@10 a=2+x@11"}},
	{name: "Table.JoinOn, OnUpdate", table: func(b *stream.Builder, l, r *kafka.TopicSource[string, string]) *tabled {
		return b.Table(l).JoinOn(b.Table(r), foreignKey, withBoth, stream.OnUpdate)
	}, script: scripts{"R x=X@1 L a=x|1@10 L a=x|2@11 → a=x|1+X@10 a=x|2+X@11"}},
}

// Every join does what docs/joins.md says of it: when it emits, with which time, and what nulls and missing keys do.
func TestJoinsDoWhatTheDocumentationSays(t *testing.T) {
	for _, j := range joinCases {
		t.Run(j.name, func(t *testing.T) {
			b := stream.New("joins")
			l, r := kafka.Source("L", serde.String, serde.String), kafka.Source("R", serde.String, serde.String)
			sink := kafka.Sink("out", serde.String, serde.String)
			if j.table != nil {
				j.table(b, l, r).To(sink)
			} else {
				j.build(b, l, r).To(sink)
			}
			dropped := counts{}
			d := streamtest.New(t, b, streamtest.StartAt(millennium), streamtest.ManualCheckpoints(),
				streamtest.Config(func(c *stream.Config) { c.Metrics, c.OnError = dropped, stream.Skip }))
			out := d.Out[string, string]("out")
			for _, step := range j.script {
				in, want, _ := strings.Cut(step, "→")
				for _, send := range regexp.MustCompile(`[LR] \S+|T@\d+`).FindAllString(in, -1) {
					play(t, d, send)
				}
				d.Checkpoint()
				if got := strings.ReplaceAll(show(out.Read()), "\n", " "); got != strings.TrimSpace(want) {
					t.Errorf("%s: got %q", step, got)
				}
			}
			if n := dropped.of("weir_dropped_total", "node"); n != j.drops {
				t.Errorf("%d dropped, want %d: %v", n, j.drops, dropped)
			}
		})
	}
}

// play sends a record of a script: topic key=value@ms.
func play(t *testing.T, d *streamtest.Driver, send string) {
	t.Helper()
	what, at, _ := strings.Cut(send, "@")
	ms, err := strconv.Atoi(at)
	if err != nil {
		t.Fatal(err)
	}
	time := millennium.Add(time.Duration(ms) * time.Millisecond)
	if what == "T" {
		d.In[string, string]("L").Advance(time)
		d.In[string, string]("R").Advance(time)
		return
	}
	key, value, _ := strings.Cut(what[2:], "=")
	r := stream.Record[string, string]{Key: key, Value: value, Time: time}
	r.NoKey, r.Deleted = key == "-", value == "nil"
	d.In[string, string](what[:1]).SendRecord(r)
}

// Every join there is has a row in both tables of docs/joins.md, and a case here.
func TestEveryJoinIsDocumented(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join("..", "docs", "joins.md"))
	if err != nil {
		t.Fatal(err)
	}
	needs, nulls, _ := strings.Cut(string(doc), "## Null keys")
	tested := map[string]bool{}
	for _, j := range joinCases {
		name, _, _ := strings.Cut(j.name, ",")
		tested[name] = true
	}
	names := joinMethods(t)
	if len(names) < len(tested) {
		t.Fatalf("the joins are %q", names)
	}
	for _, name := range names {
		row := regexp.MustCompile("(?m)^\\|[^|]*`" + regexp.QuoteMeta(name) + "`[^|]*\\|")
		if !row.MatchString(needs) || !row.MatchString(nulls) || !tested[name] {
			t.Errorf("%s: it has a row in the first table: %t, in the second: %t, a case: %t", name, row.MatchString(needs), row.MatchString(nulls), tested[name])
		}
	}
}

// joinMethods are the exported methods of streams and tables that are joins.
func joinMethods(t *testing.T) (names []string) {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range parsed.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Recv == nil || !strings.Contains(f.Name.Name, "Join") || !f.Name.IsExported() {
				continue
			}
			of := f.Recv.List[0].Type
			if p, ok := of.(*ast.StarExpr); ok {
				of = p.X
			}
			if x, ok := of.(*ast.IndexListExpr); ok {
				names = append(names, x.X.(*ast.Ident).Name+"."+f.Name.Name)
			}
		}
	}
	return names
}
