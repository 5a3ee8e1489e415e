package answer

// Row8 is a person who was new in a window.
type Row8 struct {
	ID    int64
	Name  string
	Start int64 // of the window
}

// Q8: who registered and opened an auction within the same 10 s.
func Q8(events Events) (rows []Row8) {
	type seller struct{ id, window int64 }
	sold := map[seller]bool{}
	for _, a := range auctions(events) {
		sold[seller{a.Seller, a.Time / 10_000}] = true
	}
	for _, p := range persons(events) {
		if window := p.Time / 10_000; sold[seller{p.ID, window}] {
			rows = append(rows, Row8{p.ID, p.Name, window * 10_000})
		}
	}
	return rows
}
