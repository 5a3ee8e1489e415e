package weirstream.nexmark;

import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.java.tuple.Tuple3;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;

/** Every bid with its bidder and each auction of that bidder. All three are keyed by the person, so one function joins them at once. */
final class Q23 {
  private Q23() {}

  static DataStream<?> build(DataStream<Event> in) {
    return in.keyBy(e -> e.bid != null ? e.bid.bidder : e.person != null ? e.person.id : e.auction.seller).process(new Three());
  }

  static String show(Object row) {
    Tuple3<?, ?, ?> r = (Tuple3<?, ?, ?>) row;
    Event.Bid b = (Event.Bid) r.f0;
    Event.Person p = (Event.Person) r.f1;
    Event.Auction a = (Event.Auction) r.f2;
    return "{Bidder:" + b.bidder + " Price:" + b.price + " Channel:" + b.channel + " URL:" + b.url + " BidExtra:" + b.extra
        + " Person:" + p.id + " Name:" + p.name + " Email:" + p.email + " CreditCard:" + p.creditCard + " City:" + p.city + " State:" + p.state
        + " PersonExtra:" + p.extra + " Item:" + a.item + " Description:" + a.description + " InitialBid:" + a.initialBid + " Reserve:" + a.reserve
        + " Opened:" + a.time + " Expires:" + a.expires + " Seller:" + a.seller + " Category:" + a.category + " AuctionExtra:" + a.extra + "}";
  }

  private static final class Three extends KeyedProcessFunction<Long, Event, Tuple3<Event.Bid, Event.Person, Event.Auction>> {
    private transient ValueState<Event.Person> person;
    private transient ListState<Event.Auction> auctions;
    private transient ListState<Event.Bid> bids;

    @Override
    public void open(OpenContext context) {
      person = getRuntimeContext().getState(new ValueStateDescriptor<>("person", Event.Person.class));
      auctions = getRuntimeContext().getListState(new ListStateDescriptor<>("auctions", Event.Auction.class));
      bids = getRuntimeContext().getListState(new ListStateDescriptor<>("bids", Event.Bid.class));
    }

    @Override
    public void processElement(Event e, Context c, Collector<Tuple3<Event.Bid, Event.Person, Event.Auction>> out) throws Exception {
      if (e.person != null) {
        person.update(e.person);
        for (Event.Bid b : bids.get()) {
          join(b, e.person, out);
        }
        return;
      }
      Event.Person p = person.value();
      if (e.bid != null) {
        bids.add(e.bid);
        if (p != null) {
          join(e.bid, p, out);
        }
        return;
      }
      auctions.add(e.auction);
      if (p != null) {
        for (Event.Bid b : bids.get()) {
          out.collect(Tuple3.of(b, p, e.auction));
        }
      }
    }

    private void join(Event.Bid b, Event.Person p, Collector<Tuple3<Event.Bid, Event.Person, Event.Auction>> out) throws Exception {
      for (Event.Auction a : auctions.get()) {
        out.collect(Tuple3.of(b, p, a));
      }
    }
  }
}
