package cases

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A family is one file.
type family struct {
	Family     string          `json:"family"`
	SourceRepo string          `json:"source_repo"`
	Commit     string          `json:"commit"`
	Schema     json.RawMessage `json:"schema"`
	Cases      []*testCase     `json:"cases"`
}

// A testCase is what the README of the folder says. Fields that it does not have fail the decoder: a new one must be understood first.
type testCase struct {
	Name        string            `json:"name"`
	SourceTest  string            `json:"source_test"`
	Operation   string            `json:"operation"`
	Params      params            `json:"params"`
	Inputs      []input           `json:"inputs"`
	Match       json.RawMessage   `json:"match"`
	Checkpoints []json.RawMessage `json:"checkpoints"`
	Expected    []result          `json:"expected"`
	States      []tableState      `json:"table_states"`
	Queries     []query           `json:"queries"`
	Notes       string            `json:"notes"`

	KnownQuirk        bool  `json:"known_quirk"`
	DerivedBaseTime   bool  `json:"derived_base_time"`
	DerivedInputOrder bool  `json:"derived_input_order"`
	ExpectedFromModel bool  `json:"expected_from_model"`
	DroppedInputs     []int `json:"dropped_inputs"`
	ErrorAfterInput   *int  `json:"error_after_input"`
	ErrorOnBuild      bool  `json:"error_on_build"`
	AnyOrderOfFirst   int   `json:"any_order_of_first_inputs"`
	Count             *int  `json:"count"`
	TotalOutputs      *int  `json:"total_outputs"`

	family string
}

// params are the parameters of all operations.
type params struct {
	Window         *windowParams `json:"window"`
	Join           *joinParams   `json:"join"`
	Emit           string        `json:"emit"`
	EmitInterval   *int64        `json:"emit_interval_ms"`
	Aggregation    string        `json:"aggregation"`
	Aggregators    string        `json:"aggregators"`
	SessionMerger  string        `json:"session_merger"`
	Reducer        string        `json:"reducer"`
	Adder          string        `json:"adder"`
	Subtractor     string        `json:"subtractor"`
	Initializer    string        `json:"initializer"`
	GroupBy        string        `json:"group_by"`
	Joiner         string        `json:"joiner"`
	KeySelector    string        `json:"key_selector"`
	ForeignKey     string        `json:"foreign_key"`
	Rejoin         string        `json:"rejoin"`
	Before         int64         `json:"before_ms"`
	After          int64         `json:"after_ms"`
	Grace          int64         `json:"grace_ms"`
	Eager          bool          `json:"eager"`
	Topology       string        `json:"topology"`
	Outputs        string        `json:"outputs"`
	Mapper         string        `json:"mapper"`
	KeyMapper      string        `json:"key_mapper"`
	Transformer    string        `json:"transformer"`
	Predicate      string        `json:"predicate"`
	Branches       []string      `json:"branches"`
	Default        string        `json:"default"`
	Partitioner    string        `json:"partitioner"`
	Processor      string        `json:"processor"`
	Handler        string        `json:"handler"`
	MaxTaskIdle    int64         `json:"max_task_idle_ms"`
	Interval       int64         `json:"interval_ms"`
	FirstDue       int64         `json:"first_due_ms"`
	Start          int64         `json:"start_ms"`
	Punctuator     string        `json:"punctuator"`
	Limit          int64         `json:"limit_ms"`
	Buffer         string        `json:"buffer"`
	Retention      int64         `json:"store_retention_ms"`
	History        int64         `json:"history_retention_ms"`
	Cached         *bool         `json:"cached"`
	Materialized   *bool         `json:"materialized"`
	SourceStored   *bool         `json:"source_materialized"`
	SendsOld       *bool         `json:"sends_old_values"`
	SourceSendsOld *bool         `json:"source_sends_old_values"`
	SourceStore    string        `json:"source_store"`
	TableStore     string        `json:"table_store"`
	LeftStore      string        `json:"left_store"`
	RightStore     string        `json:"right_store"`
}

type windowParams struct {
	Type       string `json:"type"`
	Size       int64  `json:"size_ms"`
	Advance    int64  `json:"advance_ms"`
	Grace      int64  `json:"grace_ms"`
	Gap        int64  `json:"gap_ms"`
	Difference int64  `json:"time_difference_ms"`
	Start      int64  `json:"start_ms"`
}

type joinParams struct {
	Before int64  `json:"before_ms"`
	After  int64  `json:"after_ms"`
	Grace  int64  `json:"grace_ms"`
	Joiner string `json:"joiner"`
}

// An input is a record, or a control item when Op is set.
type input struct {
	Side       string          `json:"side"`
	Key        value           `json:"key"`
	Value      value           `json:"value"`
	TS         *int64          `json:"ts"`
	Old        value           `json:"old"`
	Window     *windowSpan     `json:"window"`
	Op         string          `json:"op"`
	MS         int64           `json:"ms"`
	N          int             `json:"n"`
	PutValidTo json.RawMessage `json:"put_valid_to"`
}

// A result is a record that is expected.
type result struct {
	AfterInput  int         `json:"after_input"`
	Out         string      `json:"out"`
	Key         value       `json:"key"`
	Value       value       `json:"value"`
	TS          *int64      `json:"ts"`
	Window      *windowSpan `json:"window"`
	Old         *value      `json:"old"`
	PunctuateAt *int64      `json:"punctuate_at"`
}

type windowSpan struct {
	Start int64  `json:"start"`
	End   *int64 `json:"end"`
}

// A query is of a versioned table: the latest version, that as of a time, or those of a range of times.
type query struct {
	AfterInput int             `json:"after_input"`
	Key        value           `json:"key"`
	Mode       string          `json:"mode"`
	AsOf       int64           `json:"as_of"`
	From       *int64          `json:"from"`
	To         *int64          `json:"to"`
	Order      string          `json:"order"`
	Result     json.RawMessage `json:"result"` // a version, null, or a list of versions
}

// A version is a row of a versioned table.
type version struct {
	Value   value  `json:"value"`
	TS      int64  `json:"ts"`
	ValidTo *int64 `json:"valid_to"`
}

type tableState struct {
	AfterInput int      `json:"after_input"`
	Table      string   `json:"table"`
	Rows       []result `json:"rows"`
	Absent     []value  `json:"absent"`
}

// load reads every file of the folder.
func load(t *testing.T) []*testCase {
	t.Helper()
	dir := folder(t)
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases in %q: %v", dir, err)
	}
	var all []*testCase
	names := map[string]bool{}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var f family
		d := json.NewDecoder(bytes.NewReader(data))
		d.DisallowUnknownFields()
		if err := d.Decode(&f); err != nil {
			t.Fatalf("%s: %v", filepath.Base(name), err)
		}
		for _, c := range f.Cases {
			if names[c.Name] {
				t.Fatalf("%s: case %s is there twice", filepath.Base(name), c.Name)
			}
			names[c.Name] = true
			c.family = f.Family
			all = append(all, c)
		}
	}
	return all
}

// folder is where the cases are. CI must have them; elsewhere their absence is a skip that says so.
func folder(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("WEIR_CASES")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "cases")
	}
	if _, err := os.Stat(dir); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("the semantic cases are not at %q: set WEIR_CASES", dir)
		}
		t.Skipf("SKIPPED: the semantic cases are not at %q: set WEIR_CASES to run them", dir)
	}
	return dir
}

// modes are the match mode of each output: one for all, or one each.
func (c *testCase) mode(out string) (string, error) {
	var one string
	if json.Unmarshal(c.Match, &one) == nil {
		return one, nil
	}
	var each map[string]string
	if err := json.Unmarshal(c.Match, &each); err != nil {
		return "", fmt.Errorf("match %s is neither a mode nor modes", c.Match)
	}
	m, ok := each[out]
	if !ok {
		return "", fmt.Errorf("match %s says nothing of output %q", c.Match, out)
	}
	return m, nil
}

// checkpoints are the inputs after which an output is compared.
func (c *testCase) checkpoints(out string) (at []int, err error) {
	for _, raw := range c.Checkpoints {
		var i int
		if json.Unmarshal(raw, &i) == nil {
			at = append(at, i)
			continue
		}
		var pair [2]json.RawMessage
		var name string
		if err := json.Unmarshal(raw, &pair); err != nil {
			return nil, fmt.Errorf("checkpoint %s: %w", raw, err)
		}
		if err := json.Unmarshal(pair[0], &i); err != nil {
			return nil, fmt.Errorf("checkpoint %s: %w", raw, err)
		}
		if err := json.Unmarshal(pair[1], &name); err != nil {
			return nil, fmt.Errorf("checkpoint %s: %w", raw, err)
		}
		if name == out {
			at = append(at, i)
		}
	}
	return at, nil
}

// outs are the outputs that the case speaks of.
func (c *testCase) outs() []string {
	seen := map[string]bool{}
	var names []string
	add := func(name string) {
		if !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	for _, e := range c.Expected {
		add(outName(e.Out))
	}
	for _, raw := range c.Checkpoints {
		if s := string(raw); strings.HasPrefix(s, "[") {
			var pair [2]any
			_ = json.Unmarshal(raw, &pair)
			add(pair[1].(string))
		}
	}
	if len(names) == 0 {
		add(outName(""))
	}
	return names
}

// outName is the name of an output; that of the only one is left out in a case.
func outName(name string) string {
	if name == "" {
		return "out"
	}
	return name
}
