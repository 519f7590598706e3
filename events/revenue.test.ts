import { expect, test } from 'vitest';
import type { JsonObject } from './json.ts';
import { normaliseProperties } from './properties.ts';
import { extractCurrency, extractRevenue } from './revenue.ts';

test.each<[JsonObject | undefined, number]>([
  [undefined, 0],
  [{}, 0],
  [{ revenue: 5, total: 6, value: 7 }, 5],
  [{ revenue: 0, total: 6, value: 7 }, 6],
  [{ total: 0, value: 7 }, 7],
  [{ value: 7, price: 3 }, 7],
  [{ price: 3, quantity: 4 }, 12],
  [{ price: 3 }, 3],
  [{ price: 3, quantity: 0 }, 3],
  [{ price: 3, quantity: -2 }, 3],
  [{ price: 3, quantity: '4' }, 3],
  [{ price: 3, quantity: true }, 3],
  [{ price: 3, quantity: 0.5 }, 1.5],
  [{ revenue: '5' }, 0],
  [{ revenue: '۵', price: 2 }, 2],
  [{ revenue: true }, 0],
  [{ revenue: null, total: 2 }, 2],
  [{ revenue: Infinity, total: 2 }, 2],
  [{ revenue: [5] }, 0],
  [{ revenue: -5 }, -5],
  [{ price: -5, quantity: 2 }, -10],
  [{ price: 1e308, quantity: 100 }, 0],
  [{ Revenue: 5 }, 0],
  [{ ' revenue ': 5 }, 5],
])('the amount of %j is %d', (properties, amount) => {
  expect(extractRevenue(normaliseProperties(properties))).toBe(amount);
});

test.each<[JsonObject, string]>([
  [{}, 'IRR'],
  [{ currency: '' }, 'IRR'],
  [{ currency: ' ' }, 'IRR'],
  [{ currency: null }, 'IRR'],
  [{ currency: 'irr' }, 'IRR'],
  [{ currency: ' usd ' }, 'USD'],
  [{ currency: 'bitcoin-cash' }, 'BITCOIN-'],
  [{ currency: 'تومان' }, 'توما'],
  [{ currency: 978 }, '978'],
])('the currency of %j is %s', (properties, currency) => {
  expect(extractCurrency(normaliseProperties(properties))).toBe(currency);
});
