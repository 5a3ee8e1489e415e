package main

import (
	"strings"
	"testing"

	"github.com/weirstream/weir/stream/streamtest"
)

func TestLettersSayWhy(t *testing.T) {
	d := streamtest.New(t, topology())
	in, out := d.In[string, string]("amounts"), d.Out[string, int64]("cents")
	dead := d.Out[[]byte, []byte]("amounts-dead")
	rates := d.In[string, int64]("rates")
	rates.Send("k", 100)
	rates.SendBytes([]byte("k"), []byte("dear"))
	rates.Send("free", 0)
	for _, amount := range []string{"7", "seven", "-1", "2000000", "8"} {
		in.Send("k", amount)
	}
	in.SendBytes([]byte("k"), []byte("\xff"))
	in.Send("free", "9")

	if got := out.Read(); len(got) != 2 || got[0].Value != 700 || got[1].Value != 800 {
		t.Errorf("got %v", got)
	}
	letters := dead.Read()
	want := []struct{ value, reason string }{
		{"dear", "invalid character"}, {"seven", "invalid syntax"}, {"-1", "negative amount from amounts/0@2"}, {"2000000", "not plausible"}, {"\xff", ""}, {"9", "rate is not positive"},
	}
	if len(letters) != len(want) {
		t.Fatalf("letters: %v", letters)
	}
	for i, w := range want {
		reason, _ := letters[i].Headers.Get("weir.error")
		if string(letters[i].Value) != w.value || !strings.Contains(reason, w.reason) {
			t.Errorf("letter %d is %q because %q, want %q because %q", i, letters[i].Value, reason, w.value, w.reason)
		}
	}
}
