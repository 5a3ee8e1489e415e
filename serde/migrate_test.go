package serde_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/serde/serdetest"
)

type (
	totalV1 struct{ Amount string }
	totalV2 struct{ Cents int64 }
	totalV3 struct {
		Cents    int64
		Currency string
	}
)

func toV2(t totalV1) (totalV2, error) {
	cents, err := strconv.ParseInt(t.Amount, 10, 64)
	return totalV2{cents}, err
}

func toV3(t totalV2) (totalV3, error) { return totalV3{t.Cents, "EUR"}, nil }

func migrateV2() serde.Serde[totalV2] {
	return serde.Migrate(serde.JSON[totalV1](), serde.JSON[totalV2](), toV2)
}

func migrateV3() serde.Serde[totalV3] { return serde.Migrate(migrateV2(), serde.JSON[totalV3](), toV3) }

func TestMigrateKit(t *testing.T) {
	old := []byte(`{"Amount":"5"}`)
	serdetest.Kit[totalV2]{Serde: migrateV2(), Samples: []totalV2{{}, {7}}, Hostile: [][]byte{old}}.Run(t)
	serdetest.Kit[totalV3]{Serde: migrateV3(), Samples: []totalV3{{}, {7, "USD"}}, Hostile: [][]byte{old}}.Run(t)
	// Every byte is a valid old value here, the mark's too.
	serdetest.Run(t, serde.Migrate(serde.Bytes, serde.String, func(b []byte) (string, error) { return string(b), nil }), "", "a")
}

func TestMigrateReadsAll(t *testing.T) {
	v1, _ := serde.JSON[totalV1]().Append(nil, totalV1{"5"})
	v2, _ := migrateV2().Append(nil, totalV2{6})
	v3, _ := migrateV3().Append(nil, totalV3{7, "USD"})
	for want, b := range map[totalV3][]byte{{5, "EUR"}: v1, {6, "EUR"}: v2, {7, "USD"}: v3} {
		if got, err := migrateV3().Decode(b); err != nil || got != want {
			t.Errorf("%q is read as %v, %v, want %v", b, got, err, want)
		}
	}
	if v, err := migrateV2().Decode([]byte(`{"Amount":"five"}`)); err == nil || !strings.Contains(err.Error(), "migrating a serde_test.totalV1") {
		t.Errorf("a value that does not convert: %v, %v", v, err)
	}
	if v, err := migrateV2().Decode(v3); err == nil {
		t.Errorf("a value from the future: %v", v)
	}
}

func TestMigrateFormats(t *testing.T) {
	for _, stored := range []string{"json", migrateV2().Format(), migrateV3().Format()} {
		if err := serde.Accepts(migrateV3(), stored); err != nil {
			t.Errorf("%q: %v", stored, err)
		}
	}
	for _, stored := range []string{"", "int64", "migrated/1 int64", "migrated/3 json"} {
		if err := serde.Accepts(migrateV3(), stored); !errors.Is(err, serde.ErrIncompatible) {
			t.Errorf("%q: %v", stored, err)
		}
	}
	if err := serde.Accepts(migrateV2(), migrateV3().Format()); !errors.Is(err, serde.ErrIncompatible) {
		t.Errorf("a format from the future: %v", err)
	}
}

func TestMigrateProblems(t *testing.T) {
	if serde.Problem(serde.Migrate[int64, string](serde.Int64, serde.String, nil)) == nil {
		t.Error("no conversion is no problem")
	}
	convert := func(any) (int64, error) { return 0, nil }
	if serde.Problem(serde.Migrate(serde.For[any](), serde.Serde[int64](serde.Int64), convert)) == nil {
		t.Error("the old serde's problem was lost")
	}
	if _, err := serde.Bind(migrateV2(), serde.Binding{Topic: "totals"}); err == nil {
		t.Error("it was bound to a topic")
	}
	bound, err := serde.Bind(migrateV3(), serde.Binding{Internal: true})
	if err != nil || bound.Format() != migrateV3().Format() {
		t.Errorf("bound to state: %v, %v", bound, err)
	}
	// Optional values inside are bound with it.
	s, err := serde.Bind(serde.Migrate(serde.Serde[int64](serde.Int64), serde.Optional(serde.String), func(int64) (*string, error) { return nil, nil }), serde.Binding{Internal: true})
	if err != nil {
		t.Fatal(err)
	}
	if b, err := s.Append(nil, nil); err != nil {
		t.Errorf("a null in migrated state is % x, %v", b, err)
	}
}

// A store of cents as text is opened by a program that counts in numbers.
func ExampleMigrate() {
	s := serde.Migrate(serde.String, serde.Int64, func(old string) (int64, error) { return strconv.ParseInt(old, 10, 64) })

	v, err := s.Decode([]byte("1250")) // written by the old program
	fmt.Println(v, err)

	b, _ := s.Append(nil, v+1) // written by this one
	v, err = s.Decode(b)
	fmt.Println(v, err)

	fmt.Println(serde.Accepts(s, "string"), serde.Accepts(s, "bytes") != nil)
	// Output:
	// 1250 <nil>
	// 1251 <nil>
	// <nil> true
}
