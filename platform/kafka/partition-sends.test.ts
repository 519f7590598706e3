import { expect, it } from 'vitest';
import { PartitionSends } from './partition-sends.ts';

interface Sent {
  topic: string;
  partition: number;
  bytes: number;
  id: string;
}

interface Given {
  /** Ids that the client refuses. */
  refused?: readonly string[];
  holdsBack?: boolean;
}

function given({ refused = [], holdsBack = true }: Given = {}) {
  const produced: string[] = [];
  const clock = { ms: 0 };
  const sends = new PartitionSends<Sent>({
    produce({ id }) {
      if (refused.includes(id)) throw new Error('refused');
      produced.push(id);
    },
    holdsBack,
    linger: 1,
    batchBytes: 1000,
    now: () => clock.ms,
  });
  const send = (id: string, partition = 0, bytes = 10) => {
    const sent = { topic: 't', partition, bytes, id };
    sends.send(sent);
    return sent;
  };
  const report = (sent: Sent | undefined, isDelivered = true) =>
    sent ? idsOf(sends.reported(sent, { isDelivered })) : ['nothing to report'];
  const idsOf = (all: readonly Sent[]) => all.map(({ id }) => id);
  return { sends, produced, send, report, idsOf, clock };
}

it('records of a partition wait, in order, until its first one is acknowledged', () => {
  const { sends, produced, send } = given();
  const first = send('a');
  send('b');
  send('c');
  send('other', 1);
  expect(produced).toEqual(['a', 'other']);
  expect(sends.isWaiting).toBe(true);

  expect(sends.reported(first, { isDelivered: true })).toEqual([]);
  send('d');

  expect(produced).toEqual(['a', 'other', 'b', 'c', 'd']);
  expect(sends.isWaiting).toBe(false);
});

it('records that waited fail with the first one, and the next one is a first one again', () => {
  const { sends, produced, send, idsOf } = given();
  const first = send('a');
  send('b');

  expect(idsOf(sends.reported(first, { isDelivered: false }))).toEqual(['b']);
  send('c');
  send('d');

  expect(produced).toEqual(['a', 'c']);
});

it('a record that waited and is refused by the client takes the later ones with it', () => {
  const { sends, produced, send, idsOf } = given({ refused: ['c'] });
  const first = send('a');
  for (const id of ['b', 'c', 'd']) send(id);

  expect(idsOf(sends.reported(first, { isDelivered: true }))).toEqual(['c', 'd']);
  expect(produced).toEqual(['a', 'b']);
});

it('a first record that the client refuses leaves the partition as it was', () => {
  const { produced, send } = given({ refused: ['a'] });
  expect(() => send('a')).toThrow('refused');

  send('b');
  send('c');

  expect(produced).toEqual(['b']);
});

it('a partition without a record since the last renewal begins again', () => {
  const { sends, produced, send } = given();
  sends.reported(send('a'), { isDelivered: true });
  sends.reported(send('busy', 1), { isDelivered: true });
  sends.renew();
  send('busy again', 1);
  sends.renew();
  expect(produced).toEqual(['a', 'busy', 'busy again']);

  send('b');
  send('c');
  send('busy third', 1);

  expect(produced).toEqual(['a', 'busy', 'busy again', 'b', 'busy third']);
});

/** Five records of a known partition are in flight, each in a request that is on its way. */
function givenFiveInFlight(of: Given = {}) {
  const known = given(of);
  const { sends, produced, send, clock } = known;
  sends.reported(send('first'), { isDelivered: true });
  const inFlight = ['1', '2', '3', '4', '5'].map((id) => {
    clock.ms += 1;
    return send(id);
  });
  clock.ms += 1;
  produced.length = 0;
  return { ...known, inFlight };
}

it('records that the client can not send yet wait, in order, until it can', () => {
  const { sends, produced, send, report, inFlight } = givenFiveInFlight();
  send('a');
  send('b');
  send('other', 1);
  expect(produced).toEqual(['other']);
  expect(sends.isWaiting).toBe(true);

  expect(report(inFlight[0])).toEqual([]);

  expect(produced).toEqual(['other', 'a', 'b']);
  expect(sends.isWaiting).toBe(false);
});

it('where nothing is held back the client gets every record of a known partition', () => {
  const { sends, produced, send } = givenFiveInFlight({ holdsBack: false });
  for (const id of 'abc') send(id);
  expect(produced.join('')).toBe('abc');
  expect(sends.isWaiting).toBe(false);
});

it('records join the request that the client fills, until its linger time is over', () => {
  const { sends, produced, send, inFlight, clock } = givenFiveInFlight();
  for (const sent of inFlight) sends.reported(sent, { isDelivered: true });
  for (const id of 'abcdefgh') send(id);
  expect(produced.join('')).toBe('abcdefgh');

  clock.ms += 1;
  send('i');

  expect(produced.join('')).toBe('abcdefgh');
});

it('of what waited, no more goes at once than fits into a request', () => {
  const { produced, send, report, inFlight } = givenFiveInFlight();
  for (const id of 'abcd') send(id, 0, 400);

  report(inFlight[0]);
  expect(produced.join('')).toBe('ab');
  report(inFlight[1]);
  expect(produced.join('')).toBe('ab');
  report(inFlight[2]);
  expect(produced.join('')).toBe('abc');
});

it('records that wait fail with one of their partition that failed', () => {
  const { sends, produced, send, report, inFlight } = givenFiveInFlight();
  send('a');
  send('b');

  expect(report(inFlight[0], false)).toEqual(['a', 'b']);
  expect(produced).toEqual([]);
  expect(sends.isWaiting).toBe(false);
});

it('a record that the client refuses after a report takes those that wait behind it along', () => {
  const { produced, send, report, inFlight } = givenFiveInFlight({ refused: ['b'] });
  for (const id of 'abc') send(id);

  expect(report(inFlight[0])).toEqual(['b', 'c']);
  expect(produced).toEqual(['a']);
});

it('whatever the reports, records of a partition are produced in order and at most once', () => {
  let seed = 1;
  const random = (below: number) => (seed = (seed * 48271) % 2147483647) % below;
  for (let run = 0; run < 200; run++) {
    const { sends, produced, send, report, clock } = given();
    const all: Sent[] = [];
    let reported = 0;
    for (let step = 0; step < 200; step++) {
      clock.ms += random(3) / 2;
      if (random(3) > 0) all.push(send(String(all.length), 0, random(600)));
      else if (reported < produced.length) report(all[reported++]);
    }
    while (reported < produced.length) report(all[reported++]);
    expect(produced).toEqual(all.map(({ id }) => id));
    expect(sends.isWaiting).toBe(false);
  }
});
