package report

import (
	"fmt"
	"html"
	"strings"
)

// The chart's measures, in pixels.
const (
	chartWidth = 760
	nameWidth  = 190
	figWidth   = 150
	barHeight  = 20
	barGap     = 8
	barSpace   = chartWidth - nameWidth - figWidth
)

// SVG draws each group as bars, shortest is best, with a line from the least to the greatest run. Bars of one group share
// a scale; groups do not.
func (s *Suite) SVG() string {
	var b strings.Builder
	y := 28
	b.WriteString(label(10, y, "start", 15, "bold", s.Title))
	y += 20
	b.WriteString(label(10, y, "start", 11, "normal", s.Machine.String()))
	y += 14
	for _, g := range s.Groups {
		y = g.draw(&b, y)
	}
	head := fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" font-family="sans-serif">`, chartWidth, y+10, chartWidth)
	return head + "\n" + `<rect width="100%" height="100%" fill="#ffffff"/>` + "\n" + b.String() + "</svg>\n"
}

// draw appends one group below y and returns where it ends.
func (g Group) draw(b *strings.Builder, y int) int {
	y += 26
	b.WriteString(label(10, y, "start", 13, "bold", g.Name+" ("+g.Unit+")"))
	y += 10
	longest := 0.0
	for _, r := range g.Rows {
		longest = max(longest, r.Cost().Max)
	}
	for i, r := range g.Rows {
		middle := y + barHeight/2
		b.WriteString(label(nameWidth-8, middle+4, "end", 12, "normal", r.System))
		c := r.Cost()
		if len(r.Runs) == 0 || longest == 0 {
			b.WriteString(label(nameWidth+4, middle+4, "start", 12, "normal", "no figure"))
			y += barHeight + barGap
			continue
		}
		scale := func(v float64) float64 { return v / longest * barSpace }
		colour := "#9aa5b1"
		if i == 0 {
			colour = "#1f6feb"
		}
		fmt.Fprintf(b, `<rect x="%d" y="%d" width="%.1f" height="%d" fill="%s"/>`+"\n", nameWidth, y, scale(c.Median), barHeight, colour)
		fmt.Fprintf(b, `<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke="#24292f"/>`+"\n", nameWidth+scale(c.Min), middle, nameWidth+scale(c.Max), middle)
		b.WriteString(label(nameWidth+int(scale(c.Max))+8, middle+4, "start", 12, "normal", number(c.Median)+g.ratio(r)))
		y += barHeight + barGap
	}
	return y
}

// ratio says how a row stands to the first one.
func (g Group) ratio(r Row) string {
	base := g.Rows[0].Cost().Median
	if base == 0 || r.System == g.Rows[0].System {
		return ""
	}
	return fmt.Sprintf("  (%.1f×)", r.Cost().Median/base)
}

func label(x, y int, anchor string, size int, weight, text string) string {
	return fmt.Sprintf(`<text x="%d" y="%d" text-anchor="%s" font-size="%d" font-weight="%s" fill="#24292f">%s</text>`+"\n",
		x, y, anchor, size, weight, html.EscapeString(text))
}
