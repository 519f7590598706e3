const BEYOND_ASCII = /[\x80-\xff]/;

/** Header bytes arrive as latin1; clients that send more than ASCII send UTF-8. */
export function headerText(value: string | undefined): string {
  if (value === undefined) return '';
  return BEYOND_ASCII.test(value) ? Buffer.from(value, 'latin1').toString() : value;
}
