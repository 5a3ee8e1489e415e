package weirstream.nexmark;

import java.io.Serializable;

/**
 * Makes the events that the Go package event makes, number by number: a change there needs one here, and the harness's check
 * of the rows finds out.
 */
final class Generator implements Serializable {
  private static final long START = 1_704_067_200_000L; // 2024-01-01T00:00:00Z
  private static final int IN_FLIGHT = 100;
  private static final int ACTIVE = 1000;
  private static final int LEAD = 10;
  private static final int CHANNELS = 10_000;

  private static final String[] FIRST = "Ada Ben Clara Dmitri Elena Farid Grace Hugo Ines Jonas Kofi".split(" ");
  private static final String[] LAST = "Abara Brandt Castillo Dubois Eriksen Fontana Garcia Haddad Ito".split(" ");
  private static final String[] STATES = "AZ CA ID OR WA WY".split(" ");
  private static final String[] CITIES =
      "Phoenix,Los Angeles,San Francisco,Boise,Portland,Bend,Redmond,Seattle,Kent,Cheyenne".split(",");
  private static final String[] HOT = "Google Facebook Baidu Apple".split(" ");

  private final long seed;
  private final long perSecond;
  private final long longestAuction;
  private final String filler;
  private final String[] names = new String[FIRST.length * LAST.length];
  private final String[] channel = new String[CHANNELS + HOT.length];
  private final String[] url = new String[CHANNELS + HOT.length];
  private final long[] prices = new long[(1 << 12) + 1];
  private long state; // of the sequence at hand; one goes through one event

  Generator(long seed, long perSecond) {
    this.seed = seed;
    this.perSecond = perSecond;
    longestAuction = Math.max(2 * (IN_FLIGHT * 50L / 3 * 1000 / perSecond), 1);
    begin(-1L);
    StringBuilder letters = new StringBuilder();
    for (int i = 0; i < (1 << 16) + 1024; i++) {
      letters.append((char) ('a' + below(26)));
    }
    filler = letters.toString();
    for (int f = 0; f < FIRST.length; f++) {
      for (int l = 0; l < LAST.length; l++) {
        names[f * LAST.length + l] = FIRST[f] + " " + LAST[l];
      }
    }
    for (int i = 0; i < channel.length; i++) {
      channel[i] = i < CHANNELS ? "channel-" + i : HOT[i - CHANNELS];
      url[i] = "https://www.nexmark.com/" + letters(5, 5) + "/" + letters(5, 5) + "/" + letters(5, 5) + "/item.htm?query=1";
      if (i < CHANNELS && below(10) > 0) {
        url[i] += "&channel_id=" + i;
      }
    }
    for (int i = 0; i < prices.length; i++) {
      prices[i] = Math.round(Math.pow(10, 2 + 6.0 * i / (1 << 12)) * (1 << 16));
    }
  }

  private void begin(long n) {
    state = seed ^ n * 0xd1342543de82ef95L;
    next();
  }

  private long next() {
    state += 0x9e3779b97f4a7c15L;
    long z = state;
    z = (z ^ z >>> 30) * 0xbf58476d1ce4e5b9L;
    z = (z ^ z >>> 27) * 0x94d049bb133111ebL;
    return z ^ z >>> 31;
  }

  private long below(long n) {
    return (next() >>> 32) * n >>> 32;
  }

  private String letters(long least, long most) {
    int n = (int) (most > least ? least + below(most - least + 1) : least);
    int at = (int) below(1 << 16);
    return filler.substring(at, at + n);
  }

  private String extra(int size, int average) {
    long missing = average - size;
    return missing <= 0 ? "" : letters(missing - missing / 5, missing + missing / 5);
  }

  private long price() {
    long x = next();
    int i = (int) (x >>> 52);
    long fraction = x >>> 36 & 0xffff;
    return (prices[i] * ((1 << 16) - fraction) + prices[i + 1] * fraction + (1L << 31)) >> 32;
  }

  private long time(long n) {
    return START + n * 1000 / perSecond;
  }

  Event event(long n) {
    begin(n);
    Event e = new Event();
    int offset = (int) (n % 50);
    if (offset < 1) {
      e.person = person(n);
    } else if (offset < 4) {
      e.auction = auction(n);
    } else {
      e.bid = bid(n);
    }
    return e;
  }

  private static long lastPerson(long n) {
    return n / 50;
  }

  private static long lastAuction(long n) {
    return n / 50 * 3 + Math.min(Math.max(n % 50, 0), 3) - 1;
  }

  private Event.Person person(long n) {
    Event.Person p = new Event.Person();
    p.id = lastPerson(n);
    p.name = names[(int) below(names.length)];
    p.email = letters(7, 7) + "@" + letters(5, 5) + ".com";
    StringBuilder card = new StringBuilder();
    for (int group = 0; group < 4; group++) {
      String digits = Long.toString(10_000 + below(10_000));
      card.append(group > 0 ? " " : "").append(digits, 1, 5);
    }
    p.creditCard = card.toString();
    p.city = CITIES[(int) below(CITIES.length)];
    p.state = STATES[(int) below(STATES.length)];
    p.time = time(n);
    p.extra = extra(16 + p.name.length() + p.email.length() + p.creditCard.length() + p.city.length() + p.state.length(), 200);
    return p;
  }

  private Event.Auction auction(long n) {
    Event.Auction a = new Event.Auction();
    a.id = lastAuction(n);
    a.item = letters(3, 20);
    a.description = letters(3, 100);
    a.initialBid = price();
    a.time = time(n);
    a.seller = someone(n, 4, 0);
    a.category = 10 + below(5);
    a.reserve = a.initialBid + price();
    a.expires = a.time + 1 + below(longestAuction);
    a.extra = extra(56 + a.item.length() + a.description.length(), 500);
    return a;
  }

  private Event.Bid bid(long n) {
    Event.Bid b = new Event.Bid();
    b.auction = auctionForBid(n);
    b.bidder = someone(n, 4, 1);
    b.price = price();
    int at = (int) below(CHANNELS);
    long hot = below(2L * HOT.length);
    if (hot < HOT.length) {
      at = CHANNELS + (int) hot;
    }
    b.channel = channel[at];
    b.url = url[at];
    b.time = time(n);
    b.extra = extra(32, 100);
    return b;
  }

  private long auctionForBid(long n) {
    long last = lastAuction(n);
    if (below(2) > 0) {
      return last / 100 * 100;
    }
    long first = Math.max(last - IN_FLIGHT, 0);
    return first + below(last - first + 1 + LEAD);
  }

  private long someone(long n, long ratio, long nth) {
    long last = lastPerson(n);
    if (below(ratio) > 0) {
      return last / 100 * 100 + nth;
    }
    long active = Math.min(last + 1, ACTIVE);
    return last + 1 - active + below(active + LEAD);
  }
}
