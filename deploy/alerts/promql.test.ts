import { expect, it } from 'vitest';
import { metricsIn } from './promql.ts';

it.each([
  ['ravand_books_gap != 0', ['ravand_books_gap']],
  [
    'sum by (job, topic) (rate(ravand_consumer_records_total{topic="events.raw"}[5m]))',
    ['ravand_consumer_records_total'],
  ],
  ['histogram_quantile(0.99, sum by (le) (rate(a_seconds_bucket[5m])))', ['a_seconds_bucket']],
  ['a / on(job) group_left(part) b > 1e3 and c{x=~"sum|d"} offset 5m', ['a', 'b', 'c']],
  ['time() - settled_seconds > 5 * 60', ['settled_seconds']],
  ['changes(a_seconds[15m]) > 3 or up == 0', ['a_seconds', 'up']],
  ['job:rate:5m > bool 1', ['job:rate:5m']],
  ['a{x="y{z}"} + a', ['a']],
  ['vector(1)', []],
])('the expression %s reads the metrics %j', (expression, names) => {
  expect(metricsIn(expression)).toEqual(names);
});
