import { expect, it } from 'vitest';
import { csvText } from './csv.ts';

it('CSV quotes what needs quotes, and holds no formula', () => {
  const rows = [
    ['تهران, ری', 1, null],
    ['=HYPERLINK("x")', -2.5, 'a"b'],
  ];
  expect(csvText({ header: ['city', 'n', 'x'], rows })).toBe(
    '\uFEFFcity,n,x\r\n"تهران, ری",1,\r\n"\'=HYPERLINK(""x"")",-2.5,"a""b"\r\n',
  );
});
