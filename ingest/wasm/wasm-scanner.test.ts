import fc from 'fast-check';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { MAX_BATCH_ITEMS } from '../../events/rejections.ts';
import { MAX_KEYS } from '../../events/values.ts';
import { scanBody } from '../scan-body.ts';
import { bodyScanner, loadScanner, reportScanner } from './body-scanner.ts';
import {
  BODY_AT,
  EVENT_SIZE,
  FOUND_AT,
  HEADER,
  MARGIN,
  MAX_BODY_BYTES,
  MAX_EVENTS,
  MAX_PROPERTIES,
} from './scan-layout.ts';

type Shape = 'single' | 'batch';

const SHAPES: readonly Shape[] = ['single', 'batch'];
const SEED = 20261130;
const { scan, refusal } = loadScanner();

/** Whether a body was read. Throws when the scanners differ. */
function isRead(text: string | Buffer, shape: Shape): boolean {
  const body = Buffer.from(text);
  const expected = scanBody(body, shape);
  expect(scan(body, shape)).toEqual(expected);
  return expected !== undefined;
}

const both = (text: string | Buffer) => SHAPES.map((shape) => isRead(text, shape));

const EVENT = {
  type: 'track',
  event: 'product_viewed',
  user_id: 'u1',
  anonymous_id: '',
  previous_id: 'p',
  message_id: '0192f3c1-77aa-7c3e-9d52-000000000001',
  timestamp: '2026-09-20T10:00:00.5+03:30',
  sent_at: '2026-09-20T10:00:01Z',
  properties: { price: 1_290_000, tax: -0.25, on: true, off: null, tags: ['a', { b: [false] }] },
  traits: { phone: '0912', note: 'a "quoted" \\ text' },
  context: { library: { name: 'web' }, page: { title: 'هدفون \u2028 "x"\\' } },
};
const PERSIAN = { ...EVENT, event: 'مشاهدهٔ کالا', user_id: 'علی', anonymous_id: '🛒' };
const ANONYMOUS = { ...EVENT, user_id: undefined };
const BATCHES = [
  { sent_at: '2026-09-20T10:00:01Z', context: { locale: 'fa' }, batch: [EVENT, PERSIAN, EVENT] },
  { batch: [EVENT, EVENT, ANONYMOUS, {}, EVENT, { ...EVENT, timestamp: '2026-09-21T10:00:00Z' }] },
  { more: [1, [2, {}]], batch: [PERSIAN, PERSIAN], behind: { batch: [1] } },
];
const SEEDS = [
  ...[EVENT, PERSIAN, ...BATCHES].flatMap((value) => [
    JSON.stringify(value),
    JSON.stringify(value, undefined, '\t'),
  ]),
  '{"batch":[{"event":"a","type":"é"},{"event":"a","event":"b","type":"é","type":"e"}]}',
  '{"event":"a","event":"b","batch":[{"event":"a"},{"event":"b","event":"a"},{"event":"a"}]}',
  '{"batch":[{"timestamp":"2026-09-20T10:00:00Z"},{"timestamp":"x","timestamp":"2026-09-20T10:00:00Z"}]}',
  '{"batch":[{"timestamp":"2026-09-20T10:00:00Z"},{"timestamp":"2026-09-20T10:00:00Z","timestamp":"2026-09-20T10:00:01Z"}]}',
];

describe('the scan of a body in WebAssembly', () => {
  it('has the limits of the rules', () => {
    expect(refusal).toBe(undefined);
    expect([MAX_EVENTS, MAX_PROPERTIES]).toEqual([MAX_BATCH_ITEMS, MAX_KEYS]);
  });

  it('reads what the one in TypeScript reads', () => {
    for (const text of SEEDS) expect(both(text)).toContain(true);
  });

  it('reads the same of bodies whose bytes were changed', () => {
    const byte = fc.oneof(
      fc.constantFrom(
        ...Buffer.from('{}[]",:\\ \n\t0e-.+tfnu/E1"{}'),
        0x00,
        0x1f,
        0x7f,
        0x80,
        0xff,
      ),
      fc.integer({ min: 0, max: 255 }),
    );
    const change = fc.record({
      place: fc.nat(),
      byte,
      how: fc.constantFrom('replace', 'insert', 'remove', 'end', 'repeat'),
    });
    let read = 0;
    let all = 0;
    fc.assert(
      fc.property(
        fc.constantFrom(...SEEDS),
        fc.array(change, { minLength: 1, maxLength: 3 }),
        (text, changes) => {
          let bytes = Buffer.from(text);
          for (const { place, byte: changed, how } of changes) {
            const at = bytes.length === 0 ? 0 : place % bytes.length;
            const [before, from] = [bytes.subarray(0, at), bytes.subarray(at)];
            if (how === 'end') bytes = before;
            else if (how === 'remove') bytes = Buffer.concat([before, from.subarray(1)]);
            else if (how === 'insert') bytes = Buffer.concat([before, Buffer.of(changed), from]);
            else if (how === 'replace')
              bytes = Buffer.concat([before, Buffer.of(changed), from.subarray(1)]);
            else bytes = Buffer.concat([before, from.subarray(0, changed), from]);
          }
          for (const isOne of both(bytes)) {
            all++;
            if (isOne) read++;
          }
        },
      ),
      { seed: SEED, numRuns: 10_000 },
    );
    expect(read).toBeGreaterThan(all / 20);
    expect(read).toBeLessThan(all);
  });

  it('ends for any bytes, with the same answer', () => {
    const token = fc.constantFrom(
      ...[
        '{',
        '}',
        '[',
        ']',
        ',',
        ':',
        '"',
        '\\',
        '\\u00',
        '"batch":[',
        '{"event":"',
        '"context":{',
      ],
      ...[
        '1e5',
        '-0.5',
        'true',
        'nul',
        '\0',
        '\xff',
        ' \n',
        '"}',
        '}]}',
        '"sent_at":"2026-09-20T1',
      ],
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
          fc.array(token, { maxLength: 30 }).map((all) => Buffer.from(all.join(''), 'latin1')),
        ),
        (bytes) => void both(bytes),
      ),
      { seed: SEED, numRuns: 5000 },
    );
  });

  it('reads the same of texts, keys and numbers of any length', () => {
    for (let length = 0; length < 70; length++) {
      const text = 'x'.repeat(length);
      const digits = '1'.repeat(1 + length * 6);
      const event = `{"user_id":"${text}","event":"${text}é","properties":{"${text}\\n":${digits}}}`;
      both(event);
      both(`{"batch":[${event},${event},{"user_id":"${text}y","event":"${'é'.repeat(length)}"}]}`);
      both(
        `{"batch":[{"context":{"a":"${text}"}},{"context":{"a":"${text}"}},{"context":{"a":"${text}`,
      );
      both(`{"batch":[{"${text}":${digits}.${digits}}]}`);
    }
  });

  it('reads the same of values of any depth', () => {
    for (let depth = 0; depth < 40; depth++) {
      const lists = '['.repeat(depth) + ']'.repeat(depth);
      const objects = `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
      for (const value of [lists || '0', objects]) {
        both(`{"a":${value}}`);
        both(`{"a":${value},"batch":[{"a":${value},"traits":{"b":${value}}}]}`);
        both(`{"batch":[{"context":{"a":${value}}},{"context":{"a":${value}}}]}`);
      }
    }
    both('['.repeat(1_000_000));
    both(`{"batch":[{"a":${'{"a":'.repeat(300_000)}`);
  });

  it('reads the same at the limits of events and properties', () => {
    const batchOf = (count: number) =>
      `{"batch":[${new Array<string>(count).fill('{"event":"x"}').join()}]}`;
    expect(isRead(batchOf(MAX_EVENTS), 'batch')).toBe(true);
    expect(isRead(batchOf(MAX_EVENTS + 1), 'batch')).toBe(false);
    expect(isRead(batchOf(100_000), 'batch')).toBe(false);
    const withProperties = (count: number) => {
      const members = Array.from({ length: count }, (_, at) => `"k${at}":${at}`);
      return `{"properties":{${members.join()}}}`;
    };
    expect(isRead(withProperties(MAX_KEYS), 'single')).toBe(true);
    expect(isRead(withProperties(MAX_KEYS + 1), 'single')).toBe(false);
  });

  it('reads the same of bodies as large as its memory, and of larger ones', () => {
    for (const length of [-1, 0, 1, 1000].map((more) => MAX_BODY_BYTES + more)) {
      const around = '{"batch":[{"event":"x","a":""}]}';
      const long = 'y'.repeat(length - around.length);
      expect(isRead(`{"batch":[{"event":"x","a":"${long}"}]}`, 'batch')).toBe(true);
      expect(isRead(`{"batch":[{"event":"x","a":"${long}",,`, 'batch')).toBe(false);
      expect(isRead(' '.repeat(length), 'batch')).toBe(false);
      expect(isRead('"'.repeat(length), 'single')).toBe(false);
      expect(isRead(`{"${long}":1}`, 'single')).toBe(true);
    }
  });

  it('never reads what an earlier body left behind it', () => {
    isRead('{"event":"secret","context":{"a":"secret"},"user_id":"secret"}', 'single');
    for (const text of [
      '',
      '{',
      '{"event":"',
      '{"event":"x"',
      '{"batch":[{"event":"x"}',
      '{"a":tru',
    ])
      expect(both(text)).toEqual([false, false]);
  });
});

describe('the module', () => {
  const wasm = new WebAssembly.Module(readFileSync(join(import.meta.dirname, 'scan-body.wasm')));
  const exports = new WebAssembly.Instance(wasm).exports as {
    memory: WebAssembly.Memory;
    scanSingle(length: number): number;
    scanBatch(length: number): number;
  };
  const memory = Buffer.from(exports.memory.buffer);
  const FOUND_END = FOUND_AT + 4 * (HEADER + (MAX_EVENTS + 1) * EVENT_SIZE);

  it('has regions that do not overlap, within a memory that does not grow', () => {
    expect(FOUND_END).toBeLessThanOrEqual(BODY_AT);
    expect(BODY_AT + MAX_BODY_BYTES + MARGIN).toBe(memory.length);
    expect(memory.length).toBe(2 * 1024 * 1024);
  });

  it('writes only what it found, and reads nothing behind the zeros of a body', () => {
    const bodies = [
      ...SEEDS,
      `{"batch":[${'{},'.repeat(MAX_EVENTS)}{}]}`,
      ...[
        '{"event":"',
        '{"a":"\\',
        '{"a":"\\u12',
        '{"a":1',
        '{"a":1.',
        '{"a":tru',
        '{"a":[[',
        '{"ty',
      ],
      ...['', ' ', '{"context":{"a":1}', '{"batch":[{"context":{"a":1}},{"context":{"a":1'],
    ].flatMap((text) => [text, text.slice(0, -1), text.slice(0, text.length / 2)]);
    for (const text of bodies)
      for (const name of ['scanSingle', 'scanBatch'] as const) {
        const body = Buffer.from(text);
        const end = BODY_AT + body.length + MARGIN;
        // Behind the zeros: nothing, a quote, a space, a digit, an open bracket, or text.
        const answers = [0, 0x22, 0x20, 0x31, 0x5b, 0x65].map((rest) => {
          memory.fill(rest);
          body.copy(memory, BODY_AT);
          const answer = exports[name](body.length);
          for (const [from, to] of [
            [0, FOUND_AT],
            [FOUND_END, BODY_AT],
            [end, memory.length],
          ] as const)
            expect(memory.subarray(from, to).equals(Buffer.alloc(to - from, rest))).toBe(true);
          expect(memory.subarray(BODY_AT, BODY_AT + body.length).equals(body)).toBe(true);
          return answer;
        });
        expect(new Set(answers).size).toBe(1);
      }
  });

  it('refuses a length that its memory has no room for', () => {
    memory.fill(0x20);
    for (const length of [-1, MAX_BODY_BYTES + 1, 2 ** 31 - 1, -(2 ** 31)])
      expect([exports.scanSingle(length), exports.scanBatch(length)]).toEqual([0, 0]);
    expect(memory.equals(Buffer.alloc(memory.length, 0x20))).toBe(true);
  });
});

describe('without WebAssembly', () => {
  const refused = loadScanner(() => Buffer.from('no module'));

  it('bodies are scanned in TypeScript', () => {
    expect(refused.scan).toBe(scanBody);
    expect(refused.scan(Buffer.from('{"event":"x"}'), 'single')?.events[0]?.event).toBe('x');
  });

  it.runIf(process.arch === 'x64')('a machine without SIMD scans them in TypeScript', () => {
    const module = JSON.stringify(join(import.meta.dirname, 'body-scanner.ts'));
    const program = `import { bodyScanner } from ${module};
      const { scan, refusal } = bodyScanner();
      console.log(refusal.name, scan(Buffer.from('{"event":"x"}'), 'single').events[0].event);`;
    const flags = ['--no-enable-sse4-1', '--input-type=module', '--eval', program];
    expect(execFileSync(process.execPath, flags).toString()).toBe('CompileError x\n');
  });

  it('a process says so once it starts, and nothing otherwise', () => {
    const logged: object[] = [];
    const log = { warn: (fields: object) => void logged.push(fields) };
    reportScanner(log);
    expect(logged).toEqual([]);
    reportScanner(log, refused);
    expect(logged).toEqual([{ err: refused.refusal, code: 'body_scanner_refused' }]);
    expect(refused.refusal).toBeInstanceOf(Error);
  });

  it('one scanner of a thread is loaded once', () => {
    expect(bodyScanner()).toBe(bodyScanner());
  });
});
