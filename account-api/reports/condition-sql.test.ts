import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compileFunnel } from './funnel/compile.ts';
import { parseFunnel } from './funnel/request.ts';

const hostile = fc.oneof(
  fc.string({ minLength: 1, maxLength: 40 }),
  fc.constantFrom("'; DROP TABLE events; --", "\\'", '{p0:String}', '`', '\u0000', '؛"'),
);

test('no value of a client becomes text of the statement', () => {
  fc.assert(
    fc.property(hostile, hostile, hostile, (event, key, value) => {
      const marked = { event: `${event}é1`, key: `${key}é2`, value: `${value}éw` };
      const parsed = parseFunnel({
        steps: [
          {
            event: marked.event,
            filters: [{ property: marked.key, op: 'in', value: [marked.value, 1] }],
          },
          { event: 'b' },
        ],
        ...{
          from: '2026-09-01',
          to: '2026-10-01',
          exclude: [{ event: marked.event }],
          breakdown: { property: marked.key, step: 1 },
        },
        filters: [{ field: 'city', op: 'contains', value: marked.value }],
      });
      if (!parsed.ok) throw new Error(parsed.problem.message);
      const { sql, params } = compileFunnel({
        request: parsed.request,
        accountId: 7,
        merges: 'table',
      });
      expect(sql).not.toContain('é');
      expect(Object.values(params).flat().join(' ')).toContain('é1');
      // every placeholder has its value, and every value its placeholder
      const placeholders = new Set([...sql.matchAll(/\{(p\d+):/g)].map((match) => match[1]));
      expect([...placeholders].sort()).toEqual(Object.keys(params).sort());
    }),
  );
});
