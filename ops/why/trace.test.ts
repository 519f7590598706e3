import { describe, expect, it } from 'vitest';
import type { RawOccurrence } from './evidence.ts';
import { combine, traceJson, traceLines } from './trace.ts';
import type { TracedRow } from './warehouse.ts';

const AT = Date.UTC(2026, 10, 21, 9);
const position = { epoch: 0, partition: 1, offset: 70, index: 0 };
const row: TracedRow = {
  ...position,
  ...{ account_id: 7, message_id: 'a', event: 'paid', type: 'track', received_at: AT },
};
const occurrence: RawOccurrence = {
  ...position,
  ...{ accountId: 7, messageId: 'a', appendedAt: AT, receivedAt: AT, timestamp: AT },
  ...{ path: '/v1/batch', source: 'sdk', trace: 'ab', gateway: 'g', generated: false },
  ...{ redrivenFrom: undefined, distinctId: 'u', previousId: undefined },
};
const commands: [] = [];
const searched = ['the stored events', 'events.raw since 2026-11-21T08:45:00Z'];

describe('the events of a request', () => {
  it('are the stored ones, and those that only the log has', () => {
    const duplicate = { ...occurrence, index: 1, messageId: 'b' };
    const found = { ...combine([row], [occurrence, duplicate]), commands, searched };
    expect(found.events).toMatchObject([
      { accountId: 7, messageId: 'a', event: 'paid', position: '1/70/0', isStored: true },
      { accountId: 7, messageId: 'b', event: '', position: '1/70/1', isStored: false },
    ]);
    const [head, , first, second] = traceLines('ab', found);
    expect(head).toBe(`2 events of trace ab; searched ${searched.join(' and ')}`);
    expect(first).toMatch(/^7 +a +paid +2026-11-21T09:00:00Z +1\/70\/0 +stored/);
    expect(second).toMatch(/^7 +b +- .*no row here/);
    expect(traceJson('ab', found)).toMatchObject({
      trace: 'ab',
      more: false,
      events: [{ account_id: 7, message_id: 'a', stored: true }, { stored: false }],
    });
  });

  it('are cut to a readable number, and the first line says so', () => {
    const many = Array.from({ length: 101 }, (_, index) => ({ ...row, index }));
    const found = { ...combine(many, []), commands, searched };
    expect(found.events).toHaveLength(100);
    expect(traceLines('ab', found)[0]).toContain('the first 100 events');
  });

  it('may be none: the answer says where they were searched', () => {
    const lines = traceLines('ab', { events: [], commands, searched, isCut: false });
    expect(lines[0]).toBe(`no event of trace ab: searched ${searched.join(' and ')}`);
  });
});
