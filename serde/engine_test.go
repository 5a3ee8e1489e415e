package serde

import (
	"errors"
	"maps"
	"testing"
	"time"

	"github.com/weirstream/weir/window"
)

func TestPlain(t *testing.T) {
	for name, got := range map[string]bool{
		"int": Plain[int](), "string": Plain[string](), "time": Plain[time.Time](), "unit": Plain[struct{}](),
		"array": Plain[[4]string](), "empty array": Plain[[0][]int](), "key": Plain[window.Key[string]](),
		"struct": Plain[struct {
			a int
			B struct{ C time.Time }
		}](),
	} {
		if !got {
			t.Errorf("%s is not plain", name)
		}
	}
	for name, got := range map[string]bool{
		"slice": Plain[[]int](), "bytes": Plain[[]byte](), "map": Plain[map[int]int](), "pointer": Plain[*int](), "any": Plain[any](),
		"func": Plain[func()](), "chan": Plain[chan int](), "nested": Plain[struct{ A [2]struct{ B []int } }](), "key": Plain[window.Key[[]byte]](),
	} {
		if got {
			t.Errorf("%s is plain", name)
		}
	}
}

// counts clones itself, and says how often.
type counts map[string]int

func (c counts) Clone() counts { c["clones"]++; return maps.Clone(c) }

// node is a pointer that clones itself.
type node struct{ N int }

func (n *node) Clone() *node { c := *n; return &c }

func TestCloner(t *testing.T) {
	clone := Cloner(JSON[[]int]())
	original := []int{1, 2}
	copied, err := clone(original)
	original[0] = 9
	if err != nil || copied[0] != 1 || len(copied) != 2 {
		t.Errorf("a copy through JSON is %v, %v", copied, err)
	}
	if again, err := clone([]int{5}); err != nil || again[0] != 5 || copied[1] != 2 {
		t.Errorf("the second copy is %v and the first %v, %v", again, copied, err)
	}

	own, err := Cloner(JSON[counts]())(counts{"a": 1})
	if err != nil || own["clones"] != 1 {
		t.Errorf("Clone was not called: %v, %v", own, err)
	}
	if n, err := Cloner(JSON[*node]())(nil); n != nil || err != nil {
		t.Errorf("a copy of nil is %v, %v", n, err)
	}
	n := &node{1}
	if c, err := Cloner(JSON[*node]())(n); err != nil || c == n || c.N != 1 {
		t.Errorf("a copy of a node is %v, %v", c, err)
	}
	if v, err := Cloner[int](nil)(5); v != 5 || err != nil {
		t.Errorf("a plain value is %v, %v", v, err)
	}
	fails := New("f", func(dst []byte, v []int) ([]byte, error) { return dst, errNull }, JSON[[]int]().Decode)
	if _, err := Cloner(fails)(nil); !errors.Is(err, errNull) {
		t.Errorf("an error of Append is %v", err)
	}
}

// topical depends on where it is used.
type topical struct{ stringSerde }

func (topical) Bind(at Binding) (Serde[string], error) {
	if at.Topic == "" {
		return nil, errors.New("no topic")
	}
	return New(at.Topic, String.Append, String.Decode), nil
}

func TestBindReachesInside(t *testing.T) {
	s := Windowed(Optional[string](topical{}))
	b, err := Bind(s, Binding{Topic: "clicks"})
	if err != nil || b.Format() != "windowed optional clicks" {
		t.Errorf("bound as %v, %v", b, err)
	}
	if _, err := Bind(s, Binding{}); err == nil {
		t.Error("an error of Bind was lost")
	}
	if s, err := Bind[string](String, Binding{}); err != nil || s != Serde[string](String) {
		t.Errorf("a serde that is no Binder became %v, %v", s, err)
	}
}

// A null is bytes in state, where a null would be a deletion, and is not bytes in a topic.
func TestOptionalBinds(t *testing.T) {
	outside, _ := Bind(Optional(String), Binding{})
	inside, _ := Bind(Optional(String), Binding{Internal: true})
	v := "x"
	if b, err := outside.Append(nil, &v); err != nil || string(b) != "x" {
		t.Errorf("in a topic: %q, %v", b, err)
	}
	if b, err := inside.Append(nil, &v); err != nil || string(b) != "\x01x" {
		t.Errorf("in state: %q, %v", b, err)
	}
	if b, err := inside.Append(nil, nil); err != nil || string(b) != "\x00" {
		t.Errorf("null in state: %q, %v", b, err)
	}
	if _, ok := outside.(Nullable[*string]); !ok {
		t.Error("in a topic, null is not told")
	}
	if _, ok := inside.(Nullable[*string]); ok {
		t.Error("in state, null would become a deletion")
	}
}

func TestAccepts(t *testing.T) {
	if err := Accepts[string](String, "string"); err != nil {
		t.Error(err)
	}
	if err := Accepts[string](String, "json"); !errors.Is(err, ErrIncompatible) {
		t.Errorf("another format: %v", err)
	}
}
