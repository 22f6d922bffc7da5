import type { Patch } from '../truth/patched-source.ts';

/** A rule of admission, how to break it, and the test that fails then. */
export interface Rule extends Patch {
  readonly rule: string;
  readonly forWhom: string;
  /** Path below `test`, and the beginning of its title. */
  readonly test: readonly [file: string, title: string];
}

const FAIRNESS = 'unit/admission/fairness.test.ts';
const LOADS = 'unit/admission/loads.test.ts';
const ADMISSION = 'unit/admission/admission.test.ts';
const SLOTS = 'unit/admission/slots.test.ts';
const RATE = 'unit/admission/rate-limit.test.ts';
const SHARED_RATE = 'unit/admission/shared-rate.test.ts';
const PAUSE = 'unit/admission/pause.test.ts';
const BREAKERS = 'unit/admission/operation-breakers.test.ts';
const ROUTES = 'unit/fleet/routes.test.ts';

/** The rules of admission, in the order of `src/admission/README.md`. */
export const RULES: readonly Rule[] = [
  // Who may wait, and for how long.
  {
    rule: 'a request whose expected wait is longer than its patience is refused immediately',
    forWhom: 'clients that would wait in vain',
    test: [ADMISSION, 'by the backlog, with the expected wait'],
    file: 'admission/admission.ts',
    from: 'return expected.retryAfterMs > (isShort ? shortPatienceMs : patienceMs) ? expected : undefined;',
    to: 'return undefined;',
  },
  {
    rule: 'a full backlog refuses',
    forWhom: 'the process',
    test: [ADMISSION, 'by a full backlog'],
    file: 'admission/admission.ts',
    from: "if (this.waiting >= maxWaiting) return { ...expected, reason: 'queue-full' };",
    to: '',
  },
  {
    rule: 'after a refusal, new requests have the short patience',
    forWhom: 'clients with two requests at the same time, such as pages',
    test: [FAIRNESS, 'the requests of pages with two requests are served about as often as those of new clients'],
    file: 'admission/short-patience.ts',
    from: 'this.#forAll.add(queue);',
    to: '',
  },
  {
    rule: 'only a client that was refused while it had other waiting requests has the short patience for that',
    forWhom: 'clients next to one that asks for too much',
    test: [FAIRNESS, 'three quarters of the requests of occasional clients are served next to 40 clients'],
    file: 'admission/short-patience.ts',
    from: 'if (!hadOthers && !this.#askTooMuch(clients)) {',
    to: 'if (true) {',
  },
  {
    rule: 'the expected wait is estimated from the last two windows alone',
    forWhom: 'clients of a burst, after a time of other load',
    test: [LOADS, 'serves a burst of 200 requests completely, in about the time of the work itself'],
    file: 'admission/slots.ts',
    from: 'if (lastsMs >= (this.#newer.ended >= this.#inUse ? SHORTEST_MS : LONGEST_MS)) {',
    to: 'if (false) {',
  },
  {
    rule: 'the slot time is measured after a turn of the event loop, not within it',
    forWhom: 'clients of a burst, on a busy machine',
    test: [LOADS, 'a burst that ends within the patience is served completely even if the event loop is delayed'],
    file: 'admission/slots.ts',
    from: 'setImmediate(() => {',
    to: '((measure: () => void) => measure())(() => {',
  },
  // Who goes first.
  {
    rule: 'a queue goes in rounds of clients',
    forWhom: 'clients next to one with many requests',
    test: ['unit/admission/fair-queue.test.ts', 'gives the same results as the naive queue'],
    file: 'admission/fair-queue.ts',
    from: 'this.#rounds.get(client.round++)?.delete(client);',
    to: 'this.#rounds.get(client.round)?.delete(client);',
  },
  {
    rule: 'a round that new clients keep joining ends after a third of the patience',
    forWhom: 'clients with two requests at the same time, such as pages',
    test: [FAIRNESS, 'the requests of pages with two requests are served about as often as those of new clients'],
    file: 'admission/admission.ts',
    from: 'for (const { waiting } of this.#queues.all) waiting.endJoinedRound();',
    to: '',
  },
  {
    rule: 'no client gets a second reservation, of any operation, while another waiting client has had none',
    forWhom: 'clients next to one with requests for every operation',
    test: [FAIRNESS, 'has waiting requests for every operation, after one reservation of the greedy client at most'],
    file: 'admission/admission.ts',
    from: 'if (client !== undefined && rateOf(route, request) !== undefined) this.#hadReservation.add(client);',
    to: '',
  },
  {
    rule: 'a second try gets a reservation only while no first try waits for one',
    forWhom: 'clients whose requests were not sent yet',
    test: [ADMISSION, 'gives a second try a reservation only when no other request waits for one'],
    file: 'admission/admission.ts',
    from: 'if (request.isSecondTry) return SECOND_TRY;',
    to: '',
  },
  {
    rule: 'a free slot is for a waiter, and not for a new request',
    forWhom: 'clients that wait',
    test: [ADMISSION, 'once a slot that another operation never lent may be lent, it goes to a waiting request'],
    file: 'admission/admission.ts',
    from: 'const route = waiting.size > 0 ? undefined : routes.choose(free, request);',
    to: 'const route = routes.choose(free, request);',
  },
  {
    rule: 'a request moves to the place of the best of all clients that wait for its flight',
    forWhom: 'clients that join a flight',
    test: [ROUTES, 'a waiting second try moves ahead when another client joins its flight'],
    file: 'admission/admission.ts',
    from: 'waiter?.queue.waiting.share(waiter, client);',
    to: '',
  },
  // Slots.
  {
    rule: 'a quarter of the share of an operation in use is never lent',
    forWhom: 'clients of other operations, while one hangs',
    test: [SLOTS, 'is never lent while its operation is in use'],
    file: 'admission/slots.ts',
    from: 'return share === 0 ? 0 : Math.max(1, Math.round(share * NEVER_LENT));',
    to: 'return 0;',
  },
  {
    rule: 'that quarter grows with the share: it is more than one slot',
    forWhom: 'clients of other operations, while one takes seconds',
    test: [
      'unit/admission/loads-mixed.test.ts',
      'that hangs forever, at 26 requests a second, does not harm the two others',
    ],
    file: 'admission/slots.ts',
    from: 'return share === 0 ? 0 : Math.max(1, Math.round(share * NEVER_LENT));',
    to: 'return share === 0 ? 0 : 1;',
  },
  {
    rule: 'if there are no more slots than operations, half of the slots are free for each of them',
    forWhom: 'clients of an indexer with few slots',
    test: [SLOTS, 'leave at least half of the slots to an operation while eight others are in use but hold none'],
    file: 'admission/slots.ts',
    from: 'this.max <= recent.count ? Math.min(neverLentFree, Math.floor(this.max / 2)) : neverLentFree',
    to: 'neverLentFree',
  },
  {
    rule: 'a free slot goes to operations below their share first',
    forWhom: 'clients of an operation next to one that floods the queue',
    test: ['fault/overload.test.ts', 'let the requests of one operation start before those of another'],
    file: 'admission/admission.ts',
    from: 'route.slots.isBelowShare(request.operation) ? 0 : 1',
    to: '1',
  },
  {
    rule: 'one client holds at most seven eighths of the slots while others send requests',
    forWhom: 'clients next to one with slow requests',
    test: [FAIRNESS, 'a client whose misses take 3 s leaves slots for others that send quick requests'],
    file: 'admission/client-slots.ts',
    from: 'if (slots < FEWEST_SLOTS || taken < Math.floor(slots * MOST_OF_SLOTS)) return true;',
    to: 'return true;',
  },
  // The rate.
  {
    rule: 'reservations are a step apart',
    forWhom: 'the provider',
    test: [RATE, 'unused reservations are lost, so steps stay even'],
    file: 'admission/rate-limit.ts',
    from: 'return Math.max(this.#latestAt + this.#stepMs, this.#now() - this.#overdueMs);',
    to: 'return this.#latestAt + this.#stepMs;',
  },
  {
    rule: 'a waiter may use a reservation that is up to 250 ms overdue',
    forWhom: 'clients, on a machine whose timers are delayed',
    test: [RATE, 'timers that fire 1 to 15 ms after their time hardly reduce a rate'],
    file: 'admission/rate-limit.ts',
    from: 'return this.#hasCome ? LATEST_MS : 0;',
    to: 'return 0;',
  },
  {
    rule: 'the reservation of a request that was not sent is for the next one',
    forWhom: 'clients behind one that has left',
    test: [RATE, 'can be taken again immediately, and counts once'],
    file: 'admission/rate-limit.ts',
    from: 'this.#givenBackUntil = this.#dependencies.now() + KEPT_MS;',
    to: '',
  },
  {
    rule: 'the expected wait counts the reservations of other instances',
    forWhom: 'clients next to another instance',
    test: [SHARED_RATE, 'counts the reservations of other instances in the expected wait'],
    file: 'admission/rate-limit.ts',
    from: ': Math.max(this.#stepMs, (last - first) / gaps);',
    to: ': this.#stepMs;',
  },
  {
    rule: 'an instance holds as many reservations as one round trip to Redis takes',
    forWhom: 'clients, while Redis is distant',
    test: [SHARED_RATE, 'Redis answers that take 10 to 30 ms cost waiting requests hardly any reservations'],
    file: 'admission/rate-limit.ts',
    from: 'reserveShared === undefined ? 1 : mostReserved(this.#stepMs, this.#roundTripMs);',
    to: '1;',
  },
  // Which indexer.
  {
    rule: 'a request whose key is paused at one indexer waits in the queue of the others',
    forWhom: 'clients that request another key',
    test: [ROUTES, 'waits for the other indexer while that is full, and does not delay requests for another key'],
    file: 'fleet/routes.ts',
    from: "return 'reason' in this.openTo(other) ? request : other;",
    to: 'return request;',
  },
  {
    rule: 'a request that would be refused is sent to a backup',
    forWhom: 'clients of full indexers',
    test: [ROUTES, 'a request that would wait too long for the rate of the replica is sent to the backup'],
    file: 'fleet/routes.ts',
    from: "return isOffered ? undefined : { ...request, rate: 'backup' };",
    to: 'return undefined;',
  },
  {
    rule: 'of two random indexers, the one with less load gets the request',
    forWhom: 'clients of indexers of different speed',
    test: [
      ROUTES,
      'a request for the head is sent to an indexer with the lower load, if several have the newest block',
    ],
    file: 'fleet/routes.ts',
    from: 'return load(other) < load(one) ? other : one;',
    to: 'return one;',
  },
  // What the indexer has answered.
  {
    rule: 'a second key with a 429 pauses everything, if one of the two is of a cached operation',
    forWhom: 'the provider',
    test: [PAUSE, 'of concurrent requests: the longest one sets the pause of everything'],
    file: 'admission/pause.ts',
    from: 'const showLimit = all.length > 1 && all.some((each) => each.isCached);',
    to: 'const showLimit = false;',
  },
  {
    rule: 'a 429 for one key does not pause the others',
    forWhom: 'clients of other keys',
    test: [PAUSE, 'for more than 256 paths: the oldest ones are forgotten'],
    file: 'admission/pause.ts',
    from: 'const showLimit = all.length > 1 && all.some((each) => each.isCached);',
    to: 'const showLimit = true;',
  },
  {
    rule: 'a 429 to the trial of a key that had got one pauses only such keys',
    forWhom: 'clients of other keys',
    test: [PAUSE, 'a 429 for a key that got one before pauses only such keys, and the next request for another key'],
    file: 'admission/pause.ts',
    from: 'else this.#passOverUntil = now() + ms;',
    to: '',
  },
  {
    rule: 'one broken key counts once, however often it is requested',
    forWhom: 'clients of other keys',
    test: ['unit/admission/failed-keys.test.ts', 'one broken key counts once and opens no breaker'],
    file: 'admission/operation-breakers.ts',
    from: 'this.#newer.set(key, failed);',
    to: 'this.#newer.set(key + this.#newer.size, failed);',
  },
  {
    rule: 'an operation that answers after a broken request lets the others try',
    forWhom: 'clients behind a TCP proxy whose indexer was stopped',
    test: [BREAKERS, 'an answer to an operation with broken requests lets the other operations try immediately'],
    file: 'admission/operation-breakers.ts',
    from: "if (hasBroken && result === 'success')",
    to: 'if (false)',
  },
  {
    rule: 'the first breaker that closes lets the others try',
    forWhom: 'clients of an indexer that is back',
    test: [BREAKERS, 'the first breaker that closes lets the other operations try immediately'],
    file: 'admission/operation-breakers.ts',
    from: "if (state === 'closed') for (const other of breakers) other.tryNow();",
    to: '',
  },
  {
    rule: 'an operation that an indexer does not serve is tried there again only after 30 s',
    forWhom: 'clients of other indexers',
    test: [ROUTES, 'an operation that one indexer does not serve is requested from the others'],
    file: 'admission/not-served.ts',
    from: 'openMs: () => ASK_AGAIN_MS,',
    to: 'openMs: () => 0,',
  },
  {
    rule: 'second tries and hedges are a part of the calls',
    forWhom: 'an indexer that fails everything',
    test: ['unit/fleet/retry-budget.test.ts', 'retries in any period are at most a tenth of its calls'],
    file: 'fleet/retry-budget.ts',
    from: 'if (isPaid) this.#calls -= callsARetry;',
    to: '',
  },
  // Memory.
  {
    rule: 'no load starts while too many answer bytes are being read',
    forWhom: 'the process',
    test: ['unit/admission/memory-pressure.test.ts', 'refuses loads while too many answer bytes are being read'],
    file: 'admission/memory-pressure.ts',
    from: 'return this.isFull || this.#readingBytes > this.#dependencies.maxReadingBytes;',
    to: 'return this.isFull;',
  },
  {
    rule: 'a full process collects its garbage',
    forWhom: 'clients of a process that only hits keep busy',
    test: ['unit/admission/memory-pressure.test.ts', 'evicts every 0.5 s and collects garbage every 5 s while full'],
    file: 'admission/memory-pressure.ts',
    from: 'this.#collect();',
    to: '',
  },
];
