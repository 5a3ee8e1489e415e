package answer

import "strings"

// Row22 is a bid with the directories of its URL.
type Row22 struct {
	Auction, Bidder, Price int64
	Channel                string
	Dir1, Dir2, Dir3       string
}

// Q22: every bid with the fourth, fifth and sixth part of its URL between slashes.
func Q22(events Events) (rows []Row22) {
	for _, b := range bids(events) {
		parts := append(strings.Split(b.URL, "/"), "", "", "", "", "", "")
		rows = append(rows, Row22{b.Auction, b.Bidder, b.Price, b.Channel, parts[3], parts[4], parts[5]})
	}
	return rows
}
