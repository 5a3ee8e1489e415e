package serde_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/window"
)

// show prints what a value is encoded as, and what that decodes to.
func show[T any](s serde.Serde[T], v T) {
	b, err := s.Append(nil, v)
	if err != nil {
		fmt.Println(err)
		return
	}
	got, err := s.Decode(b)
	fmt.Printf("%x %v %v\n", b, got, err)
}

func Example_builtins() {
	show(serde.String, "weir")
	show(serde.Bytes, []byte{1, 2})
	show(serde.Bool, true)
	show(serde.Int32, -1)
	show(serde.Int64, 1)
	show(serde.Uint64, 1)
	show(serde.Float64, -1.5)
	show(serde.Time, time.Date(2013, 1, 1, 5, 15, 0, 0, time.UTC))
	show(serde.Unit, struct{}{})
	// Output:
	// 77656972 weir <nil>
	// 0102 [1 2] <nil>
	// 01 true <nil>
	// 7fffffff -1 <nil>
	// 8000000000000001 1 <nil>
	// 0000000000000001 1 <nil>
	// 4007ffffffffffff -1.5 <nil>
	// 8000013bf488bc20 2013-01-01 05:15:00 +0000 UTC <nil>
	//  {} <nil>
}

func ExampleJSON() {
	type Click struct {
		Page string        `json:"page"`
		Took time.Duration `json:"took"`
	}
	s := serde.JSON[Click]()
	b, _ := s.Append([]byte("appended: "), Click{"/home", time.Millisecond})
	fmt.Printf("%s\n", b)

	_, err := s.Decode([]byte(`{"page":"/home","page":"/cart"}`))
	fmt.Println(err != nil)
	// Output:
	// appended: {"page":"/home","took":1000000}
	// true
}

func ExampleFor() {
	type UserID string
	//lint:ignore U1000 a hidden field is what JSON would lose
	type Total struct{ Amount, count int }

	fmt.Println(serde.For[UserID]().Format(), serde.IsOrdered(serde.For[UserID]()))
	fmt.Println(serde.For[map[string]int]().Format())
	fmt.Println(serde.Problem(serde.For[Total]()))
	// Output:
	// string true
	// json {"Root":"{}int64","Structs":[]}
	// serde.For[serde_test.Total]: count: JSON loses unexported fields; export it, give the type its own AppendBinary and UnmarshalBinary, or use serde.New
}

// A point in 16 bytes.
func ExampleNew() {
	type Point struct{ X, Y uint64 }
	s := serde.New("point/1",
		func(dst []byte, p Point) ([]byte, error) {
			return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(dst, p.X), p.Y), nil
		},
		func(b []byte) (Point, error) {
			if len(b) != 16 {
				return Point{}, errors.New("a point has 16 bytes")
			}
			return Point{binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])}, nil
		})
	show(s, Point{1, 2})
	// Output: 00000000000000010000000000000002 {1 2} <nil>
}

// A source with an optional value sees deletions as nil, where it would drop them.
func ExampleOptional() {
	s := serde.Optional(serde.String)
	name := "Ada"
	b, _ := s.Append(nil, &name)
	fmt.Printf("%s\n", b)

	null := s.(serde.Nullable[*string])
	fmt.Println(null.IsNull(&name), null.IsNull(nil), null.Null())
	// Output:
	// Ada
	// false true <nil>
}

func ExampleWindowed() {
	s := serde.Windowed(serde.String)
	start := time.Date(2013, 1, 1, 0, 0, 0, 0, time.UTC)
	b, _ := s.Append(nil, window.Key[string]{Key: "JFK", Span: window.NewSpan(start, start.Add(time.Hour))})
	k, _ := s.Decode(b)
	fmt.Println(k.Key, k.Span.Start().Format(time.TimeOnly), k.Span.End().Format(time.TimeOnly))
	// Output: JFK 00:00:00 01:00:00
}
