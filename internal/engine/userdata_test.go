package engine

import (
	"bytes"
	"compress/flate"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/weirstream/weir/internal/wire"
)

func TestUserDataComesBack(t *testing.T) {
	small := memberData{Version: memberVersion, Instance: "i"}
	large := memberData{Version: memberVersion, State: map[string]int64{}}
	for i := range 1000 {
		large.State[fmt.Sprint("app-count/", i)] = int64(i)
	}
	for _, d := range []memberData{small, large} {
		if got := decodeMember(d.encode()); !reflect.DeepEqual(got, d) {
			t.Errorf("%d tasks came back as %d", len(d.State), len(got.State))
		}
	}
	if n := len(large.encode()); n > 12_000 {
		t.Errorf("1,000 tasks take %d bytes", n)
	}
}

// What a member says is somebody else's bytes.
func TestUserDataOfOthers(t *testing.T) {
	var bomb bytes.Buffer
	w, err := flate.NewWriter(&bomb, flate.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	for range dataMost>>20 + 1 {
		if _, err := w.Write(make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for want, b := range map[string][]byte{
		"of another form": []byte("what"),
		"damaged":         {compressed, 0xff, 0xff},
		"larger than":     append([]byte{compressed}, bomb.Bytes()...),
	} {
		if got := decodeMember(b).Problem; !strings.Contains(got, want) {
			t.Errorf("%q, want %q in it", got, want)
		}
	}
}

// docs/scale.md has these figures: what a coordinator keeps of a group in one record, when all is calm.
func TestUserDataOfLargeGroups(t *testing.T) {
	for _, c := range []struct{ members, tasks, told, answered int }{
		{10, 1_000, 4_000, 2_000},
		{100, 10_000, 40_000, 30_000},
		{1_000, 10_000, 400_000, 2_200_000},
	} {
		refs := refsOf(c.tasks, "shop-orders-by-customer")
		refs[0].sub.Stores = []Store{{Name: "s", Changelog: true}}
		var members []wire.Member
		told := 0
		for i := range c.members {
			d := memberData{Version: memberVersion, Instance: fmt.Sprint("shop-", i), State: map[string]int64{}}
			m := wire.Member{ID: d.Instance, Instance: d.Instance}
			for p := i; p < c.tasks; p += c.members {
				d.State[refs[p].name()] = 0
				m.Owned = append(m.Owned, refs[p].partitions...)
			}
			m.UserData = d.encode()
			told += len(m.UserData)
			members = append(members, m)
		}
		answered := 0
		for _, a := range plan(refs, members, placing{moveLag: 10_000}) {
			answered += len(a.UserData)
		}
		t.Logf("%d members, %d tasks: %d bytes told, %d answered", c.members, c.tasks, told, answered)
		if told > c.told || answered > c.answered {
			t.Errorf("%d members, %d tasks: %d bytes told, %d answered, want at most %d and %d", c.members, c.tasks, told, answered, c.told, c.answered)
		}
	}
}
