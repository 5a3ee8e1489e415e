package window_test

import (
	"fmt"
	"time"
	_ "time/tzdata"

	"github.com/weirstream/weir/window"
)

var noon = time.Date(2024, time.March, 30, 12, 0, 3, 0, time.UTC)

func ExampleTumbling() {
	fmt.Println(window.Tumbling(time.Minute).Spans(noon))
	fmt.Println(window.Tumbling(time.Minute).Offset(15 * time.Second).Spans(noon))
	// Output:
	// [2024-03-30T12:00:00Z/2024-03-30T12:01:00Z]
	// [2024-03-30T11:59:15Z/2024-03-30T12:00:15Z]
}

func ExampleHopping() {
	for _, s := range window.Hopping(10*time.Second, 4*time.Second).Spans(noon) {
		fmt.Println(s)
	}
	// Output:
	// 2024-03-30T11:59:56Z/2024-03-30T12:00:06Z
	// 2024-03-30T12:00:00Z/2024-03-30T12:00:10Z
}

func ExampleDaily() {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		panic(err)
	}
	days := window.Daily(berlin)
	for _, t := range []time.Time{noon, noon.Add(24 * time.Hour)} {
		day := days.Spans(t)[0]
		fmt.Println(day, day.Duration())
	}
	// Output:
	// 2024-03-29T23:00:00Z/2024-03-30T23:00:00Z 24h0m0s
	// 2024-03-30T23:00:00Z/2024-03-31T22:00:00Z 23h0m0s
}

func ExampleUnlimited() {
	campaign := window.Unlimited(noon)
	fmt.Println(campaign.Spans(noon.Add(time.Hour)), campaign.Spans(noon.Add(-time.Hour)))
	// Output: [2024-03-30T12:00:03Z/..] []
}

func ExampleSpec_Validate() {
	fmt.Println(window.Hopping(time.Second, time.Minute).Grace(-time.Second).Validate())
	// Output:
	// window: hopping(1s, 1m0s).grace(-1s): advance 1m0s exceeds size 1s: records in between would be in no window; grace -1s is negative
}

func ExampleBetween() {
	// A payment comes at most an hour after its order, never before it.
	paid := window.Between(0, time.Hour).Grace(time.Minute)
	fmt.Println(paid, paid.Validate())
	// Output: between(0s, 1h0m0s).grace(1m0s) <nil>
}

func ExampleSession() {
	fmt.Println(window.Session(30 * time.Minute).Grace(time.Minute))
	// Output: session(30m0s).grace(1m0s)
}

func ExampleKey() {
	k := window.Key[string]{Key: "home", Span: window.NewSpan(noon, noon.Add(time.Second))}
	fmt.Println(k)
	// Output: home@2024-03-30T12:00:03Z/2024-03-30T12:00:04Z
}
