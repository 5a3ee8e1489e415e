package answer

// Row10 is a bid and the directory of a file system that it would be logged to.
type Row10 struct {
	Row0
	Day, Minute string // yyyy-MM-dd, HH:mm
}

// Q10: every bid with the day and the minute that partition the log.
func Q10(events Events) (rows []Row10) {
	for _, r := range Q0(events) {
		rows = append(rows, Row10{r, day(r.Time), utc(r.Time).Format("15:04")})
	}
	return rows
}
