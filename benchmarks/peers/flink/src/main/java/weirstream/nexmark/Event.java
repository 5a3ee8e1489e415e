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
  }
}
