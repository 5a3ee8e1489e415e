package answer

import (
	"regexp"
	"strings"
)

// Row21 is a bid with the id of its channel.
type Row21 struct {
	Auction, Bidder, Price int64
	Channel, ChannelID     string
}

// Q21: the bids whose channel has an id: four by their names, the others by their URLs.
func Q21(events Events) (rows []Row21) {
	inURL := regexp.MustCompile(`(&|^)channel_id=([^&]*)`)
	for _, b := range bids(events) {
		id := ""
		switch strings.ToLower(b.Channel) {
		case "apple":
			id = "0"
		case "google":
			id = "1"
		case "facebook":
			id = "2"
		case "baidu":
			id = "3"
		default:
			m := inURL.FindStringSubmatch(b.URL)
			if m == nil {
				continue
			}
			id = m[2]
		}
		rows = append(rows, Row21{b.Auction, b.Bidder, b.Price, b.Channel, id})
	}
	return rows
}
