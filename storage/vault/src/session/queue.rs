//! The queue of calls. Flows take turns, one call each, so that a long transfer does not delay short ones. An access
//! without a flow takes its turn with all its calls at once; no other call comes between them in the batch.
//!
//! With n flows waiting, a flow's next call is among the next n calls served, however much the others ask for. The
//! watcher sees only that batches are full while enough calls wait. Which callers fill them is hidden.

use super::batch_delay::BatchDelay;
use crate::engine::Answers;
use crate::engine::record::Call;
use bytes::Bytes;
use std::collections::{BTreeMap, HashMap, VecDeque};
use tokio::time::Instant;

/// The id of a flow of accesses, such as one transfer. A flow takes one turn among all flows, and its accesses are
/// served in the order of their arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Flow(pub u64);

type AccessId = u64;

/// The key of a queue of calls: each key has one turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum QueueKey {
    Flow(Flow),
    /// An access without a flow.
    Access(AccessId),
}

/// The accesses that wait for a batch, and those whose batch is in flight. `R` is the way to answer an access.
pub(crate) struct FairQueue<R> {
    next: AccessId,
    accesses: BTreeMap<AccessId, Pending<R>>,
    /// The keys with waiting calls, each once, in the order of their turns.
    order: VecDeque<QueueKey>,
    lines: HashMap<QueueKey, VecDeque<(AccessId, Call)>>,
    /// The batches in flight. The oldest comes first.
    in_flight: VecDeque<BatchInFlight>,
    batch_delay: BatchDelay,
}

struct Pending<R> {
    calls: usize,
    answers: Answers,
    reply: R,
}

/// A batch that was not answered.
#[derive(Clone)]
struct BatchInFlight {
    began: Instant,
    /// The accesses of its calls, in the batch's order.
    accesses: Vec<AccessId>,
}

impl<R> FairQueue<R> {
    /// The queue of a session, with this many batches of an earlier session in flight, whose callers are gone.
    pub(crate) fn new(earlier: usize) -> Self {
        FairQueue {
            next: 0,
            accesses: BTreeMap::new(),
            order: VecDeque::new(),
            lines: HashMap::new(),
            in_flight: vec![BatchInFlight { began: Instant::now(), accesses: Vec::new() }; earlier].into(),
            batch_delay: BatchDelay::new(),
        }
    }

    /// Returns whether no call waits for a batch.
    pub(crate) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// The end of the [wait](super::batch_delay) for more calls, if the next batch of at most `max` calls must wait for
    /// them.
    pub(crate) fn batch_deadline(&self, max: usize) -> Option<Instant> {
        self.batch_delay.deadline(self.calls(), max)
    }

    /// Returns whether another batch of at most `max` calls may start while one is in flight. Near a store, it must be
    /// full: more and smaller batches would take more work.
    pub(crate) fn may_overlap(&self, max: usize) -> bool {
        self.batch_delay.is_store_far() || self.calls() >= max
    }

    /// The number of calls that wait for a batch.
    fn calls(&self) -> usize {
        self.lines.values().map(VecDeque::len).sum()
    }

    /// Adds an access of at least one call. An access of no flow has at most as many calls as a batch.
    pub(crate) fn push(&mut self, flow: Option<Flow>, calls: Vec<Call>, reply: R) {
        let id = self.next;
        self.next += 1;
        let answers = Vec::with_capacity(calls.len());
        self.accesses.insert(id, Pending { calls: calls.len(), answers, reply });
        let name = flow.map_or(QueueKey::Access(id), QueueKey::Flow);
        let line = self.lines.entry(name).or_default();
        if line.is_empty() {
            self.order.push_back(name);
        }
        line.extend(calls.into_iter().map(|call| (id, call)));
    }

    /// Takes the next batch: at most `max` calls, one call of each flow in turn. Batches are [answered](Self::answer) in
    /// the order in which they were taken.
    pub(crate) fn take_batch(&mut self, max: usize) -> Vec<Call> {
        let (mut batch, mut accesses) = (Vec::new(), Vec::new());
        let mut too_long = Vec::new();
        while batch.len() < max
            && let Some(name) = self.order.pop_front()
        {
            let Some(line) = self.lines.get_mut(&name) else { continue };
            let share = match name {
                QueueKey::Flow(_) => 1,
                QueueKey::Access(_) => line.len(),
            };
            if batch.len() + share > max {
                too_long.push(name);
                continue;
            }
            for (id, call) in line.drain(..share) {
                accesses.push(id);
                batch.push(call);
            }
            if line.is_empty() {
                self.lines.remove(&name);
            } else {
                self.order.push_back(name);
            }
        }
        // These accesses start the next batch.
        for name in too_long.into_iter().rev() {
            self.order.push_front(name);
        }
        self.in_flight.push_back(BatchInFlight { began: Instant::now(), accesses });
        batch
    }

    /// Takes the answers to the oldest batch in flight. Dummies that filled it up are ignored. Returns the accesses that
    /// have all of their answers.
    pub(crate) fn answer(&mut self, answers: impl IntoIterator<Item = Option<Bytes>>) -> Vec<(R, Answers)> {
        let mut whole = Vec::new();
        let Some(BatchInFlight { began, accesses }) = self.in_flight.pop_front() else { return whole };
        self.batch_delay.on_batch_answered((began, accesses.len()), self.calls());
        for (id, answer) in accesses.into_iter().zip(answers) {
            let Some(access) = self.accesses.get_mut(&id) else { continue };
            access.answers.push(answer);
            if access.answers.len() == access.calls
                && let Some(access) = self.accesses.remove(&id)
            {
                whole.push((access.reply, access.answers));
            }
        }
        whole
    }

    /// Refuses the oldest batch in flight. Returns the accesses with calls in it, and drops the rest of their calls that
    /// wait.
    pub(crate) fn refuse(&mut self) -> Vec<R> {
        let refused = self.in_flight.pop_front().map(|batch| batch.accesses).unwrap_or_default();
        let replies = refused.iter().filter_map(|id| self.accesses.remove(id)).map(|access| access.reply);
        let replies = replies.collect();
        for line in self.lines.values_mut() {
            line.retain(|(id, _)| !refused.contains(id));
        }
        self.lines.retain(|_, line| !line.is_empty());
        let lines = &self.lines;
        self.order.retain(|name| lines.contains_key(name));
        replies
    }

    /// Returns the replies of all accesses that were not answered.
    pub(crate) fn into_replies(self) -> impl Iterator<Item = R> {
        self.accesses.into_values().map(|access| access.reply)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ameles_core::types::BlockId;
    use std::ops::Range;

    fn reads(blocks: Range<u64>) -> Vec<Call> {
        blocks.map(|block| Call::Read(BlockId(block))).collect()
    }

    fn serve(queue: &mut FairQueue<&'static str>, max: usize) -> (Vec<Call>, Vec<&'static str>) {
        let batch = queue.take_batch(max);
        let answers = batch.iter().map(|call| match call {
            Call::Read(block) => Some(Bytes::from(block.0.to_string())),
            Call::Write(..) | Call::Dummy => None,
        });
        let whole = queue.answer(answers.collect::<Vec<_>>());
        (batch, whole.into_iter().map(|(reply, _)| reply).collect())
    }

    /// A queue with these reads: flows, blocks, and replies.
    fn queue_of<const N: usize>(asked: [(u64, Range<u64>, &'static str); N]) -> FairQueue<&'static str> {
        let mut queue = FairQueue::new(0);
        for (flow, blocks, reply) in asked {
            queue.push(Some(Flow(flow)), reads(blocks), reply);
        }
        queue
    }

    #[test]
    fn a_short_access_waits_for_one_call_of_each_that_came_before_it() {
        let mut queue = FairQueue::new(0);
        queue.push(Some(Flow(0)), reads(0..1000), "long");
        for other in 1..64 {
            queue.push(Some(Flow(other)), reads(other..other + 1), "short");
        }
        let mut answered = 0;
        for _ in 0..4 {
            let (batch, whole) = serve(&mut queue, 16);
            assert_eq!(batch.len(), 16);
            answered += whole.len();
        }
        assert_eq!(answered, 63, "the first calls of 64 flows fill four batches of 16");
    }

    #[test]
    fn no_flow_waits_for_more_calls_than_there_are_flows() {
        let mut queue = FairQueue::new(0);
        for flow in 0..10 {
            queue.push(Some(Flow(flow)), reads(0..3 + 50 * flow), "");
        }
        // Many accesses of one flow take one turn.
        for _ in 0..20 {
            queue.push(Some(Flow(7)), reads(0..16), "");
        }
        let mut served = Vec::new();
        while !queue.is_empty() {
            let waiting = queue.order.clone();
            queue.take_batch(1);
            served.push(waiting[0]);
            let answer = std::iter::once(None);
            queue.answer(answer);
            for (rank, flow) in waiting.iter().enumerate().skip(1) {
                assert_eq!(queue.order[rank - 1], *flow, "everybody behind moves up by one");
            }
        }
        assert_eq!(served.len() as u64, (0..10).map(|flow| 3 + 50 * flow).sum::<u64>() + 20 * 16);
    }

    #[test]
    fn answers_come_back_in_the_order_of_the_calls_though_batches_mix_them() {
        let mut queue = queue_of([(1, 0..5, "first"), (2, 100..103, "other"), (1, 5..7, "second")]);
        let mut got: Vec<(&str, Vec<String>)> = Vec::new();
        while !queue.is_empty() {
            let batch = queue.take_batch(3);
            let answers = batch.iter().map(|call| match call {
                Call::Read(block) => Some(Bytes::from(block.0.to_string())),
                Call::Write(..) | Call::Dummy => None,
            });
            // A dummy that filled the batch up answers no access.
            let whole = queue.answer(answers.chain([None]).collect::<Vec<_>>());
            let text = |bytes: Option<Bytes>| String::from_utf8(bytes.expect("read").into()).expect("digits");
            got.extend(
                whole.into_iter().map(|(reply, answers)| (reply, answers.into_iter().map(text).collect())),
            );
        }
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let expected =
            [("other", words("100 101 102")), ("first", words("0 1 2 3 4")), ("second", words("5 6"))];
        assert_eq!(got, expected);
    }

    #[test]
    fn a_refused_batch_ends_the_accesses_in_it_and_no_others() {
        let mut queue = queue_of([(1, 0..4, "refused"), (1, 4..5, "behind it"), (2, 9..10, "not yet in it")]);
        assert_eq!(queue.take_batch(1).len(), 1);
        assert_eq!(queue.refuse(), ["refused"]);
        assert_eq!(serve(&mut queue, 16).1, ["not yet in it", "behind it"]);
        assert!(queue.is_empty() && queue.accesses.is_empty());
    }

    #[test]
    fn an_access_of_no_flow_is_served_whole_in_one_batch() {
        let mut queue = FairQueue::new(0);
        queue.push(Some(Flow(0)), reads(0..100), "long");
        for _ in 0..4 {
            queue.push(None, reads(0..3), "whole");
        }
        let flowing = |batch: &[Call]| batch.len() % 3;
        for _ in 0..4 {
            let (batch, whole) = serve(&mut queue, 4);
            assert_eq!((batch.len(), whole.as_slice(), flowing(&batch)), (4, &["whole"][..], 1));
        }
    }

    #[test]
    fn an_access_that_does_not_fit_begins_the_next_batch() {
        let mut queue = FairQueue::new(0);
        for flow in 0..3 {
            queue.push(Some(Flow(flow)), reads(0..100), "long");
        }
        queue.push(None, reads(0..4), "whole");
        assert_eq!(serve(&mut queue, 4).1, [""; 0]);
        assert_eq!(serve(&mut queue, 4).1, ["whole"]);
    }

    #[test]
    fn everybody_who_was_not_answered_is_known_at_the_end() {
        let mut queue = queue_of([(1, 0..2, "half"), (2, 0..1, "whole"), (3, 0..1, "waits")]);
        assert_eq!(serve(&mut queue, 2).1, ["whole"]);
        assert_eq!(queue.into_replies().collect::<Vec<_>>(), ["half", "waits"]);
    }
}
