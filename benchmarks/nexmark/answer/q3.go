package answer

// Row3 is a seller and what is sold.
type Row3 struct {
	Name, City, State string
	Auction           int64
}

// Q3: each auction of category 10 with its seller, if that lives in Oregon, Idaho or California.
func Q3(events Events) (rows []Row3) {
	people := persons(events)
	for _, a := range auctions(events) {
		for _, p := range people {
			if a.Seller == p.ID && a.Category == 10 && (p.State == "OR" || p.State == "ID" || p.State == "CA") {
				rows = append(rows, Row3{p.Name, p.City, p.State, a.ID})
			}
		}
	}
	return rows
}
