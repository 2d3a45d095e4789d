// The programs that use the memory. Each is a generator: it yields an access and gets the number that was read.
//
// An access is { block, write, line, note }: a read without `write`; `line` is the line of the program that makes it.
// With more than one access at a time, each comes from a copy of the program. Copies share the memory where no copy
// depends on another one's writes; else each has its own part, of at least the `least` blocks that it needs.

import { randomFrom } from "./random.js";

const few = (capacity) => Math.max(4, Math.min(12, Math.floor(capacity / 2)));

function* fill(numbers, line) {
  for (const [block, write] of numbers.entries()) yield { block, write, line, note: `m[${block}] = ${write}` };
}

const drawn = (count, random) => Array.from({ length: count }, () => 1 + random(99));

function* addAndRetrieve(capacity, random) {
  const count = few(capacity);
  yield* fill(drawn(count, random), 1);
  for (;;) {
    const block = random(count);
    const found = yield { block, line: 3, note: `retrieve block ${block}` };
    yield { block: (block + 1) % count, write: (found % 99) + 1, line: 4, note: `add to block ${(block + 1) % count}` };
  }
}

function* sum(capacity, random) {
  const count = few(capacity);
  yield* fill(drawn(count, random), 1);
  let total = 0;
  for (let block = 0; block < count; block++) {
    total += yield { block, line: 4, note: `sum so far: ${total}` };
  }
  yield { block: 0, write: total, line: 5, note: `the sum is ${total}` };
}

function* bubbleSort(capacity, random) {
  const count = few(capacity);
  yield* fill(drawn(count, random), 1);
  for (let end = count - 1; end > 0; end--) {
    for (let at = 0; at < end; at++) {
      const left = yield { block: at, line: 4, note: `comparing ${at} and ${at + 1}` };
      const right = yield { block: at + 1, line: 4, note: `${left} against what is in ${at + 1}` };
      if (left > right) {
        yield { block: at, write: right, line: 5, note: `${left} > ${right}: exchanged` };
        yield { block: at + 1, write: left, line: 5, note: `${left} > ${right}: exchanged` };
      }
    }
  }
}

function* mergeSort(capacity, random) {
  const count = Math.max(4, Math.min(16, Math.floor(capacity / 2)));
  yield* fill(drawn(count, random), 1);
  for (let width = 1; width < count; width *= 2) {
    for (let from = 0; from < count; from += 2 * width) {
      const middle = Math.min(from + width, count);
      const end = Math.min(from + 2 * width, count);
      let [one, other] = [from, middle];
      for (let to = from; to < end; to++) {
        const head = (block, first, behind) => ({ block, line: 4, note: `the head of run ${first}…${behind - 1}` });
        const left = one < middle ? yield head(one, from, middle) : Infinity;
        const right = other < end ? yield head(other, middle, end) : Infinity;
        const write = Math.min(left, right);
        if (left <= right) one += 1;
        else other += 1;
        yield { block: count + to, write, line: 5, note: `${write} goes to ${count + to}` };
      }
      for (let at = from; at < end; at++) {
        const write = yield { block: count + at, line: 6, note: `copying ${count + at} back` };
        yield { block: at, write, line: 6, note: `m[${at}] = ${write}` };
      }
    }
  }
}

function* binarySearch(capacity, random) {
  const count = Math.min(capacity, 32);
  yield* fill(Array.from({ length: count }, (_, at) => 3 * at + 1), 1);
  for (;;) {
    const wanted = 3 * random(count) + 1;
    let [low, high] = [0, count];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      const found = yield { block: middle, line: 4, note: `looking for ${wanted} in ${low}…${high - 1}` };
      if (found === wanted) break;
      if (found < wanted) low = middle + 1;
      else high = middle;
    }
  }
}

function* atRandom(capacity, random) {
  for (;;) {
    const block = random(capacity);
    const write = random(2) ? 1 + random(99) : undefined;
    yield { block, write, line: write === undefined ? 2 : 3, note: `block ${block}` };
  }
}

function* oneAgain(capacity, random, nth) {
  const block = random(capacity);
  yield { block, write: 42 + nth, line: 0, note: `block ${block}` };
  for (;;) yield { block, line: 2, note: `block ${block} again` };
}

function* inOrder(capacity, _, nth, count) {
  for (let at = nth; ; at += count) yield { block: at % capacity, line: 2, note: `block ${at % capacity}` };
}

/** Moves a program to other blocks. */
function* moved(program, by) {
  let found;
  for (;;) {
    const { value, done } = program.next(found);
    if (done) return;
    found = yield { ...value, block: value.block + by };
  }
}

/** Returns copies of a workload's program: at most this number, and as many as fit. */
export function copiesOf(workload, capacity, seed, most) {
  const { program, least, shares } = workloads[workload];
  const count = least ? Math.min(most, Math.floor(capacity / least)) : most;
  const part = least ? Math.floor(capacity / count) : capacity;
  const copy = (_, nth) => {
    // Copies that request the same block get the same random numbers.
    const random = randomFrom(shares === "block" ? seed : (seed + nth) % 2 ** 31);
    return moved(program(part, random, nth, most), least ? nth * part : 0);
  };
  return Array.from({ length: count }, copy);
}

/** All workloads by name. */
export const workloads = {
  add: {
    title: "Add and retrieve",
    program: addAndRetrieve,
    least: 4,
    lines: [
      "for i in 0 .. n - 1:",
      "    m[i] <- a number",
      "repeat:",
      "    x <- m[a random i]",
      "    m[i + 1] <- x + 1",
    ],
  },
  sum: {
    title: "Sum",
    program: sum,
    least: 4,
    lines: [
      "for i in 0 .. n - 1:",
      "    m[i] <- a number",
      "sum <- 0",
      "for i in 0 .. n - 1:",
      "    sum <- sum + m[i]",
      "m[0] <- sum",
    ],
  },
  bubble: {
    title: "Bubble sort",
    program: bubbleSort,
    least: 4,
    lines: [
      "for i in 0 .. n - 1:",
      "    m[i] <- a number",
      "for end in n - 1 .. 1:",
      "    for i in 0 .. end - 1:",
      "        if m[i] > m[i + 1]:",
      "            exchange m[i] and m[i + 1]",
    ],
  },
  merge: {
    title: "Merge sort",
    program: mergeSort,
    least: 8,
    lines: [
      "for i in 0 .. n - 1:",
      "    m[i] <- a number",
      "for width in 1, 2, 4, ..:",
      "    for each pair of runs of that width:",
      "        compare their heads",
      "        m[n + i] <- the smaller one",
      "        copy the merged run back",
    ],
  },
  search: {
    title: "Binary search",
    program: binarySearch,
    least: 4,
    lines: [
      "for i in 0 .. n - 1:",
      "    m[i] <- 3 i + 1",
      "repeat:",
      "    low, high <- 0, n;  middle <- (low + high) / 2",
      "    compare m[middle] with what is looked for",
      "    low <- middle + 1, or high <- middle",
    ],
  },
  random: {
    title: "At random",
    program: atRandom,
    lines: [
      "repeat:",
      "    i <- random",
      "    read m[i], or",
      "    m[i] <- a number",
    ],
  },
  again: {
    title: "One block again and again",
    program: oneAgain,
    shares: "block",
    lines: [
      "m[i] <- 42",
      "repeat:",
      "    read m[i]",
    ],
  },
  order: {
    title: "All blocks in order",
    program: inOrder,
    lines: [
      "repeat:",
      "    for i in 0 .. N - 1:",
      "        read m[i]",
    ],
  },
  none: { title: "Nothing: by hand", program: function* () {}, lines: ["(ask for a block yourself)"] },
};
