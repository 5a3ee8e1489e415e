package serde

import (
	"encoding/json/v2"
	"errors"
	"math/big"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"
)

type (
	//lint:ignore U1000 a hidden field is what For refuses
	hidden    struct{ secret int }
	inner     struct{ Seen int }
	tree      struct{ Left, Right *tree }
	cyclic    struct{ Next map[string][]*cyclic }
	hasHidden struct {
		Deep map[string][]*struct{ H hidden }
	}
	oneWay struct{ N int }
	//lint:ignore U1000 a hidden field is fine behind methods of its own
	twoWays  struct{ n int }
	pointKey struct{ X, Y int }
)

func (oneWay) MarshalJSON() ([]byte, error)      { return []byte("1"), nil }
func (twoWays) MarshalText() ([]byte, error)     { return []byte("1"), nil }
func (*twoWays) UnmarshalText(text []byte) error { return nil }

// message looks like a generated Protobuf message.
//
//lint:ignore U1000 generated code has such a field
type message struct{ state int }

func (*message) ProtoReflect() int { return 0 }

func TestForRefuses(t *testing.T) {
	refusal[hidden](t, "secret: JSON loses unexported fields")
	refusal[hasHidden](t, "Deep[][][].H.secret: JSON loses unexported fields")
	refusal[struct{ V any }](t, "V: JSON loses which type is in an interface")
	refusal[struct{ Err error }](t, "Err: JSON loses which type")
	refusal[any](t, "interface")
	refusal[[]any](t, "[]: JSON loses which type")
	refusal[map[string]any](t, "[]: JSON loses which type")
	refusal[error](t, "interface")
	refusal[struct{ F func() }](t, "F: JSON has no form for func()")
	refusal[chan int](t, "no form for chan int")
	refusal[complex128](t, "no form for complex128")
	refusal[map[bool]int](t, "keys of type bool")
	refusal[map[pointKey]int](t, "keys of type serde.pointKey")
	refusal[struct{ mu sync.Mutex }](t, "mu: JSON loses unexported")
	refusal[struct{ *inner }](t, "inner: JSON loses unexported")
	refusal[struct {
		inner `json:"named"`
	}](t, "inner: JSON loses unexported")
	refusal[struct{ O oneWay }](t, "O: serde.oneWay marshals itself but cannot be unmarshaled")
	refusal[*message](t, "Protobuf message: name its serde")
}

// refusal checks that For[T] has a problem that says this, and that using it all the same is an error, not a panic.
func refusal[T any](t *testing.T, want string) {
	t.Helper()
	s := For[T]()
	err := Problem(s)
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("problem is %v, want one with %q", err, want)
	}
	if _, err := Bind(s, Binding{}); err == nil {
		t.Error("it can be bound")
	}
	if _, err := s.Append(nil, *new(T)); err == nil {
		t.Error("it encodes")
	}
	if _, err := s.Decode(nil); err == nil {
		t.Error("it decodes")
	}
}

func TestForAccepts(t *testing.T) {
	format[string](t, "string")
	format[[]byte](t, "bytes")
	format[time.Time](t, "time")
	format[struct{}](t, "unit")
	format[int](t, "int64")
	format[uint8](t, "uint64")
	format[float32](t, "float64")
	format[time.Duration](t, "int64")
	format[netip.Addr](t, "binary netip.Addr")
	format[*netip.Addr](t, "binary *netip.Addr")
	format[tree](t, "json")
	format[*tree](t, "json")
	format[cyclic](t, "json")
	format[[]string](t, "json")
	format[[3]int](t, "json")
	format[map[int]string](t, "json")
	format[map[twoWays]int](t, "json")
	format[big.Int](t, "json")
	format[*big.Int](t, "json")
	format[struct{ inner }](t, "json")
	format[struct {
		A int
		_ int
	}](t, "json")
	format[struct {
		A func() `json:"-"`
	}](t, "json")
	format[struct {
		D time.Duration
		T time.Time
		W twoWays
	}](t, "json")
}

func format[T any](t *testing.T, want string) {
	t.Helper()
	s := For[T]()
	got, _, _ := strings.Cut(s.Format(), " {") // what JSON looks like has its own test
	if err := Problem(s); err != nil || got != want {
		t.Errorf("%T: format %q, problem %v, want %q", *new(T), s.Format(), err, want)
	}
}

// What lossless accepts must be what encoding/json/v2 does, or For would promise too much.
func TestLosslessAgreesWithJSON(t *testing.T) {
	type embeds struct{ inner }
	want := embeds{inner{7}}
	s := For[embeds]()
	b, err := s.Append(nil, want)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.Decode(b); err != nil || got != want {
		t.Errorf("%s decodes as %v, %v", b, got, err)
	}
	if _, err := json.Marshal(map[bool]int{true: 1}); err == nil {
		t.Error("maps with bool keys work now: let them through")
	}
}

func TestForOrder(t *testing.T) {
	if !IsOrdered(For[int]()) || !IsOrdered(For[string]()) || !IsOrdered(For[time.Duration]()) {
		t.Error("a scalar lost its order")
	}
	if IsOrdered(For[bool]()) || IsOrdered(For[tree]()) || IsOrdered(For[netip.Addr]()) || IsOrdered(Optional(Int64)) {
		t.Error("something is ordered that is not")
	}
}

func TestForNilMarshaler(t *testing.T) {
	if b, err := For[*netip.Addr]().Append(nil, nil); err == nil {
		t.Errorf("a nil pointer encodes as % x", b)
	}
}

func TestForNarrowRange(t *testing.T) {
	wide, _ := Int64.Append(nil, 1<<20)
	if v, err := For[int8]().Decode(wide); err == nil {
		t.Errorf("1<<20 decodes as int8 %d", v)
	}
	if v, err := For[uint16]().Decode([]byte{0, 0, 0, 0, 0, 1, 0, 0}); err == nil {
		t.Errorf("65536 decodes as uint16 %d", v)
	}
	third, _ := Float64.Append(nil, 1.0/3)
	if v, err := For[float32]().Decode(third); err == nil {
		t.Errorf("a third decodes as float32 %v", v)
	}
}

func TestNewProblems(t *testing.T) {
	app := func(dst []byte, v int) ([]byte, error) { return dst, nil }
	dec := func(b []byte) (int, error) { return 0, nil }
	for name, s := range map[string]Serde[int]{"format": New("", app, dec), "append": New[int]("a", nil, dec), "decode": New("a", app, nil), "nil": nil} {
		if Problem(s) == nil {
			t.Errorf("%s: no problem", name)
		}
	}
	if err := Problem(Windowed(Optional(New("", app, dec)))); !errors.Is(err, errNoFormat) {
		t.Errorf("a wrapped problem is %v", err)
	}
}
