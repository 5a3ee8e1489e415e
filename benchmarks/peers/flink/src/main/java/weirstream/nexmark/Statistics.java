package weirstream.nexmark;

/** Counts of bids, bidders and auctions, in all and by price: what queries 15 and 16 return of a day. */
public final class Statistics {
  public Ranks bids = new Ranks();
  public Ranks bidders = new Ranks();
  public Ranks auctions = new Ranks();

  public Statistics() {}

  Statistics copy() {
    Statistics s = new Statistics();
    s.bids = bids.copy();
    s.bidders = bidders.copy();
    s.auctions = auctions.copy();
    return s;
  }

  /** As Go prints it. */
  @Override
  public String toString() {
    return "{Bids:" + bids + " Bidders:" + bidders + " Auctions:" + auctions + "}";
  }

  /** The rank of a price, as a bit. */
  static int rank(long price) {
    return price < 10_000 ? 1 : price < 1_000_000 ? 2 : 4;
  }

  /** A count in all, and of each rank. */
  public static final class Ranks {
    public long total;
    public long rank1;
    public long rank2;
    public long rank3;

    public Ranks() {}

    /** Counts something of a rank. */
    void add(int rank) {
      total++;
      addTo(rank);
    }

    /** Counts what was seen with the ranks before: once in all, and once in each rank. Returns the ranks that it has now. */
    int distinct(Integer before, int rank) {
      if (before == null) {
        add(rank);
        return rank;
      }
      if ((before & rank) == 0) {
        addTo(rank);
      }
      return before | rank;
    }

    private void addTo(int rank) {
      switch (rank) {
        case 1:
          rank1++;
          break;
        case 2:
          rank2++;
          break;
        default:
          rank3++;
      }
    }

    Ranks copy() {
      Ranks r = new Ranks();
      r.total = total;
      r.rank1 = rank1;
      r.rank2 = rank2;
      r.rank3 = rank3;
      return r;
    }

    /** As Go prints it. */
    @Override
    public String toString() {
      return "{Total:" + total + " Rank1:" + rank1 + " Rank2:" + rank2 + " Rank3:" + rank3 + "}";
    }
  }
}
