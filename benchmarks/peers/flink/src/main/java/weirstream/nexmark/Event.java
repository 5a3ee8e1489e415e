package weirstream.nexmark;

/** One of three things, as in the Go package event. Public fields and constructors make these types that Flink serialises itself. */
public final class Event {
  public Person person;
  public Auction auction;
  public Bid bid;

  public Event() {}

  /** Event time in milliseconds. */
  public long time() {
    if (bid != null) {
      return bid.time;
    }
    return person != null ? person.time : auction.time;
  }

  public static final class Person {
    public long id;
    public String name;
    public String email;
    public String creditCard;
    public String city;
    public String state;
    public long time;
    public String extra;

    public Person() {}
  }

  public static final class Auction {
    public long id;
    public String item;
    public String description;
    public long initialBid;
    public long reserve;
    public long time;
    public long expires;
    public long seller;
    public long category;
    public String extra;

    public Auction() {}

    /** As Go prints it. */
    @Override
    public String toString() {
      return "{ID:" + id + " Item:" + item + " Description:" + description + " InitialBid:" + initialBid + " Reserve:" + reserve
          + " Time:" + time + " Expires:" + expires + " Seller:" + seller + " Category:" + category + " Extra:" + extra + "}";
    }
  }

  public static final class Bid {
    public long auction;
    public long bidder;
    public long price;
    public String channel;
    public String url;
    public long time;
    public String extra;

    public Bid() {}

    /** An order in which only equal bids are equal, for queries that leave ties open. */
    private int compareAll(Bid o) {
      int c = Long.compare(price, o.price);
      c = c != 0 ? c : Long.compare(time, o.time);
      c = c != 0 ? c : Long.compare(auction, o.auction);
      c = c != 0 ? c : Long.compare(bidder, o.bidder);
      c = c != 0 ? c : channel.compareTo(o.channel);
      c = c != 0 ? c : url.compareTo(o.url);
      return c != 0 ? c : extra.compareTo(o.extra);
    }

    /** The higher price wins, then the earlier bid. */
    int beats(Bid o) {
      int c = Long.compare(price, o.price);
      c = c != 0 ? c : Long.compare(o.time, time);
      return c != 0 ? c : compareAll(o);
    }

    /** By time. */
    int follows(Bid o) {
      int c = Long.compare(time, o.time);
      return c != 0 ? c : compareAll(o);
    }

    /** As Go prints it. */
    @Override
    public String toString() {
      return "{Auction:" + auction + " Bidder:" + bidder + " Price:" + price + " Channel:" + channel + " URL:" + url + " Time:" + time
          + " Extra:" + extra + "}";
    }
  }
}
