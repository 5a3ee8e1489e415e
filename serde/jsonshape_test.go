package serde

import (
	"errors"
	"math/big"
	"strings"
	"testing"
	"time"
)

type shapeTree struct {
	Name string
	Kids []*shapeTree
}

type shapeBase struct {
	ID   int `json:"id"`
	Name string
}

func TestJSONFormatGolden(t *testing.T) {
	type all struct {
		shapeBase
		Name  *string        `json:"Name"`
		N     int64          `json:"n,string,omitempty"`
		Raw   [4]byte        `json:"raw"`
		Skip  func()         `json:"-"`
		At    time.Time      `json:"at"`
		Took  time.Duration  `json:"took"`
		Lists [][]uint8      `json:"lists"`
		ByKey map[int]uint32 `json:"by key"`
		Any   any            `json:"any"`
		Tree  *shapeTree     `json:"tree"`
	}
	want := `json {"Root":"#0","Structs":[{"Name":"string","any":"any","at":"custom time.Time","by key":"{}uint32","id":"int64","lists":"[]bytes","n":"string","raw":"bytes","took":"int64","tree":"#1"},` +
		`{"Kids":"[]#1","Name":"string"}]}`
	if got := JSON[all]().Format(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for want, got := range map[string]string{"json": JSON[any]().Format(), `json {"Root":"{}[]float32","Structs":[]}`: JSON[map[string][]float32]().Format(), `json {"Root":"custom big.Int","Structs":[]}`: JSON[*big.Int]().Format()} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// evolves checks whether JSON[Now] opens what JSON[Was] wrote: field is the one that it must not, "" when it must.
func evolves[Was, Now any](t *testing.T, field string) {
	t.Helper()
	err := Accepts(JSON[Now](), JSON[Was]().Format())
	switch {
	case field == "" && err != nil:
		t.Error(err)
	case field != "" && (!errors.Is(err, ErrIncompatible) || !strings.Contains(err.Error(), field)):
		t.Errorf("error is %v, want field %q", err, field)
	}
}

func TestJSONEvolves(t *testing.T) {
	type (
		v1      struct{ A int32 }
		wider   struct{ A int64 }
		float   struct{ A float64 }
		more    struct{ A, B int32 }
		none    struct{}
		text    struct{ A string }
		pointer struct{ A *int32 }
		anyone  struct{ A any }
		renamed struct {
			X int32 `json:"A"`
		}
		list   struct{ A []v1 }
		list2  struct{ A []text }
		dict   struct{ A map[string]v1 }
		moment struct{ A time.Time }
		tree2  struct {
			Name string
			Kids []*tree2
		}
		tree3 struct {
			Name int
			Kids []tree3
		}
		big64 struct{ A int64 }
	)
	evolves[v1, v1](t, "")
	evolves[v1, wider](t, "")
	evolves[v1, float](t, "")
	evolves[v1, more](t, "")
	evolves[more, v1](t, "")
	evolves[v1, none](t, "")
	evolves[v1, pointer](t, "")
	evolves[pointer, v1](t, "")
	evolves[v1, anyone](t, "")
	evolves[v1, renamed](t, "")
	evolves[list, list](t, "")
	evolves[shapeTree, tree2](t, "")
	evolves[any, v1](t, "")
	evolves[v1, any](t, "")
	evolves[v1, text](t, "serde.text.A was int32, and is string")
	evolves[wider, v1](t, "serde.v1.A was int64, and is int32")
	evolves[big64, float](t, "serde.float.A was int64, and is float64")
	evolves[float, v1](t, "serde.v1.A was float64, and is int32")
	evolves[anyone, v1](t, "serde.v1.A was any, and is int32")
	evolves[list, list2](t, "serde.list2.A[].A was int32, and is string")
	evolves[list, dict](t, "serde.dict.A was a list, and is a map")
	evolves[dict, v1](t, "serde.v1.A was a map, and is int32")
	evolves[v1, moment](t, "serde.moment.A was int32, and is custom time.Time")
	evolves[shapeTree, tree3](t, "serde.tree3.Name was string, and is int64")
	evolves[v1, []v1](t, "[]serde.v1 was an object, and is a list")
	for _, bad := range []string{"int64", "", "json {", `json {"Root":"#5"}`, `json {"Root":"#x"}`, "json 5"} {
		if err := Accepts(JSON[v1](), bad); !errors.Is(err, ErrIncompatible) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// What the shape says must be what JSON does: values of an accepted older type decode.
func TestJSONEvolvesInFact(t *testing.T) {
	type v1 struct {
		A int32
		B []string
		C *int8
	}
	type v2 struct {
		A float64
		B []string
		C int64
		D map[string]int
	}
	evolves[v1, v2](t, "")
	c := int8(-5)
	for _, v := range []v1{{}, {A: 5, B: []string{"x"}, C: &c}} {
		b, err := JSON[v1]().Append(nil, v)
		if err != nil {
			t.Fatal(err)
		}
		got, err := JSON[v2]().Decode(b)
		if err != nil || got.A != float64(v.A) || len(got.B) != len(v.B) || v.C != nil && got.C != int64(*v.C) {
			t.Errorf("%s is read as %+v, %v", b, got, err)
		}
	}
}
